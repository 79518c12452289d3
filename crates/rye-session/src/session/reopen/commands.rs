//! The commands that decide about a call that waits.

use rye_thread::PendingApproval;

/// Returns the commands that decide about just this call, in backticks. If the thread waits with another call by then, they decide
/// nothing.
#[must_use]
pub fn decision_commands(asked: &PendingApproval) -> String {
    let (thread, seq) = (&asked.request.thread, asked.seq);
    format!("`rye approve {thread} --call {seq}` or `rye deny {thread} --call {seq}`")
}
