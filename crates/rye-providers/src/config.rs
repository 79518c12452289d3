//! Provider configs.

mod auth;
mod error;
mod max_tokens;
mod models;
mod retry;
mod section;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use rye_types::{Prices, ReturnStyle};
use serde_json::Value;

pub use self::auth::Auth;
pub use self::error::{ConfigError, ConfigProblem};
pub use self::max_tokens::MaxTokensField;
pub use self::models::Model;
pub(crate) use self::models::TIERS;
pub use self::retry::RetryPolicy;
use self::section::{Report, Section};
use crate::http::{DEFAULT_ANSWER_BYTES, MOST_ANSWER_BYTES};
use crate::protocol::{Delivery, Protocol};

/// The checked content of a provider's config file (SPEC 11.1).
///
/// Keys: `name`, `description`, `version` and `category` for people; `protocol` and `base_url` (required);
/// `auth: {env, header}`; `headers`; `models: {NAME: {context_window, max_output, prices}}` (required); `tiers: {TIER:
/// NAME}`; `prompts: {system_template}`; `returns`; `retry: {attempts, first_delay_ms, max_delay_ms, total_seconds}`;
/// `timeout_seconds`; `idle_seconds`; `max_answer_bytes`; `stream`, which is `true` unless it says otherwise; `max_tokens_field`, for
/// `openai_chat`.
#[derive(Clone)]
pub struct ProviderConfig {
    name: Option<String>,
    protocol: Protocol,
    base_url: String,
    auth: Option<Auth>,
    headers: BTreeMap<String, String>,
    tiers: BTreeMap<String, String>,
    models: BTreeMap<String, Model>,
    system_template: Option<String>,
    returns: Option<ReturnStyle>,
    retry: RetryPolicy,
    timeout: Duration,
    idle: Duration,
    max_answer_bytes: usize,
    delivery: Delivery,
    max_tokens_field: MaxTokensField,
}

impl ProviderConfig {
    /// Reads a config from its file's mapping.
    ///
    /// # Errors
    ///
    /// All problems of the file at once: unknown keys (with the nearest key), wrong types, amounts and URLs
    /// that do not parse, tiers that name no model.
    pub fn from_value(value: &Value) -> Result<Self, ConfigError> {
        let report = Report::default();
        let config = Section::root(value, &report).and_then(|root| read(&root));
        match report.into_error() {
            Some(error) => Err(error),
            None => Ok(config.expect("because whatever is missing was reported")),
        }
    }

    /// The name of the provider in messages: the config's `name`, else the protocol's.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or(self.protocol.as_str())
    }

    /// Sets the name if the file has none. A caller that looks a config up by a name sets that name.
    #[must_use]
    pub fn or_called(mut self, name: &str) -> Self {
        self.name.get_or_insert_with(|| name.to_owned());
        self
    }

    /// Replaces the prices of each model by the result of `priced`, which takes the model's name and its
    /// prices.
    #[must_use]
    pub fn with_prices(mut self, priced: impl Fn(&str, Option<Prices>) -> Option<Prices>) -> Self {
        for (name, model) in &mut self.models {
            model.prices = priced(name, model.prices);
        }
        self
    }

    /// The wire protocol.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The URL of the server, without the path of the protocol and without a final `/`.
    ///
    /// For OpenAI's protocols it includes the version, as in `https://api.openai.com/v1`; if the config has
    /// no path, `/v1` is added. The other protocols have the version in their own path.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The source and the header of the key, or `None` for a server that needs no key.
    pub fn auth(&self) -> Option<&Auth> {
        self.auth.as_ref()
    }

    /// Headers that are sent with every request, by lowercase name.
    pub fn headers(&self) -> &BTreeMap<String, String> {
        &self.headers
    }

    /// The name of the model of each tier, which is a key of [`models`](Self::models).
    pub fn tiers(&self) -> &BTreeMap<String, String> {
        &self.tiers
    }

    /// The models by the provider's own names.
    pub fn models(&self) -> &BTreeMap<String, Model> {
        &self.models
    }

    /// `prompts.system_template`, with its placeholders as written (SPEC 8.4).
    pub fn system_template(&self) -> Option<&str> {
        self.system_template.as_deref()
    }

    /// The style in which results are asked for, or `None` for the caller's default.
    pub fn returns(&self) -> Option<ReturnStyle> {
        self.returns
    }

    /// The policy for retries of failed requests.
    pub fn retry(&self) -> &RetryPolicy {
        &self.retry
    }

    /// The time limit of one attempt, from connecting to the last byte.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The longest silence of a stream.
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// The largest number of bytes of an answer.
    pub fn max_answer_bytes(&self) -> usize {
        self.max_answer_bytes
    }

    /// The way in which answers are sent: streamed or whole.
    pub fn delivery(&self) -> Delivery {
        self.delivery
    }

    /// The request member for the largest number of tokens in an answer.
    pub fn max_tokens_field(&self) -> MaxTokensField {
        self.max_tokens_field
    }
}

