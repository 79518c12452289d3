//! Pages and exports of threads that are written record by record.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod exports;
mod hostile;
mod pages;
mod parts;
mod receipts;
#[expect(clippy::needless_pass_by_value, reason = "a call reads better with a literal")]
mod recording;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod terminal;
mod trajectories;
