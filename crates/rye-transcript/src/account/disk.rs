//! The members of records from which an account is computed.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::Record;
use crate::failure::disk::LimitsDisk;

pub(super) fn payload<T: DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_str(record.payload.get()).ok()
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
