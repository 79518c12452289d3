//! The retry decision, as a pure function.

use std::time::Duration;

use rye_thread::ProviderErrorClass;

use super::hints::{Hints, Retry};
use crate::RetryPolicy;

/// The facts about a failed attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) class: ProviderErrorClass,
    pub(super) reached: Reached,
    pub(super) hints: Hints,
}

/// The point that an attempt reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// No connection was made, so no server can have acted.
    NotConnected,
    /// The request was sent, but no whole response was received.
    Unanswered,
    /// A whole response with this status was received.
    Status(u16),
}

/// The progress of a request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// The number of attempts, including this one.
    pub(super) attempts: u32,
    /// The time since the first attempt began, without waits for memory.
    pub(super) elapsed: Duration,
}

/// The decision after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait(Duration),
    /// Another attempt would fail too.
    Final,
    /// Another attempt might succeed, but a limit is reached.
    UsedUp,
}

/// Decides by the server's hints, then by the status (WIRES 1.1). `random` gives the jitter of the back-off.
///
/// Without a response, only a connection that was never made is tried again, because a request that was sent
/// may have been charged.
pub(super) fn next(policy: &RetryPolicy, progress: Progress, failed: &Failed, random: u64) -> Next {
    if !is_retryable(failed) {
        return Next::Final;
    }
    let own = backoff(policy, failed.class, progress.attempts, random);
    let wait = failed.hints.after.map_or(own, |asked| asked.max(own));
    if progress.attempts >= policy.attempts || progress.elapsed.saturating_add(wait) >= policy.total
    {
        return Next::UsedUp;
    }
    Next::Wait(wait)
}

fn is_retryable(failed: &Failed) -> bool {
    match (failed.class, failed.hints.should_retry, failed.reached) {
        // Waiting does not raise a spend limit.
        (ProviderErrorClass::SpendLimit, _, _) | (_, _, Reached::Unanswered) => false,
        (_, Some(Retry::Yes), _) | (_, None, Reached::NotConnected) => true,
        (_, Some(Retry::No), _) => false,
        (_, None, Reached::Status(status)) => matches!(status, 408 | 409 | 429 | 500..),
    }
}

