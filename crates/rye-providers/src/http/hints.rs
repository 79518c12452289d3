//! Hints about retries in a server's headers.

use std::time::{Duration, UNIX_EPOCH};

use reqwest::header::HeaderMap;
use rye_thread::ProviderErrorClass;

use crate::refusal::Refusal;
use crate::waits;

/// The hints about retries in a response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Hints {
    /// `x-should-retry`, which overrules the status.
    pub(super) should_retry: Option<Retry>,
    /// The wait asked for by `retry-after-ms`, else by `retry-after`; then also by the error itself.
    pub(super) after: Option<Duration>,
    /// The time until a limit that is used up is reset, by `x-ratelimit-reset-…`.
    pub(super) reset: Option<Duration>,
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
        let limits = headers.keys().filter_map(|name| name.as_str().strip_prefix(RESET));
        let used_up = limits.filter(|limit| {
            text(&format!("x-ratelimit-remaining{limit}")).is_none_or(|left| left == "0")
        });
        let resets =
            used_up.filter_map(|limit| reset(text(&format!("{RESET}{limit}"))?, text("date")));
        Self { should_retry, after, reset: resets.max() }
    }

    /// Adds what the error itself says. A limit that is reset says nothing where the error asks for a wait.
    pub(super) fn with_refusal(self, refusal: &Refusal, class: ProviderErrorClass) -> Self {
        let asked = [self.after, refusal.retry_after, waits::in_words(&refusal.message)];
        Self { after: asked.into_iter().flatten().max(), ..self }.with_reset(class)
    }

    /// Takes the reset of a limit for a wait, if nothing else asks for one after too many requests.
    pub(super) fn with_reset(self, class: ProviderErrorClass) -> Self {
        let reset = self.reset.filter(|_| class == ProviderErrorClass::RateLimited);
        Self { after: self.after.or(reset), ..self }
    }
}

const RESET: &str = "x-ratelimit-reset";

fn number(text: &str, seconds: f64) -> Option<Duration> {
    let count: f64 = text.parse().ok()?;
    (count >= 0.0).then(|| waits::from_seconds(count * seconds))
}

/// Returns the time until a reset: a length, or a moment in seconds or milliseconds since 1970.
fn reset(value: &str, now: Option<&str>) -> Option<Duration> {
    let Some(count) = number(value, 1.0) else { return waits::length(value) };
    let moment = match count.as_secs() {
        0..FIRST_MOMENT => return Some(count),
        FIRST_MOMENT..FIRST_MOMENT_IN_MILLIS => count,
        _ => number(value, 0.001)?,
    };
    let now = httpdate::parse_http_date(now?).ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(moment.saturating_sub(now))
}

/// The least number of seconds, and of milliseconds, that is a moment and no length.
const FIRST_MOMENT: u64 = 1_000_000_000;
const FIRST_MOMENT_IN_MILLIS: u64 = 1_000_000_000_000;

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
        let after = after_ms.map(Duration::from_millis);
        assert_eq!(hints, Hints { should_retry, after, reset: None });
    }

    /// The wait that these headers and this message ask for, in milliseconds.
    #[track_caller]
    fn check_asked(
        headers: &[(&'static str, &'static str)],
        class: ProviderErrorClass,
        message: &str,
        after_ms: Option<u64>,
    ) {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let hints = Hints::of(&headers.iter().map(pair).collect());
        let hints = hints.with_refusal(&Refusal::new(None, "k", message), class);
        assert_eq!(hints.after, after_ms.map(Duration::from_millis), "{headers:?} {message}");
    }

    #[test]
    fn a_limit_that_is_used_up_says_when_it_is_reset() {
        let limited = ProviderErrorClass::RateLimited;
        let (requests, tokens) = ("x-ratelimit-reset-requests", "x-ratelimit-reset-tokens");
        let left = "x-ratelimit-remaining-requests";
        check_asked(&[(requests, "1s"), (tokens, "6m0s")], limited, "", Some(360_000));
        check_asked(&[(requests, "20ms")], limited, "", Some(20));
        check_asked(
            &[(requests, "8m38s"), (left, "3"), (tokens, "7.66s")],
            limited,
            "",
            Some(7_660),
        );
        check_asked(&[(requests, "8m38s"), (left, "0")], limited, "", Some(518_000));
        check_asked(&[(requests, "30")], limited, "", Some(30_000));
        check_asked(&[("x-ratelimit-reset", "1795197630"), DATE], limited, "", Some(30_000));
        check_asked(&[("x-ratelimit-reset", "1795197630500"), DATE], limited, "", Some(30_500));
        check_asked(&[("x-ratelimit-reset", "1795197630")], limited, "", None);
        check_asked(&[(requests, "soon")], limited, "", None);
        check_asked(&[(requests, "1s")], ProviderErrorClass::Server, "", None);
    }

    #[test]
    fn the_longest_wait_that_is_asked_for_counts() {
        let limited = ProviderErrorClass::RateLimited;
        let words = "Please try again in 6m0s.";
        check_asked(&[("retry-after", "0")], limited, words, Some(360_000));
        check_asked(&[("retry-after", "400")], limited, words, Some(400_000));
        check_asked(&[("x-ratelimit-reset-tokens", "1h0m0s")], limited, words, Some(360_000));
        check_asked(&[], ProviderErrorClass::Overloaded, words, Some(360_000));
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
