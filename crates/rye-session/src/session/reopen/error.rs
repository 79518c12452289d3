//! Why a thread is not opened again.

use std::time::Duration;

use rye_project::{Class, PrepareError};
use rye_thread::store::Owner;
use rye_thread::{
    AccountError, ApprovalRequest, DecidedApproval, JournalError, PendingApproval, RegistryError,
    ResumeError, ThreadId,
};
use rye_types::{ClockError, LimitHit, NotRaised, ThreadState};

use super::commands::decision_commands;
use crate::session::{LinkedThreads, RunError};
use crate::thread_reading::ThreadReadError;

/// The time that the owner of a tree has to answer a request.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// Why a thread was not opened again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReopenError {
    /// The thread no longer waits with the call that the person was shown.
    #[error(
        "thread `{thread}` waits with another call by now; look at it with `rye threads show {thread}`"
    )]
    AnotherCall {
        /// The thread.
        thread: ThreadId,
    },
    /// The clock shows a time before 1970.
    #[error(transparent)]
    Clock(#[from] ClockError),
    /// The items or the authority of the thread changed after it began.
    #[error("thread `{thread}` does not go on: {} changed since it began; undo that, or start the directive again", changes.join(", "))]
    Changed {
        /// The thread.
        thread: ThreadId,
        /// The changes, in words.
        changes: Vec<String>,
    },
    /// A file that the thread rests on was edited since it was signed. A new signature would not help, because the text would
    /// be another one.
    #[error(
        "thread `{thread}` does not go on: `{location}` was changed since it was signed; restore the file, because a thread goes on with \
         the text that it began with, or start the directive again"
    )]
    Edited {
        /// The thread.
        thread: ThreadId,
        /// The file.
        location: String,
    },
    /// The thread has ended.
    #[error(
        "thread `{thread}` is `{state}`, and nothing more happens in it; start the directive again"
    )]
    Ended {
        /// The thread.
        thread: ThreadId,
        /// The state in which it ended.
        state: ThreadState,
    },
    /// It waits for calls of threads below it, and not for one of its own.
    #[error(
        "no call of thread `{thread}` itself waits for a decision, but {}; then `rye resume {thread}` goes on",
        waiting_calls(below)
    )]
    AskedBelow {
        /// The thread.
        thread: ThreadId,
        /// The calls of threads below it that wait.
        below: Vec<PendingApproval>,
    },
    /// The waiting call has already been decided on.
    #[error(
        "the call of `{}` that thread `{thread}` waits with was {} already ({}, {}); `rye resume {thread}` goes on",
        .decided.item_id, .decided.decision, .decided.by, .decided.at
    )]
    Decided {
        /// The thread.
        thread: ThreadId,
        /// The recorded decision, with its time.
        decided: Box<DecidedApproval>,
    },
    /// The call may be approved once, and not for the rest of its thread.
    #[error(
        "each call of `{item_id}` in thread `{thread}` is decided by itself; approve this one with `rye approve {thread} --call {seq}`, without `--always`"
    )]
    EachByItself {
        /// The thread.
        thread: ThreadId,
        /// The item, or the hook that asks.
        item_id: String,
        /// The record that asks.
        seq: u64,
    },
    /// The limit that ended the thread would end it again at once.
    #[error("thread `{thread}` ended by {hit}; raise the limit, for example with `{command}`")]
    LimitStands {
        /// The thread.
        thread: ThreadId,
        /// The limit, and where it stood.
        hit: LimitHit,
        /// A command that raises it.
        command: String,
    },
    /// A given limit is not higher than the thread's own.
    #[error("thread `{thread}` does not go on")]
    NotRaised {
        /// The thread.
        thread: ThreadId,
        /// The limit.
        source: NotRaised,
    },
    /// The limits of a thread were to be raised that another thread started.
    #[error(
        "the limits of thread `{thread}` are what thread `{parent}`, which started it, had left, and are not raised; raise those of the first thread: `rye resume {first}` with `--turns`, `--tokens`, `--spend` or `--duration`"
    )]
    RaisedBelow {
        /// The thread.
        thread: ThreadId,
        /// The thread that started it.
        parent: ThreadId,
        /// The first thread of the tree.
        first: ThreadId,
    },
    /// Its journal cannot be used, or another program drives it.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The thread's record would be written through a link.
    #[error(transparent)]
    Linked(#[from] LinkedThreads),
    /// A thread above it has ended.
    #[error(
        "thread `{thread}` does not go on, because thread `{parent}`, which stands above it, has ended; start the directive again"
    )]
    BelowEnded {
        /// The thread.
        thread: ThreadId,
        /// The thread that has ended.
        parent: ThreadId,
    },
    /// The process that drives the thread did not do what it was asked for.
    #[error("{owner} drives thread `{thread}` and did not do that within {} seconds; {}", PATIENCE.as_secs(), advice_without_answer(*.is_signed))]
    Unanswered {
        /// The thread.
        thread: ThreadId,
        /// The process.
        owner: Owner,
        /// `true` if the request was signed with the operator's key.
        is_signed: bool,
    },
    /// There is no project.
    #[error("no project here: no folder above has an `.ai` folder")]
    NoProject,
    /// It was continued, and the next thread cannot be begun.
    #[error(transparent)]
    Continue(#[from] RunError),
    /// It failed before its first event, so that there is nothing to hold its directive against.
    #[error(
        "thread `{thread}` never began, so that nothing can be replayed; `rye threads show {thread}` says why"
    )]
    NeverBegan {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread was continued and its successor was not begun yet, so that no call waits there.
    #[error(
        "no call of thread `{thread}` waits for a decision; it goes on in `{next}`, which `rye resume {thread}` begins"
    )]
    NotBegun {
        /// The thread.
        thread: ThreadId,
        /// The one that goes on.
        next: ThreadId,
    },
    /// No call waits for a decision.
    #[error("no call of thread `{thread}` waits for a decision; it is `{state}`{}", if_killed(*state, thread))]
    NothingAsked {
        /// The thread.
        thread: ThreadId,
        /// The state of the thread.
        state: ThreadState,
    },
    /// The operator's key signed the record, and is not at hand.
    #[error(
        "the record of thread `{thread}` was signed with the key `{key_id}`; go on with that key"
    )]
    OtherKey {
        /// The thread.
        thread: ThreadId,
        /// The key that signed it.
        key_id: String,
    },
    /// The operator has a key, and it is not what vouches for the record.
    #[error(
        "the record of thread `{thread}` is signed with a key of its own and not with yours, so whoever could write its folder could have written it; run its directive anew"
    )]
    SelfVouched {
        /// The thread.
        thread: ThreadId,
    },
    /// Nothing bounds what the thread has cost.
    #[error("thread `{thread}` cannot go on, because what it has cost cannot be computed")]
    Unbounded {
        /// The thread.
        thread: ThreadId,
        /// The cause, in the thread itself or in one below it.
        source: AccountError,
    },
    /// The directive can no longer be prepared.
    #[error("the directive of thread `{thread}` cannot be prepared any more")]
    Prepare {
        /// The thread.
        thread: ThreadId,
        /// The cause of the failure.
        source: Box<PrepareError>,
    },
    /// The record cannot be read, or is not as a run wrote it.
    #[error(transparent)]
    Read(#[from] ThreadReadError),
    /// The run cannot be led through what was recorded.
    #[error("thread `{thread}` does not go on")]
    Resume {
        /// The thread.
        thread: ThreadId,
        /// The cause of the failure.
        source: Box<ResumeError>,
    },
    /// The store of threads cannot be used.
    #[error("the record of the thread cannot be written")]
    Store(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// A thread names a successor that does not name it as its predecessor.
    #[error(
        "thread `{thread}` was continued in thread `{next}` by its record, which is not so by the record of that one; one of them was \
         moved or changed"
    )]
    NotItsSuccessor {
        /// The thread that was continued.
        thread: ThreadId,
        /// The thread that its record names.
        next: ThreadId,
    },
    /// The record does not say how the thread was started.
    #[error("the record of thread `{thread}` does not say how it was started: {problem}")]
    Unrepeatable {
        /// The thread.
        thread: ThreadId,
        /// The problem, in words.
        problem: String,
    },
    /// The record says what the thread may do, and nothing that the operator trusts vouches for it.
    #[error("thread `{thread}` is not resumed: {problem}")]
    Unvouched {
        /// The thread.
        thread: ThreadId,
        /// The problem with the record.
        problem: String,
    },
}

