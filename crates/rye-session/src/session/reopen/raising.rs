//! The command with which the operator has a thread go on that a limit or its provider ended (SPEC D18).

use rye_thread::{FailureKind, ThreadId, ThreadRecord};
use rye_types::{Limit, LimitHit, LimitSet, Nanos, SpendLimit, ThreadState};

use crate::rye::Rye;
use crate::session::RunReport;

impl Rye {
    /// The report with the command that has its thread go on, where it ended so that it can.
    pub(in crate::session) fn with_resume_command(&self, report: RunReport) -> RunReport {
        let record = || Some(self.found(&self.threads()?, &report.thread).ok()?.reading.record);
        let has_failed = report.outcome.state == ThreadState::Error;
        let record = has_failed.then(record).flatten();
        let command = record.as_ref().and_then(resume_command);
        RunReport { resume: command, tree: None, ..report }
    }
}

/// Returns `true` if the operator can have the thread go on although it ended. The end of a child was told to its parent, which
/// may have acted on it.
pub(super) fn is_stopped(record: &ThreadRecord) -> bool {
    let failure = record.failure.as_ref();
    record.state == ThreadState::Error
        && record.parent.is_none()
        && failure.is_some_and(|failure| failure.kind.may_go_on())
}

/// Returns the command with which a thread that ended goes on: `rye resume ID`, with twice the limit that ended it.
///
/// `None` if it did not end so that it can go on (SPEC D18). A thread that another one started cannot.
#[must_use]
pub fn resume_command(record: &ThreadRecord) -> Option<String> {
    let failure = record.failure.as_ref().filter(|_| is_stopped(record))?;
    Some(command_after(&record.thread, &failure.kind, &record.limits))
}

/// The command that has the thread go on, with twice the limit that ended it.
pub(super) fn command_after(thread: &ThreadId, kind: &FailureKind, limits: &LimitSet) -> String {
    let command = format!("rye resume {thread}");
    let FailureKind::Limit(hit) = kind else { return command };
    match option(hit.limit) {
        Some(option) => format!("{command} {option} {}", twice(hit, limits)),
        None => command,
    }
}

/// The option of `rye run` and `rye resume` that sets a limit.
pub(in crate::session) fn option(limit: Limit) -> Option<&'static str> {
    match limit {
        Limit::Duration => Some("--duration"),
        Limit::Spend => Some("--spend"),
        Limit::Tokens => Some("--tokens"),
        Limit::Turns => Some("--turns"),
        _ => None,
    }
}

fn twice(hit: &LimitHit, limits: &LimitSet) -> String {
    let double = |limit: u64| limit.max(hit.value).max(1).saturating_mul(2);
    match (hit.limit, limits.spend) {
        (Limit::Duration, _) => double(limits.duration_seconds).to_string(),
        (Limit::Tokens, _) => double(limits.tokens).to_string(),
        (Limit::Spend, SpendLimit::AtMost(cap)) => {
            let dollars = Nanos::new(double(cap.get())).to_string();
            dollars.trim_end_matches(" USD").to_owned()
        }
        (Limit::Spend, SpendLimit::Unlimited) => SpendLimit::Unlimited.to_string(),
        _ => double(limits.turns).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rye_thread::ProviderErrorClass;

    use super::*;

    #[track_caller]
    fn check(kind: &FailureKind, expected: &str) {
        let thread: ThreadId = "greet-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let command = command_after(&thread, kind, &LimitSet::default());
        assert_eq!(command, format!("rye resume {thread}{expected}"));
    }

    #[test]
    fn the_limit_that_ended_a_thread_is_doubled() {
        let hit = |limit, value, maximum| FailureKind::Limit(LimitHit::new(limit, value, maximum));
        check(&hit(Limit::Turns, 10, 10), " --turns 20");
        check(&hit(Limit::Tokens, 250_000, 200_000), " --tokens 500000");
        check(&hit(Limit::Duration, 600, 600), " --duration 1200");
        check(&hit(Limit::Spend, 510_000_000, 500_000_000), " --spend 1.02");
        // A request that cost more than was reserved for it says nothing of the limit.
        check(&hit(Limit::Spend, 2, 1), " --spend 1.00");
        check(&FailureKind::Provider(ProviderErrorClass::Overloaded), "");
    }
}
