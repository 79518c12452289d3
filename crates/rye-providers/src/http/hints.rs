//! Hints about retries in a server's headers.

use std::time::Duration;

use reqwest::header::HeaderMap;

/// The hints about retries in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// `x-should-retry`, which overrules the status.
    pub(super) should_retry: Option<Retry>,
    /// The wait asked for by `retry-after-ms`, else by `retry-after`.
    pub(super) after: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    Yes,
    No,
}

impl Hints {
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let text =
            |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
        let should_retry = match text("x-should-retry") {
            Some("true") => Some(Retry::Yes),
            Some("false") => Some(Retry::No),
            _ => None,
        };
        let millis = text("retry-after-ms").and_then(|millis| number(millis, 0.001));
        let after = millis.or_else(|| {
            let wish = text("retry-after")?;
            number(wish, 1.0).or_else(|| until(wish, text("date")?))
        });
        Self { should_retry, after }
    }
}

fn number(text: &str, seconds: f64) -> Option<Duration> {
    let count: f64 = text.parse().ok()?;
    // A number that is too large gives the longest wait.
    (count >= 0.0).then(|| Duration::try_from_secs_f64(count * seconds).unwrap_or(Duration::MAX))
}

/// Returns the time from the server's own clock to a date, so that the local clock is not needed. A past date
/// gives zero.
fn until(date: &str, now: &str) -> Option<Duration> {
    let date = httpdate::parse_http_date(date).ok()?;
    let now = httpdate::parse_http_date(now).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    #[track_caller]
    fn check(
        headers: &[(&'static str, &'static str)],
        should_retry: Option<Retry>,
        after_ms: Option<u64>,
    ) {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let hints = Hints::of(&headers.iter().map(pair).collect());
        assert_eq!(hints, Hints { should_retry, after: after_ms.map(Duration::from_millis) });
    }

    const DATE: (&str, &str) = ("date", "Fri, 20 Nov 2026 18:00:00 GMT");

    #[test]
    fn hints_are_read_in_their_order() {
        check(&[], None, None);
        check(&[("x-should-retry", "true")], Some(Retry::Yes), None);
        check(&[("x-should-retry", "false"), ("retry-after", "2")], Some(Retry::No), Some(2_000));
        check(&[("retry-after-ms", "250"), ("retry-after", "2")], None, Some(250));
        check(&[("retry-after-ms", "soon"), ("retry-after", "1.5")], None, Some(1_500));
    }

    #[test]
    fn a_date_counts_from_the_servers_clock() {
        check(&[("retry-after", "Fri, 20 Nov 2026 18:00:30 GMT"), DATE], None, Some(30_000));
        check(&[("retry-after", "Fri, 20 Nov 2026 17:00:00 GMT"), DATE], None, Some(0));
        check(&[("retry-after", "Fri, 20 Nov 2026 18:00:30 GMT")], None, None);
    }

    #[test]
    fn a_wait_beyond_all_counting_is_the_longest_one() {
        for wait in ["18446744073709551616", "1e300", "inf"] {
            let value = HeaderValue::from_static(wait);
            let headers = [(HeaderName::from_static("retry-after"), value)].into_iter().collect();
            assert_eq!(Hints::of(&headers).after, Some(Duration::MAX), "{wait}");
        }
    }

    #[test]
    fn what_is_no_hint_is_none() {
        check(&[("retry-after", "-5")], None, None);
        check(&[("retry-after", "NaN")], None, None);
        check(&[("x-should-retry", "perhaps")], None, None);
    }
}
