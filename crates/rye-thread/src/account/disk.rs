//! The members of records from which an account is computed.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::ChildEnd;
use crate::Nanos;
use crate::outcome::disk::LimitsDisk;
use crate::transcript::Record;

pub(super) fn payload<T: DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_str(record.payload.get()).ok()
}

#[derive(Serialize, Deserialize)]
pub(crate) struct ChildEndDisk {
    thread: String,
    state: String,
    cost_nanos: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    overrun: bool,
    records: u64,
    head: String,
}

impl ChildEndDisk {
    pub(crate) fn of(end: &ChildEnd) -> Self {
        Self {
            thread: end.child.to_string(),
            state: end.state.to_string(),
            cost_nanos: end.cost.get(),
            overrun: end.is_overrun,
            records: end.records,
            head: end.head.clone(),
        }
    }

    pub(crate) fn into_end(self) -> Result<ChildEnd, String> {
        Ok(ChildEnd {
            child: self.thread.parse().map_err(|error| format!("{error}"))?,
            state: self.state.parse().map_err(|error| format!("{error}"))?,
            cost: Nanos::new(self.cost_nanos),
            is_overrun: self.overrun,
            records: self.records,
            head: self.head,
        })
    }
}

#[derive(Deserialize)]
pub(super) struct ContinuedDisk {
    pub(super) next: String,
    pub(super) limits: LimitsDisk,
}

#[derive(Deserialize)]
pub(super) struct CostDisk {
    pub(super) cost_nanos: u64,
}

#[derive(Deserialize)]
pub(super) struct LimitedDisk {
    pub(super) limits: LimitsDisk,
}

#[derive(Deserialize)]
pub(super) struct RaisedDisk {
    pub(super) limits: Option<LimitsDisk>,
}

#[derive(Deserialize)]
pub(super) struct ReservedDisk {
    pub(super) reserved_nanos: u64,
}

#[derive(Deserialize)]
pub(super) struct RetriedDisk {
    pub(super) cost_nanos: u64,
    pub(super) reserved_nanos: u64,
}