/// Returns the back-off: it doubles with each attempt up to the policy's maximum, of which a random part from
/// three quarters to all is used.
fn backoff(
    policy: &RetryPolicy,
    class: ProviderErrorClass,
    attempts: u32,
    random: u64,
) -> Duration {
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1).min(31));
    let full = policy.first_delay_after(class).saturating_mul(doubled).min(policy.max_delay);
    let spread = u64::try_from((full / 4).as_micros()).unwrap_or(u64::MAX);
    full - Duration::from_micros(random % spread.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 3,
        first_delay: Some(Duration::from_millis(100)),
        max_delay: Duration::from_millis(150),
        total: Duration::from_secs(10),
    };

    #[derive(Clone, Copy)]
    struct Row {
        class: ProviderErrorClass,
        reached: Reached,
        hints: Hints,
        attempts: u32,
        elapsed_ms: u64,
        random: u64,
    }

    const ROW: Row = Row {
        class: ProviderErrorClass::Server,
        reached: Reached::Status(500),
        hints: Hints { should_retry: None, after: None, reset: None },
        attempts: 1,
        elapsed_ms: 0,
        random: 0,
    };

    #[track_caller]
    fn check(row: Row, expected: Next) {
        let failed = Failed { class: row.class, reached: row.reached, hints: row.hints };
        let progress =
            Progress { attempts: row.attempts, elapsed: Duration::from_millis(row.elapsed_ms) };
        assert_eq!(next(&POLICY, progress, &failed, row.random), expected);
    }

    fn wait(millis: u64) -> Next {
        Next::Wait(Duration::from_millis(millis))
    }

    #[test]
    fn the_status_decides() {
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            check(Row { reached: Reached::Status(status), ..ROW }, wait(100));
        }
        for status in [200, 301, 400, 401, 402, 403, 404, 413, 422] {
            check(Row { reached: Reached::Status(status), ..ROW }, Next::Final);
        }
    }

    #[test]
    fn the_servers_word_overrules_the_status() {
        let yes = Hints { should_retry: Some(Retry::Yes), ..Hints::default() };
        let no = Hints { should_retry: Some(Retry::No), ..Hints::default() };
        check(Row { reached: Reached::Status(400), hints: yes, ..ROW }, wait(100));
        check(Row { reached: Reached::Status(529), hints: no, ..ROW }, Next::Final);
    }

    #[test]
    fn a_spend_limit_is_final_whatever_the_server_says() {
        let hints = Hints {
            should_retry: Some(Retry::Yes),
            after: Some(Duration::ZERO),
            ..Hints::default()
        };
        check(
            Row {
                class: ProviderErrorClass::SpendLimit,
                reached: Reached::Status(429),
                hints,
                ..ROW
            },
            Next::Final,
        );
    }

    #[test]
    fn only_a_connection_that_was_never_made_is_tried_again() {
        check(
            Row { class: ProviderErrorClass::Network, reached: Reached::NotConnected, ..ROW },
            wait(100),
        );
        check(
            Row { class: ProviderErrorClass::Network, reached: Reached::Unanswered, ..ROW },
            Next::Final,
        );
        check(
            Row { class: ProviderErrorClass::Timeout, reached: Reached::Unanswered, ..ROW },
            Next::Final,
        );
    }

    #[test]
    fn waits_double_up_to_a_maximum_and_are_spread() {
        check(Row { random: 25_000, ..ROW }, wait(75));
        check(Row { random: 25_001, ..ROW }, wait(100));
        check(Row { attempts: 2, ..ROW }, wait(150));
        check(Row { attempts: 2, random: 37_000, ..ROW }, wait(113));
    }

    fn asking(millis: u64) -> Hints {
        Hints { after: Some(Duration::from_millis(millis)), ..Hints::default() }
    }

    #[test]
    fn a_servers_wait_is_taken_if_it_is_longer_than_the_own_back_off() {
        check(Row { hints: asking(9_000), random: 77, ..ROW }, wait(9_000));
        check(Row { hints: asking(0), ..ROW }, wait(100));
        check(Row { hints: asking(99), attempts: 2, ..ROW }, wait(150));
    }

    /// The shortest and the longest time that the default has patience for, by what failed.
    #[test]
    fn the_default_has_patience_of_at_least_a_minute() {
        let policy = RetryPolicy::default();
        for (class, reached, seconds) in [
            (ProviderErrorClass::Network, Reached::NotConnected, 91),
            (ProviderErrorClass::Overloaded, Reached::Status(529), 120),
            (ProviderErrorClass::RateLimited, Reached::Status(429), 148),
            (ProviderErrorClass::Server, Reached::Status(500), 155),
            (ProviderErrorClass::Timeout, Reached::Status(504), 155),
        ] {
            let sum = |hints, random: fn(Duration) -> u64| {
                let failed = Failed { class, reached, hints };
                let mut progress = Progress { attempts: 1, elapsed: Duration::ZERO };
                let mut full = policy.first_delay_after(class);
                while let Next::Wait(wait) = next(&policy, progress, &failed, random(full)) {
                    progress.elapsed += wait;
                    progress.attempts += 1;
                    full = (full * 2).min(policy.max_delay);
                }
                progress.elapsed
            };
            let quarter = |full: Duration| u64::try_from((full / 4).as_micros()).unwrap();
            let longest = Duration::from_secs(seconds);
            assert_eq!(sum(Hints::default(), |_| 0), longest, "{class}");
            assert_eq!(sum(asking(0), quarter), longest * 3 / 4, "{class}");
            assert!(Duration::from_secs(60) <= longest * 3 / 4, "{class}");
        }
    }

    #[test]
    fn attempts_and_time_end() {
        check(Row { attempts: 3, ..ROW }, Next::UsedUp);
        check(Row { elapsed_ms: 9_900, ..ROW }, Next::UsedUp);
        check(Row { hints: asking(10_000), ..ROW }, Next::UsedUp);
    }
}
