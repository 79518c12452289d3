//! Whether and when to try again, as a pure decision.

use std::time::Duration;

use rye_thread::ProviderErrorClass;

use super::hints::{Hints, Retry};
use crate::RetryPolicy;

/// What is known of an attempt that failed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failed {
    pub(super) class: ProviderErrorClass,
    pub(super) reached: Reached,
    pub(super) hints: Hints,
}

/// How far an attempt got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reached {
    /// No connection was made, so nothing can have been done.
    Nobody,
    /// The request went out, and no whole response came back.
    Unanswered,
    /// A whole response with this status came back.
    Status(u16),
}

/// How far a request has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Attempts made, this one included.
    pub(super) attempts: u32,
    /// Time since the first began.
    pub(super) elapsed: Duration,
}

/// What to do after a failed attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Wait(Duration),
    /// Another attempt could not mend it.
    Final,
    /// Another attempt might, but there may be none.
    UsedUp,
}

/// Decides by the server's word, then the status (WIRES 1.1); `random` spreads the waits that we choose.
///
/// Without a response, only a connection that was never made is tried again: what was sent may have been done and charged.
pub(super) fn next(policy: &RetryPolicy, progress: Progress, failed: &Failed, random: u64) -> Next {
    if !is_retryable(failed) {
        return Next::Final;
    }
    let wait = failed.hints.after.unwrap_or_else(|| backoff(policy, progress.attempts, random));
    if progress.attempts >= policy.attempts || progress.elapsed.saturating_add(wait) >= policy.total
    {
        return Next::UsedUp;
    }
    Next::Wait(wait)
}

fn is_retryable(failed: &Failed) -> bool {
    match (failed.class, failed.hints.should_retry, failed.reached) {
        // The limit stays used up however long one waits.
        (ProviderErrorClass::SpendLimit, _, _) | (_, _, Reached::Unanswered) => false,
        (_, Some(Retry::Yes), _) | (_, None, Reached::Nobody) => true,
        (_, Some(Retry::No), _) => false,
        (_, None, Reached::Status(status)) => matches!(status, 408 | 409 | 429 | 500..),
    }
}

/// Doubles with each attempt up to the policy's maximum; of that, between a half and all.
fn backoff(policy: &RetryPolicy, attempts: u32, random: u64) -> Duration {
    let doubled = 2_u32.saturating_pow(attempts.saturating_sub(1).min(31));
    let full = policy.first_delay.saturating_mul(doubled).min(policy.max_delay);
    let half = full / 2;
    let spread = u64::try_from(half.as_micros()).unwrap_or(u64::MAX);
    full - Duration::from_micros(random % spread.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: RetryPolicy = RetryPolicy {
        attempts: 3,
        first_delay: Duration::from_millis(100),
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
        hints: Hints { should_retry: None, after: None },
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
        let yes = Hints { should_retry: Some(Retry::Yes), after: None };
        let no = Hints { should_retry: Some(Retry::No), after: None };
        check(Row { reached: Reached::Status(400), hints: yes, ..ROW }, wait(100));
        check(Row { reached: Reached::Status(529), hints: no, ..ROW }, Next::Final);
    }

    #[test]
    fn a_spend_limit_is_final_whatever_the_server_says() {
        let hints = Hints { should_retry: Some(Retry::Yes), after: Some(Duration::ZERO) };
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
            Row { class: ProviderErrorClass::Network, reached: Reached::Nobody, ..ROW },
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
        check(Row { random: 50_000, ..ROW }, wait(50));
        check(Row { random: 50_001, ..ROW }, wait(100));
        check(Row { attempts: 2, ..ROW }, wait(150));
        check(Row { attempts: 2, random: 75_000, ..ROW }, wait(75));
    }

    #[test]
    fn a_servers_wait_is_taken_as_it_is() {
        let hints = Hints { should_retry: None, after: Some(Duration::from_secs(9)) };
        check(Row { hints, random: 77, ..ROW }, wait(9_000));
    }

    #[test]
    fn attempts_and_time_end() {
        check(Row { attempts: 3, ..ROW }, Next::UsedUp);
        check(Row { elapsed_ms: 9_900, ..ROW }, Next::UsedUp);
        let hints = Hints { should_retry: None, after: Some(Duration::from_secs(10)) };
        check(Row { hints, ..ROW }, Next::UsedUp);
    }
}
