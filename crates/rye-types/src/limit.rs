//! The limits of a thread, and the limit that ended one.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strum::{Display, IntoStaticStr, VariantArray};

use crate::{Nanos, NanosError, Usage};

/// The limits of one thread (SPEC 10.5).
///
/// Its JSON is that of the transcript, with money in nano-dollars. A program that knows fewer limits does not read it, because it
/// would not hold the thread to them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LimitSet {
    /// Requests to the model.
    pub turns: u64,
    /// Tokens of every kind, over all requests.
    pub tokens: u64,
    /// Money.
    #[serde(rename = "spend_nanos")]
    pub spend: SpendLimit,
    /// Seconds since the thread started.
    pub duration_seconds: u64,
    /// Child threads. A thread without children stays below any value.
    pub spawns: u64,
    /// Levels of descendants. A thread without children stays below any value.
    pub depth: u64,
}

impl LimitSet {
    /// Returns the first limit that these amounts reach, if any. The account of the thread counts money.
    #[must_use]
    pub fn first_hit(&self, turns: u64, usage: &Usage, elapsed: Duration) -> Option<LimitHit> {
        let rows = [
            (Limit::Turns, turns, self.turns),
            (Limit::Tokens, usage.total(), self.tokens),
            (Limit::Duration, elapsed.as_secs(), self.duration_seconds),
        ];
        rows.into_iter()
            .find(|(_, value, maximum)| maximum <= value)
            .map(|(limit, value, maximum)| LimitHit { limit, value, maximum })
    }
}

/// The defaults of SPEC 10.5: 10 turns, 200,000 tokens, 0.50 USD, 600 seconds, 10 spawns, 5 levels.
impl Default for LimitSet {
    fn default() -> Self {
        Self {
            turns: 10,
            tokens: 200_000,
            spend: SpendLimit::AtMost(Nanos::new(500_000_000)),
            duration_seconds: 600,
            spawns: 10,
            depth: 5,
        }
    }
}

/// Limits that the operator raises for a resumed thread (SPEC D18).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RaisedLimits {
    /// Requests to the model.
    pub turns: Option<u64>,
    /// Tokens of every kind.
    pub tokens: Option<u64>,
    /// Money.
    pub spend: Option<SpendLimit>,
    /// Seconds.
    pub duration_seconds: Option<u64>,
}

impl RaisedLimits {
    /// Returns `true` if no limit is raised.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns `limits` with the raised values.
    ///
    /// # Errors
    ///
    /// [`NotRaised`] if a value is not higher than the limit that it replaces.
    pub fn raise(&self, limits: &LimitSet) -> Result<LimitSet, NotRaised> {
        let mut raised = limits.clone();
        let rows = [
            (Limit::Turns, self.turns, &mut raised.turns),
            (Limit::Tokens, self.tokens, &mut raised.tokens),
            (Limit::Duration, self.duration_seconds, &mut raised.duration_seconds),
        ];
        for (limit, given, now) in rows {
            match given {
                Some(given) if given <= *now => {
                    return Err(NotRaised::new(limit, &given, now));
                }
                Some(given) => *now = given,
                None => {}
            }
        }
        match (self.spend, raised.spend) {
            (Some(given), now) if !given.is_above(now) => {
                Err(NotRaised::new(Limit::Spend, &given, &now))
            }
            (Some(given), _) => Ok(LimitSet { spend: given, ..raised }),
            (None, _) => Ok(raised),
        }
    }
}

/// A limit with a new value that is not higher than the current one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("limit `{limit}` is {now} already, and {given} does not raise it; give more")]
pub struct NotRaised {
    /// The limit.
    pub limit: Limit,
    /// The new value.
    pub given: String,
    /// The current value.
    pub now: String,
}

impl NotRaised {
    fn new(limit: Limit, given: &dyn fmt::Display, now: &dyn fmt::Display) -> Self {
        Self { limit, given: given.to_string(), now: now.to_string() }
    }
}

