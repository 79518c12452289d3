//! Exact prices from decimal text.

use rye_types::{Nanos, NanosError};
use serde_json::Value;

/// Reads dollars, given as decimal text or a number, exactly in nano-dollars.
///
/// A number is read by its shortest decimal form, which is exact for at most 15 digits.
pub(crate) fn dollars(value: &Value) -> Result<Nanos, NanosError> {
    match value {
        Value::String(text) => text.trim().parse(),
        Value::Number(number) => match number.as_u64() {
            Some(whole) => whole.to_string().parse(),
            None => number.as_f64().map(|number| number.to_string()).unwrap_or_default().parse(),
        },
        _ => Err(NanosError::NotDecimal),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(value: &Value, expected: Result<u64, &str>) {
        let found = dollars(value).map(Nanos::get).map_err(|error| error.to_string());
        assert_eq!(found, expected.map_err(str::to_owned), "{value}");
    }

    #[test]
    fn amounts_are_exact() {
        check(&json!("3"), Ok(3_000_000_000));
        check(&json!(3), Ok(3_000_000_000));
        check(&json!(0.3), Ok(300_000_000));
        check(&json!("0.30"), Ok(300_000_000));
        check(&json!(3.75), Ok(3_750_000_000));
        check(&json!(" 18.75 "), Ok(18_750_000_000));
        check(&json!("0.000000001"), Ok(1));
        check(&json!(0.000_000_001), Ok(1));
        check(&json!("0.1000000000000"), Ok(100_000_000));
        check(&json!("0"), Ok(0));
    }

    #[test]
    fn what_is_no_amount_says_so() {
        let no_amount = Err("is not an amount in dollars; write a decimal such as `0.30`");
        for value in [
            json!(""),
            json!("-1"),
            json!(-1),
            json!("1e3"),
            json!("1."),
            json!(".5"),
            json!("$3"),
            json!(true),
            json!(null),
        ] {
            check(&value, no_amount);
        }
        check(
            &json!("0.0000000001"),
            Err("has more than 9 decimals; nano-dollars are the smallest unit"),
        );
        check(&json!("18446744074"), Err("is too large an amount"));
    }
}
