//! The saved forms of values inside payloads, separate from the values.
//!
//! Only a reader of single lines needs them. [`recorded_events`](crate::recorded_events) reads whole payloads.

pub use crate::message::disk::UsageDisk;
