//! The reasons for which a run stops, and their messages.

use std::io;

use rye_types::{Limit, LimitHit, Nanos, SpendLimit};

use crate::cancel::Halt;
use crate::{Account, ApprovalRequest, Cancel, Failure, FailureKind, JournalError, OutOfTurn};

/// The reason why a run cannot go on, for good or for now.
pub(super) enum Stop {
    Cancelled,
    Failed(Failure),
    Interrupted,
    Suspended(Box<ApprovalRequest>),
    /// An event that must be on disk could not be written.
    Unwritten(Failure),
}

/// Fails if the thread is to stop.
pub(super) fn check_cancelled(cancel: &Cancel) -> Result<(), Stop> {
    cancel.halt().map_or(Ok(()), |halt| Err(halt.into()))
}

impl From<Halt> for Stop {
    fn from(halt: Halt) -> Self {
        match halt {
            Halt::Cancel => Self::Cancelled,
            Halt::Interrupt => Self::Interrupted,
        }
    }
}

impl From<JournalError> for Stop {
    fn from(error: JournalError) -> Self {
        Self::Unwritten(storage(&error))
    }
}

impl From<OutOfTurn> for Stop {
    fn from(error: OutOfTurn) -> Self {
        Self::Failed(Failure::new(FailureKind::OutOfTurn, &error.to_string()))
    }
}

pub(super) fn storage(error: &(dyn std::error::Error + 'static)) -> Failure {
    let room = if is_full(error) { "; make room on that disk" } else { "" };
    Failure::new(FailureKind::Storage, &format!("{}{room}", with_causes(error)))
}

/// Returns `true` if the write failed for lack of room.
fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let of_system = error.downcast_ref::<io::Error>().map(io::Error::kind);
    let of_database =
        error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    matches!(of_system, Some(FileTooLarge | QuotaExceeded | StorageFull))
        || of_database == Some(rusqlite::ErrorCode::DiskFull)
        || error.source().is_some_and(is_full)
}

/// The message with its causes, because an outcome carries text alone.
pub(super) fn with_causes(error: &dyn std::error::Error) -> String {
    let mut message = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        message = format!("{message}: {error}");
        cause = error.source();
    }
    message
}

/// The end of a thread whose free money is less than it needs.
pub(super) fn out_of_money(account: &Account, needed: Nanos) -> Failure {
    let maximum = match account.cap {
        SpendLimit::AtMost(cap) => cap.get(),
        SpendLimit::Unlimited => u64::MAX,
    };
    let value = account.cost.saturating_add(account.held).saturating_add(needed).get();
    let hit = LimitHit::new(Limit::Spend, value, maximum);
    let message = match account.is_overrun {
        true => OVERRUN.to_owned(),
        false => hit.to_string(),
    };
    Failure::new(FailureKind::Limit(hit), &message)
}

/// The reason why nothing is free although the limit may not be reached.
const OVERRUN: &str = "limit `spend` reached: a request of this thread, or of one below it, cost more than was reserved for it, so \
                       that the rest of the limit is not spent; check the prices and `max_output` of the model in the provider's file";

/// The end of a thread whose provider charged more than was reserved for the request.
pub(super) fn overrun(reserved: Nanos, cost: Nanos) -> Option<Failure> {
    let beyond = cost.get().checked_sub(reserved.get()).filter(|beyond| 0 < *beyond)?;
    let hit = LimitHit::new(Limit::Spend, cost.get(), reserved.get());
    let message = format!(
        "limit `spend` reached: the answer cost {cost}, which is {} more than the {reserved} that was reserved for it; check the \
         prices and `max_output` of the model in the provider's file",
        Nanos::new(beyond)
    );
    Some(Failure::new(FailureKind::Limit(hit), &message))
}
