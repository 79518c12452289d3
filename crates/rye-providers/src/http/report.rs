//! Messages about failed requests, without the key.

use std::time::Duration;

use rye_thread::{ProviderError, ProviderErrorClass, Redactor, wait_in_words};

use super::retry::Failed;
use crate::ProviderConfig;
use crate::key::ApiKey;
use crate::refusal::Refusal;

/// Returns the class of a status.
pub(super) fn class_of(status: u16) -> ProviderErrorClass {
    match status {
        401 | 403 => ProviderErrorClass::Auth,
        402 => ProviderErrorClass::SpendLimit,
        408 | 504 => ProviderErrorClass::Timeout,
        413 => ProviderErrorClass::ContextTooLong,
        429 => ProviderErrorClass::RateLimited,
        503 | 529 => ProviderErrorClass::Overloaded,
        300..=499 if status != 409 => ProviderErrorClass::InvalidRequest,
        _ => ProviderErrorClass::Server,
    }
}

/// Writes messages about a provider. The key is removed even if a server sends it back.
pub(super) struct Reporter {
    name: String,
    base_url: String,
    env: Option<String>,
    key: Option<ApiKey>,
}

impl Reporter {
    pub(super) fn new(config: &ProviderConfig, key: Option<ApiKey>) -> Self {
        let env = config.auth().map(|auth| auth.env.clone());
        Self { name: config.name().to_owned(), base_url: config.base_url().to_owned(), env, key }
    }

    pub(super) fn unreachable(&self) -> String {
        format!("cannot connect to `{}` at `{}`", self.name, self.base_url)
    }

    pub(super) fn silent(&self, idle: Duration) -> String {
        format!(
            "`{}` sent nothing for {idle:?} in the middle of its answer; raise `idle_seconds` if it may be silent for longer",
            self.name
        )
    }

    pub(super) fn unreadable(&self) -> String {
        format!("the answer of `{}` cannot be read", self.name)
    }

    pub(super) fn stream_error(&self, refusal: &Refusal, class: ProviderErrorClass) -> String {
        let said = self.quote(refusal);
        let advice = self.advice(200, class, Some(refusal));
        format!("`{}` ended its answer{said}{advice}", self.name)
    }

    pub(super) fn broken_connection(&self) -> String {
        format!("the connection to `{}` broke before its answer was whole", self.name)
    }

    /// `setting` is the key of the limit in the configuration.
    pub(super) fn late(&self, limit: Duration, setting: &str) -> String {
        format!(
            "`{}` gave no whole answer within {limit:?}; raise `{setting}` if it may take longer",
            self.name
        )
    }

    pub(super) fn repeated_key(&self) -> String {
        format!(
            "the answer of `{}` repeats the key that it was sent and is not used; check `base_url`, and replace the key",
            self.name
        )
    }

    /// The key that no answer may repeat.
    pub(super) fn secret(&self) -> Option<&str> {
        self.key.as_ref().and_then(ApiKey::secret)
    }

    pub(super) fn too_large(&self, maximum: usize) -> String {
        format!(
            "`{}` answered with more than {maximum} bytes, which is not read; raise `max_answer_bytes` if it may",
            self.name
        )
    }

    /// `setting` is the key of the limit in the configuration.
    pub(super) fn memory_full(&self, limit: Duration, setting: &str) -> String {
        format!(
            "the memory for answers was full with those to other requests, so that there was no room for one of `{}` within \
             {limit:?}; run fewer threads at a time, or raise `{setting}`",
            self.name
        )
    }

    pub(super) fn not_json(&self, content_type: &str) -> String {
        let content_type = self.redact(content_type);
        format!(
            "`{}` answered with `{content_type}` and not with JSON; check `base_url`",
            self.name
        )
    }

    pub(super) fn refusal(
        &self,
        status: u16,
        class: ProviderErrorClass,
        refusal: Option<&Refusal>,
    ) -> String {
        let said = refusal.map(|refusal| self.quote(refusal)).unwrap_or_default();
        let advice = self.advice(status, class, refusal);
        format!("`{}` answered {status}{said}{advice}", self.name)
    }

    /// Returns the provider's own words, without a final period, because advice may follow.
    fn quote(&self, refusal: &Refusal) -> String {
        let message = self.redact(&refusal.message);
        let sentence = message.strip_suffix('.').filter(|text| !text.ends_with('.'));
        format!(" (`{}`): {}", self.redact(&refusal.kind), sentence.unwrap_or(&message))
    }

    fn advice(&self, status: u16, class: ProviderErrorClass, refusal: Option<&Refusal>) -> String {
        match (class, &self.env) {
            (ProviderErrorClass::Auth, Some(env)) => format!("; check the key in `{env}`"),
            (ProviderErrorClass::Auth, None) if status == 401 => {
                "; it wants a key: add `auth` to its file".to_owned()
            }
            (ProviderErrorClass::SpendLimit, _) => {
                "; raise the limit or add credit at the provider".to_owned()
            }
            _ if refusal.is_some_and(|refusal| refusal.lacks_model) => {
                "; name another model, or mend its name in the file".to_owned()
            }
            _ if status == 404 => {
                format!("; nothing is there: check `base_url`, which is `{}`", self.base_url)
            }
            _ if (300..400).contains(&status) => {
                ", a redirect, which is not followed; set `base_url` to where it leads".to_owned()
            }
            _ => String::new(),
        }
    }

    /// Returns a server's text on one line, shortened and without the key, also in the forms in which formats write it.
    ///
    /// The redactor is made for each text, because it would keep the key in memory for as long as it lives.
    pub(super) fn redact(&self, text: &str) -> String {
        let text = match &self.key {
            Some(key) => Redactor::with_note("[key]", key.expose()).redact(text),
            None => text.to_owned(),
        };
        let line: String =
            text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(500).collect();
        line.trim().to_owned()
    }
}

/// Adds the number of attempts to the message, and the wait that the provider asked for.
pub(super) fn gave_up(message: &str, failed: Failed, attempts: u32) -> ProviderError {
    let times = if attempts == 1 { "1 attempt".to_owned() } else { format!("{attempts} attempts") };
    let asked = match failed.hints.after.filter(|asked| !asked.is_zero()) {
        Some(asked) => format!("; it asked for a wait of {}", wait_in_words(asked)),
        None => String::new(),
    };
    ProviderError::new(failed.class, &format!("{message}; gave up after {times}{asked}"))
}
