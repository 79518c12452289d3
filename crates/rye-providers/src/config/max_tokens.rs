//! The request member for the largest number of tokens in an answer, whose name differs between servers.

use strum::{IntoStaticStr, VariantArray};

use super::Section;
use crate::protocol::Protocol;

/// The name of the Chat Completions request member that limits the tokens of the answer.
///
/// OpenAI renamed the member and refuses the old name for its newer models. Many compatible servers know only
/// the old name and ignore the new one, which leaves their answers without a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two names that the protocol has had")]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum MaxTokensField {
    /// `max_completion_tokens`, the current name.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`, the old name.
    MaxTokens,
}

impl MaxTokensField {
    /// The name of the member, which is also the value in configs.
    pub fn as_str(self) -> &'static str {
        self.into()
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
    root.word(KEY, &word).unwrap_or_default()
}
