#![doc = include_str!("../README.md")]
#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod columns;
mod difference;
mod explain;
mod lock_report;
mod one_line;
mod privileges;

pub use self::difference::{Change, Difference, PatternChange, Section};
pub use self::explain::{
    ContextFacts, Explained, HookFacts, ItemFacts, LayerFacts, LimitFacts, LostFacts, ModelFacts,
    ModelSource, PortFacts, Signer, SkippedFacts, StartFacts, ToolFacts,
};
pub use self::lock_report::{LockFinding, LockReport};
pub use self::privileges::{
    LayerPrivileges, NothingToJudge, PatternPrivileges, Privileges, PrivilegesError, Tightened,
    Waits,
};
