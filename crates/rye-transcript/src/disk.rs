//! The saved forms of values inside payloads, separate from the values.
//!
//! A reader of records needs them only for payloads of its own, as a process that resumes a thread does. Each form turns
//! into its value, and none of them is signed or verified by itself.

pub use crate::added::disk::AddedDisk;
pub use crate::child_end::ChildEndDisk;
pub use crate::failure::disk::{FailureDisk, LimitHitDisk, LimitsDisk, RefusalDisk};
pub use crate::message::disk::{ReplyDisk, ResultDisk, UsageDisk};
pub use crate::spawn::disk::SpawnDisk;
