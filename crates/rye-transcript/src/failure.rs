//! The failures of a thread, and refused calls.

use std::fmt;

use rye_caps::Denied;
use rye_types::{Limit, LimitHit};
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::ProviderErrorClass;
use crate::json::value_named;

/// The reason why a thread failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "FailureForm", into = "FailureForm")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The form of a [`Failure`], in which the facts of its kind stand beside its name.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Failure"))]
struct FailureForm {
    /// The name of the kind.
    kind: String,
    /// A lowercase fragment that says what happened and how to mend it.
    message: String,
    /// The limit that was reached, for the kind `limit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit: Option<LimitHit>,
    /// The class of the provider's failure, for the kind `provider`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    class: Option<String>,
}

impl From<Failure> for FailureForm {
    fn from(failure: Failure) -> Self {
        let kind = failure.kind.as_str().to_owned();
        let (limit, class) = match failure.kind {
            FailureKind::Limit(hit) => (Some(hit), None),
            FailureKind::Provider(class) => (None, Some(class.to_string())),
            _ => (None, None),
        };
        Self { kind, message: failure.message, limit, class }
    }
}

impl TryFrom<FailureForm> for Failure {
    type Error = String;

    fn try_from(form: FailureForm) -> Result<Self, String> {
        let kind = match (form.kind.as_str(), form.limit, form.class) {
            ("limit", Some(hit), None) => FailureKind::Limit(hit),
            ("provider", None, Some(class)) => {
                FailureKind::Provider(value_named(&class, "a class of provider error")?)
            }
            (kind, None, None) => FailureKind::PLAIN
                .into_iter()
                .find(|plain| plain.as_str() == kind)
                .ok_or_else(|| format!("`{kind}` is not a kind of failure"))?,
            (kind, ..) => {
                return Err(format!("a failure of kind `{kind}` has facts of another kind"));
            }
        };
        Ok(Self { kind, message: form.message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rye_types::Limit;

    #[test]
    fn every_kind_of_failure_is_read_as_it_was_written() {
        let limits = Limit::ALL
            .iter()
            .map(|limit| FailureKind::Limit(LimitHit { limit: *limit, value: 2, maximum: 1 }));
        let classes = ProviderErrorClass::ALL.iter().copied().map(FailureKind::Provider);
        for kind in FailureKind::PLAIN.into_iter().chain(limits).chain(classes) {
            let failure = Failure { kind, message: "m".to_owned() };
            let text = serde_json::to_string(&failure).unwrap();
            let read: Failure = serde_json::from_str(&text).unwrap();
            assert_eq!(read, failure, "{text}");
        }
    }

    #[test]
    fn facts_of_another_kind_are_refused() {
        let rows = [
            (r#"{"kind":"x","message":""}"#, "`x` is not a kind of failure"),
            (r#"{"kind":"limit","message":""}"#, "`limit` is not a kind of failure"),
            (
                r#"{"kind":"refused","message":"","class":"auth"}"#,
                "a failure of kind `refused` has facts of another kind",
            ),
            (
                r#"{"kind":"provider","message":"","class":"x"}"#,
                "`x` is not a class of provider error",
            ),
            (
                r#"{"kind":"limit","message":"","limit":{"name":"x","value":1,"maximum":1}}"#,
                "unknown variant `x`",
            ),
        ];
        for (text, message) in rows {
            let error = serde_json::from_str::<Failure>(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
