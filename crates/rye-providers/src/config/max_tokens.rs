//! The member of a request that says how long the answer may be, where servers disagree about its name.

use super::{Protocol, Section};

/// What a Chat Completions request calls the most tokens that its answer may have.
///
/// OpenAI renamed the member and refuses the old name for its newer models; many servers that speak the same protocol know
/// the old name alone and pass over the new one, which leaves their answers without any limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two names that the protocol has had")]
pub enum MaxTokensField {
    /// `max_completion_tokens`, the protocol's name of today.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, the name that came before.
    MaxTokens,
}

impl MaxTokensField {
    /// The member's name, which is also the config's word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MaxCompletionTokens => "max_completion_tokens",
            Self::MaxTokens => "max_tokens",
        }
    }
}

const KEY: &str = "max_tokens_field";

pub(super) fn read(root: &Section<'_>, protocol: Option<Protocol>) -> MaxTokensField {
    let Some(word) = root.text(KEY) else { return MaxTokensField::default() };
    if protocol.is_some_and(|protocol| protocol != Protocol::OpenAiChat) {
        root.problem(
            KEY,
            "is for the protocol `openai_chat` alone; the others have one name for it",
        );
    }
    let fields = [MaxTokensField::MaxCompletionTokens, MaxTokensField::MaxTokens];
    fields.into_iter().find(|field| field.as_str() == word).unwrap_or_else(|| {
        root.unknown_word(KEY, &word, &fields.map(MaxTokensField::as_str));
        MaxTokensField::default()
    })
}
