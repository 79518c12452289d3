//! The facts of a model, as its thread records them.

use rye_types::Prices;

/// The facts of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProviderInfo {
    /// The name of the provider's configuration.
    pub provider: String,
    /// The model's id.
    pub model: String,
    /// The prices of its tokens. `None` if they are unknown, which is not the same as free.
    pub prices: Option<Prices>,
    /// The maximum number of tokens of a conversation.
    pub context_window: u64,
    /// The maximum number of tokens of one reply.
    pub max_output: u64,
}

impl ProviderInfo {
    /// Creates the facts of a model without prices. Set the field if they are known.
    #[must_use]
    pub fn new(provider: &str, model: &str, context_window: u64, max_output: u64) -> Self {
        let provider = provider.to_owned();
        let model = model.to_owned();
        Self { provider, model, prices: None, context_window, max_output }
    }
}
