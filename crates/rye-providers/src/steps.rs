//! Planned steps without a model (SPEC 10.13).

mod fill;
mod history;
mod json;
mod plan;
mod provider;
mod walk;

pub use self::fill::write_as_text;
pub use self::json::PLANNED_STEPS;
pub use self::plan::{PlannedCall, PlannedOutput, PlannedStep, Presence};
pub use self::provider::StepsProvider;
pub use self::walk::{MAX_PLANNED_DEPTH, MAX_PLANNED_STEPS};