/// The cap on the cost of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpendLimit {
    /// At most this amount.
    AtMost(Nanos),
    /// No cap. Only with this limit can a model without a price run.
    Unlimited,
}

impl SpendLimit {
    /// Returns `true` if this limit allows more than the other one.
    fn is_above(self, other: Self) -> bool {
        match (self, other) {
            (_, Self::Unlimited) => false,
            (Self::Unlimited, Self::AtMost(_)) => true,
            (Self::AtMost(cap), Self::AtMost(other)) => other < cap,
        }
    }
}

/// Writes dollars with their unit, or `unlimited`.
impl fmt::Display for SpendLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(cap) => cap.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

/// Reads dollars as decimal text, or `unlimited`.
impl FromStr for SpendLimit {
    type Err = NanosError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "unlimited" { Ok(Self::Unlimited) } else { text.parse().map(Self::AtMost) }
    }
}

/// A limit that ended a thread, with its measured value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitHit {
    /// The limit.
    #[serde(rename = "name")]
    pub limit: Limit,
    /// The measured value in the limit's own unit. For money, the possible cost with the next request.
    pub value: u64,
    /// The allowed value, in the same unit.
    pub maximum: u64,
}

impl LimitHit {
    /// Creates a limit with its measured and its allowed value.
    #[must_use]
    pub const fn new(limit: Limit, value: u64, maximum: u64) -> Self {
        Self { limit, value, maximum }
    }

    /// Returns `true` if the raised limits let a thread continue that this limit ended.
    ///
    /// The limits were raised from `old` to `new`. Without a sufficient raise the same limit would end the thread again
    /// at once.
    #[must_use]
    pub fn is_lifted(&self, old: &LimitSet, new: &LimitSet) -> bool {
        match self.limit {
            Limit::Turns => self.value < new.turns,
            Limit::Tokens => self.value < new.tokens,
            Limit::Duration => self.value < new.duration_seconds,
            Limit::Spend => new.spend.is_above(old.spend),
            Limit::Depth | Limit::Spawns => false,
        }
    }
}

impl fmt::Display for LimitHit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.limit;
        let value = self.value;
        let maximum = self.maximum;
        match name {
            Limit::Spend => {
                let value = Nanos::new(value);
                let maximum = Nanos::new(maximum);
                write!(
                    f,
                    "limit `{name}` reached: the next request may bring the cost to {value} of {maximum}"
                )
            }
            Limit::Depth => {
                write!(f, "limit `{name}` reached: no thread may be started below this one")
            }
            Limit::Spawns => {
                write!(f, "limit `{name}` reached: {value} of {maximum} threads were started")
            }
            Limit::Duration | Limit::Tokens | Limit::Turns => {
                write!(f, "limit `{name}` reached: {value} of {maximum}")
            }
        }
    }
}

/// The name of a limit of a thread.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Display, IntoStaticStr, VariantArray, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Limit {
    /// `depth`. It prevents a child from starting. It ends the thread only if a hook decides so.
    Depth,
    /// `duration_seconds`.
    #[serde(rename = "duration_seconds")]
    #[strum(to_string = "duration_seconds")]
    Duration,
    /// `spawns`. It prevents a child from starting. It ends the thread only if a hook decides so.
    Spawns,
    /// `spend`, in nano-dollars.
    Spend,
    /// `tokens`.
    Tokens,
    /// `turns`.
    Turns,
}

