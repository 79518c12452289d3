//! The members of records from which an account is computed.

use serde::Deserialize;

use crate::ThreadId;
use crate::failure::disk::LimitsDisk;
use crate::json::Shown;

#[derive(Deserialize)]
pub(super) struct ContinuedDisk {
    pub(super) next: Shown<ThreadId>,
    pub(super) limits: LimitsDisk,
}

#[derive(Deserialize)]
pub(super) struct CostDisk {
    pub(super) cost_nanos: u64,
}

#[derive(Deserialize)]
pub(crate) struct LimitedDisk {
    pub(crate) limits: Option<LimitsDisk>,
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
