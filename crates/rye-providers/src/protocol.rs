//! The wire protocols, by their names.

use strum::{IntoStaticStr, VariantArray};

/// A wire protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Protocol {
    /// Anthropic's Messages: `POST {base_url}/v1/messages`.
    AnthropicMessages,
    /// Gemini's generateContent: `POST {base_url}/v1beta/models/{model}:generateContent`.
    Gemini,
    /// OpenAI's Chat Completions, for compatible servers: `POST {base_url}/chat/completions`.
    #[strum(to_string = "openai_chat")]
    OpenAiChat,
    /// OpenAI's Responses: `POST {base_url}/responses`.
    #[strum(to_string = "openai_responses")]
    OpenAiResponses,
}

impl Protocol {
    /// All of them, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in configs, such as `anthropic_messages`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The header in which the vendor's own clients send the key.
    pub(crate) fn auth_header(self) -> &'static str {
        match self {
            Self::AnthropicMessages => "x-api-key",
            Self::Gemini => "x-goog-api-key",
            Self::OpenAiChat | Self::OpenAiResponses => "authorization",
        }
    }

    /// Returns `true` if the version is part of `base_url` and not of the protocol's path.
    pub(crate) fn has_version_in_base_url(self) -> bool {
        matches!(self, Self::OpenAiChat | Self::OpenAiResponses)
    }
}

/// The way in which an answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer comes in pieces or it does not")]
pub enum Delivery {
    /// In pieces, as server-sent events.
    Streamed,
    /// In one piece.
    Whole,
}
