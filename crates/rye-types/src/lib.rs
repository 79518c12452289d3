#![doc = include_str!("../README.md")]
// Nothing here is open for more: whoever matches on a word has to decide on each one, so that a new one is a breaking release.

mod word;

mod hook;
mod hook_paths;
mod item_kind;
mod position;
mod return_style;
mod value_type;

mod effect;
mod risk;
mod sandbox_mode;

mod amount;
mod limit;
mod thread_state;
mod usage;

mod moment;
mod timestamp;

word::as_text! {
    Moment with "date-time";
    ThreadState;
    Timestamp with "date-time";
}

pub use self::amount::{Nanos, NanosError, Prices};
pub use self::effect::Effect;
pub use self::hook::{HookEffect, HookEvent, HookLayer};
pub use self::item_kind::{ItemKind, ItemKindError};
pub use self::limit::{Limit, LimitHit, LimitSet, NotRaised, RaisedLimits, SpendLimit};
pub use self::moment::{ClockError, Moment, MomentError};
pub use self::position::Position;
pub use self::return_style::ReturnStyle;
pub use self::risk::{Risk, RiskPolicy, UnknownName};
pub use self::sandbox_mode::SandboxMode;
pub use self::thread_state::{ThreadState, ThreadStateError};
pub use self::timestamp::{Timestamp, TimestampError};
pub use self::usage::Usage;
pub use self::value_type::ValueType;
pub use self::word::UnknownWord;
