//! The saved form of failures, refusals and limits, shared by saved runs, transcripts and `thread.json`.

use rye_types::{LimitHit, LimitSet, Nanos, SpendLimit};
use serde::{Deserialize, Serialize};

use super::{Failure, FailureKind, Refusal};
use crate::json::value_named;

/// The saved form of [`LimitSet`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsDisk {
    turns: u64,
    tokens: u64,
    spend_nanos: SpendDisk,
    duration_seconds: u64,
    spawns: u64,
    depth: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum SpendDisk {
    AtMost(u64),
    Unlimited,
}

impl LimitsDisk {
    pub(crate) fn of(limits: &LimitSet) -> Self {
        Self {
            turns: limits.turns,
            tokens: limits.tokens,
            spend_nanos: match limits.spend {
                SpendLimit::AtMost(cap) => SpendDisk::AtMost(cap.get()),
                SpendLimit::Unlimited => SpendDisk::Unlimited,
            },
            duration_seconds: limits.duration_seconds,
            spawns: limits.spawns,
            depth: limits.depth,
        }
    }

    /// Returns the limits.
    #[must_use]
    pub(crate) fn into_limits(self) -> LimitSet {
        LimitSet {
            turns: self.turns,
            tokens: self.tokens,
            spend: match self.spend_nanos {
                SpendDisk::AtMost(nanos) => SpendLimit::AtMost(Nanos::new(nanos)),
                SpendDisk::Unlimited => SpendLimit::Unlimited,
            },
            duration_seconds: self.duration_seconds,
            spawns: self.spawns,
            depth: self.depth,
        }
    }
}

/// The saved form of a [`Refusal`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RefusalDisk {
    capability: String,
    layer: String,
    pattern: Option<String>,
    message: String,
}

impl RefusalDisk {
    pub(crate) fn of(refusal: &Refusal) -> Self {
        let Refusal { capability, layer, pattern, message } = refusal.clone();
        Self { capability, layer, pattern, message }
    }

    /// Returns the refusal.
    #[must_use]
    pub(crate) fn into_refusal(self) -> Refusal {
        let Self { capability, layer, pattern, message } = self;
        Refusal { capability, layer, pattern, message }
    }
}

/// The saved form of a [`Failure`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FailureDisk {
    kind: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<LimitHitDisk>,
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<String>,
}

/// The saved form of a [`LimitHit`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitHitDisk {
    name: String,
    value: u64,
    maximum: u64,
}

impl FailureDisk {
    pub(crate) fn of(failure: &Failure) -> Self {
        let (limit, class) = match &failure.kind {
            FailureKind::Limit(hit) => (Some(LimitHitDisk::of(hit)), None),
            FailureKind::Provider(class) => (None, Some(class.to_string())),
            _ => (None, None),
        };
        Self {
            kind: failure.kind.as_str().to_owned(),
            message: failure.message.clone(),
            limit,
            class,
        }
    }

    /// Returns the failure.
    ///
    /// # Errors
    ///
    /// The reason in words, if its kind is unknown or has facts of another kind.
    pub(crate) fn into_failure(self) -> Result<Failure, String> {
        let kind = match (self.kind.as_str(), self.limit, self.class) {
            ("limit", Some(hit), None) => FailureKind::Limit(hit.into_hit()?),
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
        Ok(Failure { kind, message: self.message })
    }
}

impl LimitHitDisk {
    pub(crate) fn of(hit: &LimitHit) -> Self {
        Self { name: hit.limit.to_string(), value: hit.value, maximum: hit.maximum }
    }

    /// Returns the limit.
    ///
    /// # Errors
    ///
    /// The reason in words, if its name is no limit.
    pub(crate) fn into_hit(self) -> Result<LimitHit, String> {
        let limit = value_named(&self.name, "a limit")?;
        Ok(LimitHit { limit, value: self.value, maximum: self.maximum })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProviderErrorClass;
    use rye_types::Limit;

    #[test]
    fn every_kind_of_failure_is_read_as_it_was_written() {
        let limits = Limit::ALL
            .iter()
            .map(|limit| FailureKind::Limit(LimitHit { limit: *limit, value: 2, maximum: 1 }));
        let classes = ProviderErrorClass::ALL.iter().copied().map(FailureKind::Provider);
        for kind in FailureKind::PLAIN.into_iter().chain(limits).chain(classes) {
            let failure = Failure { kind, message: "m".to_owned() };
            let text = serde_json::to_string(&FailureDisk::of(&failure)).unwrap();
            let disk: FailureDisk = serde_json::from_str(&text).unwrap();
            assert_eq!(disk.into_failure(), Ok(failure), "{text}");
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
                "`x` is not a limit",
            ),
        ];
        for (text, message) in rows {
            let disk: FailureDisk = serde_json::from_str(text).unwrap();
            assert_eq!(disk.into_failure(), Err(message.to_owned()));
        }
    }
}
