//! Lengths of time, as providers write them in headers and messages.

use std::time::Duration;

/// Reads a length at the start of a text, such as `34.07s`, `6m0s`, `1h12m3.5s`, `20ms` or `26 seconds`.
pub(crate) fn length(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut total = None;
    while let Some((seconds, after)) = part(rest) {
        total = Some(total.unwrap_or(0.0) + seconds);
        rest = after;
    }
    total.map(from_seconds)
}

/// Returns a length in seconds. A number that is too large gives the longest one.
pub(crate) fn from_seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Finds the wait that a message asks for, such as `Please try again in 6m0s.`
pub(crate) fn in_words(message: &str) -> Option<Duration> {
    let message = message.to_ascii_lowercase();
    let asked = |phrase: &&str| length(message.split_once(phrase)?.1);
    PHRASES.iter().filter_map(asked).max()
}

/// The words before a wait, in lower case.
const PHRASES: [&str; 5] =
    ["retry after ", "retry in ", "try again after ", "try again in ", "please wait "];

/// Reads a number with its unit, in seconds, and returns the text behind it.
fn part(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, text) = text.split_at(end);
    let text = text.trim_start();
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    let (unit, rest) = text.split_at(end);
    let seconds = match unit {
        "d" | "day" | "days" => 86_400.0,
        "h" | "hour" | "hours" | "hr" | "hrs" => 3_600.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
        "s" | "sec" | "second" | "seconds" | "secs" => 1.0,
        "millisecond" | "milliseconds" | "ms" => 1e-3,
        "us" | "\u{b5}s" | "\u{3bc}s" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * seconds, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_in_the_forms_of_all_vendors() {
        let rows = [
            ("34.07s", Some(34_070)),
            ("6m0s", Some(360_000)),
            ("1h12m3.5s", Some(4_323_500)),
            ("25h0m0s", Some(90_000_000)),
            ("20ms", Some(20)),
            ("1d2h", Some(93_600_000)),
            ("26 seconds", Some(26_000)),
            ("1 hour 5 minutes", Some(3_900_000)),
            ("2s.", Some(2_000)),
            ("7", None),
            ("", None),
            ("soon", None),
            ("-3s", None),
            ("1.2.3s", None),
        ];
        for (text, millis) in rows {
            assert_eq!(length(text), millis.map(Duration::from_millis), "{text}");
        }
        assert_eq!(length(&format!("{}s", "9".repeat(400))), Some(Duration::MAX));
    }

    #[test]
    fn a_wait_stands_in_the_words_of_a_message() {
        let rows = [
            ("Please retry in 34.075s.", Some(34_075)),
            ("Rate limit reached for m. Please try again in 6m0s. Visit x.", Some(360_000)),
            ("Please try again in 20ms.", Some(20)),
            ("Please retry after 26 seconds.", Some(26_000)),
            ("Please wait 2 minutes", Some(120_000)),
            ("try again in a moment", None),
            ("try again in ", None),
            ("slow down", None),
        ];
        for (message, millis) in rows {
            assert_eq!(in_words(message), millis.map(Duration::from_millis), "{message}");
        }
    }
}