/// Leaves the headers out, because a gateway may take one as a key.
impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig")
            .field("name", &self.name())
            .field("protocol", &self.protocol)
            .field("base_url", &self.base_url)
            .field("auth", &self.auth)
            .field("models", &self.models)
            .finish_non_exhaustive()
    }
}

const KEYS: &[&str] = &[
    "auth",
    "base_url",
    "category",
    "description",
    "headers",
    "idle_seconds",
    "max_answer_bytes",
    "max_tokens_field",
    "models",
    "name",
    "prompts",
    "protocol",
    "retry",
    "returns",
    "stream",
    "tiers",
    "timeout_seconds",
    "version",
];

/// Reads every part before it returns, so that all problems are reported.
fn read(root: &Section<'_>) -> Option<ProviderConfig> {
    root.only(KEYS);
    for key in ["category", "description", "version"] {
        root.text(key);
    }
    let delivery = delivery(root);
    let protocol = protocol(root);
    let base_url = auth::base_url(root, protocol);
    let max_tokens_field = max_tokens::read(root, protocol);
    let auth = root.section("auth").and_then(|section| auth::read(&section, protocol));
    let headers = auth::headers(root, auth.as_ref());
    let models = models::read(root);
    let tiers = models::tiers(root, &models);
    let name = root.text("name");
    let system_template = prompts(root);
    let returns = returns(root);
    let retry = root.section("retry").map(|section| retry::read(&section)).unwrap_or_default();
    let timeout = root.seconds("timeout_seconds").unwrap_or(DEFAULT_TIMEOUT);
    let idle = root.seconds("idle_seconds").unwrap_or(DEFAULT_IDLE);
    let most = u64::try_from(MOST_ANSWER_BYTES).unwrap_or(u64::MAX);
    let bytes = root.count("max_answer_bytes", most);
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let max_answer_bytes = bytes.unwrap_or(DEFAULT_ANSWER_BYTES);
    let protocol = protocol?;
    let base_url = base_url?;
    Some(ProviderConfig {
        name,
        protocol,
        base_url,
        auth,
        headers,
        tiers,
        models,
        system_template,
        returns,
        retry,
        timeout,
        idle,
        max_answer_bytes,
        delivery,
        max_tokens_field,
    })
}

const DEFAULT_TIMEOUT: Duration = Duration::from_secs(600);

/// Long, because models may reason for minutes without output, and not every server sends pings.
const DEFAULT_IDLE: Duration = Duration::from_secs(300);

fn protocol(root: &Section<'_>) -> Option<Protocol> {
    let word = root.required_text("protocol")?;
    root.word("protocol", &word)
}

fn prompts(root: &Section<'_>) -> Option<String> {
    let prompts = root.section("prompts")?;
    prompts.only(&["system_template"]);
    prompts.text("system_template")
}

fn returns(root: &Section<'_>) -> Option<ReturnStyle> {
    let word = root.text("returns")?;
    root.word("returns", &word)
}

fn delivery(root: &Section<'_>) -> Delivery {
    match root.value("stream") {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => return Delivery::Whole,
        Some(_) => root.problem("stream", "is not `true` or `false`"),
    }
    Delivery::Streamed
}

#[cfg(test)]
mod tests;