impl Limit {
    /// All limits, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns the name in a directive's `<limits>`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(turns: u64, tokens: u64, seconds: u64, expected: Option<&str>) {
        let hit = LimitSet::default().first_hit(
            turns,
            &Usage::new(tokens, 0),
            Duration::from_secs(seconds),
        );
        assert_eq!(hit.map(|hit| hit.to_string()).as_deref(), expected);
    }

    #[test]
    fn below_every_limit() {
        check(9, 199_999, 599, None);
    }

    #[test]
    fn at_and_over_a_limit() {
        check(10, 0, 0, Some("limit `turns` reached: 10 of 10"));
        check(11, 0, 0, Some("limit `turns` reached: 11 of 10"));
        check(0, 200_000, 0, Some("limit `tokens` reached: 200000 of 200000"));
        check(0, 200_001, 0, Some("limit `tokens` reached: 200001 of 200000"));
        check(0, 0, 600, Some("limit `duration_seconds` reached: 600 of 600"));
        check(0, 0, 601, Some("limit `duration_seconds` reached: 601 of 600"));
    }

    /// The first limit of several, in the order in which a person would look.
    #[test]
    fn several_at_once() {
        check(10, 200_000, 600, Some("limit `turns` reached: 10 of 10"));
        check(9, 200_000, 600, Some("limit `tokens` reached: 200000 of 200000"));
    }

    #[test]
    fn limits_are_raised_and_never_lowered() {
        let limits = LimitSet::default();
        let dollars = |text: &str| Some(text.parse().unwrap());
        let turns = RaisedLimits { turns: Some(20), ..RaisedLimits::default() };
        assert_eq!(turns.raise(&limits), Ok(LimitSet { turns: 20, ..limits.clone() }));
        let more = RaisedLimits {
            tokens: Some(200_001),
            duration_seconds: Some(601),
            spend: dollars("unlimited"),
            ..turns
        };
        let raised = more.raise(&limits).unwrap();
        assert_eq!((raised.tokens, raised.duration_seconds), (200_001, 601));
        assert_eq!((raised.spend, raised.spawns), (SpendLimit::Unlimited, limits.spawns));
        let same = RaisedLimits { tokens: Some(200_000), ..turns };
        let less = RaisedLimits { spend: dollars("0.49"), ..turns };
        let said =
            |wish: RaisedLimits, limits: &LimitSet| wish.raise(limits).unwrap_err().to_string();
        assert_eq!(
            said(same, &limits),
            "limit `tokens` is 200000 already, and 200000 does not raise it; give more"
        );
        assert_eq!(
            said(less, &limits),
            "limit `spend` is 0.50 USD already, and 0.49 USD does not raise it; give more"
        );
        assert_eq!(
            said(RaisedLimits { turns: Some(21), ..more }, &raised),
            "limit `tokens` is 200001 already, and 200001 does not raise it; give more"
        );
    }

    /// Rows by the variant's name: its name in a directive, and the message when it ends a thread at 620,000,000 of
    /// 500,000,000. A limit without a row does not compile.
    macro_rules! rows {
        ($($limit:ident: $name:literal, $said:literal;)*) => {
            const ROWS: &[(Limit, &str, &str)] = &[$((Limit::$limit, $name, $said)),*];

            const fn has_a_row(limit: Limit) {
                match limit {
                    $(Limit::$limit => (),)*
                }
            }
        };
    }

    rows! {
        Depth: "depth", "limit `depth` reached: no thread may be started below this one";
        Duration: "duration_seconds", "limit `duration_seconds` reached: 620000000 of 500000000";
        Spawns: "spawns", "limit `spawns` reached: 620000000 of 500000000 threads were started";
        Spend: "spend", "limit `spend` reached: the next request may bring the cost to 0.62 USD of 0.50 USD";
        Tokens: "tokens", "limit `tokens` reached: 620000000 of 500000000";
        Turns: "turns", "limit `turns` reached: 620000000 of 500000000";
    }

    #[test]
    fn each_is_told_in_its_own_unit() {
        assert_eq!(ROWS.iter().map(|row| row.0).collect::<Vec<_>>(), Limit::ALL);
        for (limit, name, said) in ROWS {
            has_a_row(*limit);
            let hit = LimitHit { limit: *limit, value: 620_000_000, maximum: 500_000_000 };
            assert_eq!((limit.as_str(), hit.to_string().as_str()), (*name, *said));
        }
    }
}
