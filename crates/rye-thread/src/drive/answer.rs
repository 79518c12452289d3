//! The end of a request.

use rye_types::Nanos;

use super::stop::Stop;
use crate::cancel::Halt;
use crate::{ProviderError, Reply};

/// The end of a request.
pub(super) enum Answer {
    Failed(ProviderError),
    /// The thread was stopped; the attempt on its way counts as this much.
    Halted(Halt, Nanos),
    OutOfTime(Nanos),
    Replied(Reply),
    /// A further attempt could not be paid or recorded.
    Stopped(Stop),
}
