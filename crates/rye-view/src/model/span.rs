//! Stretches of time in a thread.

use rye_types::Nanos;
use strum::IntoStaticStr;

/// The kind of work that a span stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum SpanKind {
    Turn,
    Model,
    Tool,
    Retry,
    Child,
}

impl SpanKind {
    /// The word for it, which is also its class in a picture.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A stretch of time, by the time of day in milliseconds.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    pub(crate) kind: SpanKind,
    pub(crate) start: i64,
    pub(crate) end: i64,
    pub(crate) label: String,
    /// The record that it leads to.
    pub(crate) seq: u64,
    pub(crate) turn: u64,
    pub(crate) cost: Nanos,
    pub(crate) tokens: u64,
    pub(crate) is_bad: bool,
}

impl Span {
    /// A span that costs nothing and ends well.
    pub(super) fn new(
        kind: SpanKind,
        (start, end): (i64, i64),
        label: String,
        seq: u64,
        turn: u64,
    ) -> Self {
        let end = end.max(start);
        Self { kind, start, end, label, seq, turn, cost: Nanos::ZERO, tokens: 0, is_bad: false }
    }
}

/// The reason why time does not count as the thread's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PauseKind {
    /// A call waited for a decision.
    Approval,
    /// No process drove the thread.
    Stopped,
}

/// A stretch of time that does not count as the thread's.
#[derive(Debug, Clone)]
pub(crate) struct Pause {
    pub(crate) kind: PauseKind,
    pub(crate) start: i64,
    /// `None` while it lasts.
    pub(crate) end: Option<i64>,
    pub(crate) seq: u64,
}
