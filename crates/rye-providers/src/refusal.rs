//! An error of a provider, as its protocol writes it.

use std::time::Duration;

use rye_thread::ProviderErrorClass;

/// Words of compatible servers about a conversation that is too long, in lower case.
pub(crate) const TOO_LONG: [&str; 4] =
    ["maximum context length", "context size", "context window", "context length"];

/// An error of a provider, as its protocol writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The class, if the error says more than the status.
    pub class: Option<ProviderErrorClass>,
    /// The provider's type or code of the error.
    pub kind: String,
    /// The provider's message.
    pub message: String,
    /// `true` if the provider does not have the model.
    pub lacks_model: bool,
    /// The wait that the provider asks for, if its protocol has it in the error.
    pub retry_after: Option<Duration>,
}

impl Refusal {
    pub(crate) fn new(class: Option<ProviderErrorClass>, kind: &str, message: &str) -> Self {
        let kind = kind.to_owned();
        let message = message.to_owned();
        Self { class, kind, message, lacks_model: false, retry_after: None }
    }
}
