//! Planned steps without a model (SPEC 10.13).

mod fill;
mod history;
mod plan;
mod provider;
mod reference;

pub use self::plan::{PlannedCall, PlannedOutput, PlannedStep, Presence};
pub use self::provider::StepsProvider;
