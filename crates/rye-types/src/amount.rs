//! Money as whole nano-dollars, and the prices of tokens.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Usage;

/// An amount of money in nano-dollars (10⁻⁹ USD), so that sums are exact (SPEC 10.6).
///
/// Files hold it as their whole number.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Nanos(u64);

impl Nanos {
    /// No money.
    pub const ZERO: Self = Self(0);

    /// Creates an amount from a count of nano-dollars: `Nanos::new(1_000_000_000)` is one dollar.
    #[must_use]
    pub const fn new(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the count of nano-dollars.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the sum, or `None` if it does not fit (above some 18 billion dollars).
    #[must_use]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// Returns the sum, or the largest amount if it does not fit.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero if `other` is larger.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

/// Dollars with at least two decimals and no further trailing zeros: `0.50 USD`, `0.000000001 USD`.
impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fraction = format!("{:09}", self.0 % PER_DOLLAR);
        let digits = fraction.trim_end_matches('0').len().max(2);
        let shown = fraction.get(..digits).unwrap_or(&fraction);
        write!(f, "{}.{shown} USD", self.0 / PER_DOLLAR)
    }
}

const PER_DOLLAR: u64 = 1_000_000_000;

/// Reads dollars as decimal text, such as `0.50` or `3`, without rounding.
impl FromStr for Nanos {
    type Err = NanosError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let digits =
            |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return Err(NanosError::NotDecimal);
        }
        let fraction = fraction.trim_end_matches('0');
        if fraction.len() > 9 {
            return Err(NanosError::TooFine);
        }
        let nanos = format!("{whole}{fraction:0<9}").parse();
        nanos.map(Self).map_err(|_| NanosError::TooLarge)
    }
}

/// The reason why a text is not an amount of money.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NanosError {
    /// Not digits around one point.
    #[error("is not an amount in dollars; write a decimal such as `0.30`")]
    NotDecimal,
    /// More decimals than a nano-dollar has.
    #[error("has more than 9 decimals; nano-dollars are the smallest unit")]
    TooFine,
    /// More than some 18 billion dollars.
    #[error("is too large an amount")]
    TooLarge,
}

/// The price of a million tokens of each kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Prices {
    /// Input tokens that no cache served.
    pub input: Nanos,
    /// Output tokens, reasoning included.
    pub output: Nanos,
    /// Input tokens read from the provider's cache.
    pub cache_read: Nanos,
    /// Input tokens written to the provider's cache.
    pub cache_write: Nanos,
}

impl Prices {
    /// Creates prices per million tokens. Cached input has the price of plain input until the fields are set.
    #[must_use]
    pub const fn new(input: Nanos, output: Nanos) -> Self {
        Self { input, output, cache_read: input, cache_write: input }
    }

    /// The prices of a provider that charges nothing. They differ from unknown prices.
    #[must_use]
    pub const fn free() -> Self {
        Self::new(Nanos::ZERO, Nanos::ZERO)
    }

    /// Returns the higher of both prices for each kind of token.
    #[must_use]
    pub fn at_least(self, other: Self) -> Self {
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cache_read: self.cache_read.max(other.cache_read),
            cache_write: self.cache_write.max(other.cache_write),
        }
    }

    /// Returns the cost of this usage, rounded up to the next nano-dollar.
    #[must_use]
    pub fn cost(&self, usage: &Usage) -> Nanos {
        total(&[
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ])
    }

    /// Returns the highest cost of a request with at most `input` tokens and a reply of at most `output` tokens.
    #[must_use]
    pub fn worst_case(&self, input: u64, output: u64) -> Nanos {
        let dearest = self.input.max(self.cache_read).max(self.cache_write);
        total(&[(input, dearest), (output, self.output)])
    }
}

fn total(parts: &[(u64, Nanos)]) -> Nanos {
    let sum: u128 = parts.iter().fold(0, |sum: u128, (tokens, price)| {
        sum.saturating_add(u128::from(*tokens) * u128::from(price.get()))
    });
    Nanos(u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_dollars_with_the_digits_that_count() {
        let rows = [
            (0, "0.00 USD"),
            (500_000_000, "0.50 USD"),
            (1, "0.000000001 USD"),
            (12_345_000_000, "12.345 USD"),
            (u64::MAX, "18446744073.709551615 USD"),
        ];
        for (nanos, shown) in rows {
            assert_eq!(Nanos::new(nanos).to_string(), shown);
        }
    }

    #[test]
    fn reads_decimal_dollars_exactly() {
        let rows = [
            ("0.50", Ok(500_000_000)),
            ("3", Ok(3_000_000_000)),
            ("0.000000001", Ok(1)),
            ("1.0000000000000", Ok(1_000_000_000)),
            ("", Err(NanosError::NotDecimal)),
            (".5", Err(NanosError::NotDecimal)),
            ("5.", Err(NanosError::NotDecimal)),
            ("-1", Err(NanosError::NotDecimal)),
            ("1e3", Err(NanosError::NotDecimal)),
            ("0.0000000001", Err(NanosError::TooFine)),
            ("99999999999", Err(NanosError::TooLarge)),
        ];
        for (text, expected) in rows {
            assert_eq!(text.parse().map(Nanos::get), expected, "{text}");
        }
    }

    #[test]
    fn a_cost_is_rounded_up_and_never_wraps() {
        let dollar = Nanos::new(1_000_000_000);
        let prices = Prices::new(dollar, dollar);
        assert_eq!(prices.cost(&Usage::new(1, 0)), Nanos::new(1_000));
        assert_eq!(Prices::new(Nanos::new(1), Nanos::ZERO).cost(&Usage::new(1, 0)), Nanos::new(1));
        assert_eq!(prices.cost(&Usage::new(u64::MAX, u64::MAX)), Nanos::new(u64::MAX));
        assert_eq!(Prices::free().cost(&Usage::new(9, 9)), Nanos::ZERO);
    }

    #[test]
    fn the_worst_case_takes_the_dearest_input() {
        let mut prices = Prices::new(Nanos::new(3_000_000), Nanos::new(15_000_000));
        prices.cache_write = Nanos::new(4_000_000);
        assert_eq!(prices.worst_case(100, 10), Nanos::new(550));
        assert!(prices.worst_case(100, 10) >= prices.cost(&Usage::new(100, 10)));
    }
}
