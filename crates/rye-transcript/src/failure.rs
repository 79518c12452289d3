//! The failures of a thread, and refused calls.

pub(crate) mod disk;

use std::fmt;

use rye_caps::Denied;
use rye_types::{Limit, LimitHit};
use strum::IntoStaticStr;

use crate::ProviderErrorClass;

/// The reason why a thread failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure.
    pub kind: FailureKind,
    /// A lowercase fragment that says what happened and how to mend it.
    pub message: String,
}

impl Failure {
    /// Creates a failure of this kind.
    #[must_use]
    pub fn new(kind: FailureKind, message: &str) -> Self {
        Self { kind, message: message.to_owned() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The kinds of failure of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum FailureKind {
    /// The model's last reply is incomplete.
    CutOff,
    /// A hook ended it.
    Hook,
    /// A limit was reached (SPEC 10.5), money included.
    Limit(LimitHit),
    /// Required outputs were not returned, even after a reminder.
    MissingOutputs,
    /// The driver reported something for which the run did not wait.
    OutOfTurn,
    /// The thread could not begin. The caller gives the reason.
    Preparation,
    /// The request to the model failed.
    Provider(ProviderErrorClass),
    /// A call was refused, and the run failed because of it.
    Refused,
    /// A record could not be written, or the lock of the thread tree was replaced. It never ends a thread.
    Storage,
    /// The model has no price, and the thread has a spend limit (SPEC 10.6).
    Unpriced,
}

impl FailureKind {
    /// The kinds that have no facts beside their name, sorted by name.
    pub const PLAIN: [Self; 8] = [
        Self::CutOff,
        Self::Hook,
        Self::MissingOutputs,
        Self::OutOfTurn,
        Self::Preparation,
        Self::Refused,
        Self::Storage,
        Self::Unpriced,
    ];

    /// Returns the snake case name in the transcript and in `thread.json`. Limits and provider classes are beside it.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the operator can resume a thread after this failure.
    ///
    /// That is possible after a limit that can be raised, after a failure of the provider, and after a reply that was cut
    /// (SPEC D18).
    #[must_use]
    pub const fn may_go_on(&self) -> bool {
        match self {
            Self::Limit(hit) => {
                matches!(hit.limit, Limit::Duration | Limit::Spend | Limit::Tokens | Limit::Turns)
            }
            // The same step fails again, because its result is on record.
            Self::Provider(class) => !matches!(class, ProviderErrorClass::StepFailed),
            Self::CutOff => true,
            _ => false,
        }
    }

    /// Returns `true` if another request to the model may mend the failure.
    #[must_use]
    pub const fn may_be_retried(&self) -> bool {
        match self {
            Self::CutOff | Self::MissingOutputs | Self::Refused => true,
            Self::Provider(class) => !matches!(class, ProviderErrorClass::SpendLimit),
            _ => false,
        }
    }

    /// Returns `true` if a refused call earlier in the run may have caused this failure.
    #[must_use]
    pub const fn may_follow_from_refusal(&self) -> bool {
        matches!(
            self,
            Self::Limit(_)
                | Self::MissingOutputs
                | Self::Provider(
                    ProviderErrorClass::StepFailed | ProviderErrorClass::ContentRefused
                )
        )
    }
}

/// A tool call that was not allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The capability that was required.
    pub capability: String,
    /// The layer of the authority that refused, or `tool` for a tool's own confinement.
    pub layer: String,
    /// The smallest pattern that would allow it. A tool's confinement has none.
    pub pattern: Option<String>,
    /// The message for the model.
    pub message: String,
}

impl Refusal {
    /// Creates the refusal of a call. Without a `pattern`, no grant would allow the call.
    #[must_use]
    pub fn new(capability: &str, layer: &str, pattern: Option<&str>, message: &str) -> Self {
        Self {
            capability: capability.to_owned(),
            layer: layer.to_owned(),
            pattern: pattern.map(str::to_owned),
            message: message.to_owned(),
        }
    }

    /// Creates the refusal of a call that the authority denied.
    #[must_use]
    pub fn of_authority(denied: &Denied) -> Self {
        Self {
            capability: denied.item.as_ref().unwrap_or(&denied.capability).to_string(),
            layer: denied.layer.to_string(),
            pattern: Some(denied.smallest.to_string()),
            message: denied.to_string(),
        }
    }

    /// Creates the refusal of a call by the tool's own confinement.
    #[must_use]
    pub fn of_tool(capability: &str, message: &str) -> Self {
        Self::new(capability, "tool", None, message)
    }
}