impl From<RegistryError> for ReopenError {
    fn from(error: RegistryError) -> Self {
        Self::Store(error.into())
    }
}

impl ReopenError {
    /// Returns the class of the error, which decides the exit code.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::Changed { .. }
            | Self::Edited { .. }
            | Self::Linked(_)
            | Self::NotItsSuccessor { .. }
            | Self::OtherKey { .. }
            | Self::SelfVouched { .. }
            | Self::Unvouched { .. } => Class::Refused,
            Self::Continue(error) => error.class(),
            Self::Prepare { source, .. } => source.class(),
            Self::Read(error) if error.is_tampering() => Class::Refused,
            Self::Resume { source, .. } if matches!(**source, ResumeError::Changed { .. }) => {
                Class::Refused
            }
            Self::EachByItself { .. }
            | Self::NoProject
            | Self::NotRaised { .. }
            | Self::RaisedBelow { .. } => Class::Usage,
            Self::LimitStands { .. } => Class::Limit,
            _ => Class::Failed,
        }
    }
}

/// The calls that wait, each with the commands that decide on it.
fn waiting_calls(below: &[PendingApproval]) -> String {
    let call = |asked: &PendingApproval| {
        let ApprovalRequest { thread, item_id, .. } = &asked.request;
        let (why, commands) = (asked.request.why(), decision_commands(asked));
        format!("`{item_id}` of thread `{thread}` does ({why}): {commands}")
    };
    below.iter().map(call).collect::<Vec<_>>().join("; ")
}

/// Returns advice for the operator about a process that does not answer.
fn advice_without_answer(is_signed: bool) -> &'static str {
    if is_signed {
        "end that process, or ask again once it is done with what it waits for"
    } else {
        "end that process, or make a key with `rye keys generate`: a request without a signature counts only for a process without \
         a key whose tools cannot write to `.ai/threads`"
    }
}

/// A thread whose program was killed stays `running` in its record.
fn if_killed(state: ThreadState, thread: &ThreadId) -> String {
    match state {
        ThreadState::Running => format!(
            "; if its program was killed, `rye resume {thread}` goes on and asks what it has to"
        ),
        _ => String::new(),
    }
}
