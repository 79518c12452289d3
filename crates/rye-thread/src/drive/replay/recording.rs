//! Recorded answers, receipts and decisions, each given out once and in order.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rye_types::{Limit, LimitHit, LimitSet, Moment, Usage};

use super::visible::{is_seen, visible};
use crate::drive::recover::returned;
use crate::transcript::payload::{Decided, StepFinish, ThreadError, ThreadResumed, Triggered};
use crate::transcript::{Event, Reading};
use crate::{
    ApprovalReason, ApprovalRequest, Approver, Clock, Decider, Decision, Failure, FailureKind,
    Observer, ProviderError, ProviderErrorClass, ProviderInfo, Reply, Retry, Returned, ToolCall,
    ToolResult,
};

/// The recorded answers, results and decisions from outside the run.
#[derive(Debug)]
pub(in crate::drive) struct Recording {
    facts: Facts,
    left: Mutex<Left>,
    /// The places of limits that no longer end the replay, because the thread was resumed after them.
    passed: AtomicUsize,
    /// The number of visible events that the replay has passed.
    seen: AtomicUsize,
}

/// The part of a recording that a replay does not use up.
#[derive(Debug, Default)]
struct Facts {
    stopped: Vec<Stopped>,
    fallbacks: Vec<ProviderInfo>,
    /// The calls that the operator was asked about.
    asked: BTreeSet<String>,
    turns: u64,
    is_complete: bool,
}

#[derive(Debug, Default)]
struct Left {
    replies: VecDeque<Result<Reply, ProviderError>>,
    receipts: VecDeque<Returned>,
    decisions: VecDeque<Decision>,
    /// The points at which the thread was reopened after an end: the number of visible
    /// events before, and the limits from then on.
    reopened: VecDeque<(usize, Option<LimitSet>)>,
}

/// A limit that ended the thread, or would have but for a hook.
#[derive(Debug)]
struct Stopped {
    /// The number of visible events before it.
    after: usize,
    failure: Failure,
    hit: LimitHit,
}

impl Recording {
    pub(super) fn of(reading: &Reading) -> Self {
        let mut reader = RecordingReader::default();
        for (place, record) in reading.records.iter().enumerate() {
            let seen = || visible(&reading.records[..place]).len();
            match record.event() {
                Ok(Event::RequestRetried(again)) => reader.add_retry(&again.retry()),
                Ok(Event::StepStart(_)) => reader.is_asked = true,
                Ok(Event::StepFinish(StepFinish { reply, .. })) => {
                    reader.add_reply(Arc::unwrap_or_clone(reply.0))
                }
                Ok(Event::HookTriggered(Triggered {
                    failure: Some(failure),
                    is_final: true,
                    ..
                })) => {
                    reader.add_failure(failure, seen);
                }
                Ok(Event::ToolCallResult(receipt)) => {
                    // A refusal of a hook's action is not that of the model.
                    let refused = receipt.refusal.as_ref().filter(|_| receipt.hook.is_none());
                    reader.refused = refused.map(|it| it.message.clone()).or(reader.refused);
                    reader.left.receipts.push_back(returned(receipt));
                }
                // A replay is not killed, so that it needs no decision about a call that was cut off.
                Ok(Event::ApprovalRequested(asked)) => {
                    reader.is_again = asked.reason == ApprovalReason::Interrupted;
                    reader.asked.clone_from(&asked.call_id);
                    reader.facts.asked.insert(asked.call_id);
                }
                Ok(Event::ApprovalDecided(Decided { call_id, decision, .. }))
                    if !reader.is_again && call_id == reader.asked =>
                {
                    reader.left.decisions.push_back(decision);
                }
                Ok(Event::ThreadComplete(_)) => {
                    (reader.facts.is_complete, reader.has_ended) = (true, true);
                }
                Ok(Event::ThreadError(ThreadError { failure, .. })) => {
                    reader.has_ended = true;
                    failure.into_iter().for_each(|failure| reader.add_failure(failure, seen));
                }
                Ok(Event::ModelFallback(fallback)) => {
                    reader.is_asked = false;
                    reader.refuses(ProviderErrorClass::Overloaded, "as recorded", Usage::default());
                    reader.facts.fallbacks.push(fallback.info());
                }
                Ok(Event::ThreadContinued(_)) => reader.facts.is_complete = true,
                Ok(Event::ThreadResumed(ThreadResumed { limits, .. })) if reader.has_ended => {
                    (reader.has_ended, reader.is_asked) = (false, false);
                    reader.left.reopened.push_back((seen(), limits));
                }
                _ => {}
            }
        }
        let RecordingReader { facts, left, .. } = reader;
        let left = Mutex::new(left);
        Self { facts, left, passed: AtomicUsize::new(0), seen: AtomicUsize::new(0) }
    }

    /// Returns the providers that answered, beginning with `first`.
    pub(super) fn answerers(&self, first: &ProviderInfo) -> Vec<ProviderInfo> {
        let mut answerers = vec![first.clone()];
        answerers.extend(self.facts.fallbacks.iter().cloned());
        for answerer in &mut answerers {
            answerer.context_window = first.context_window;
            answerer.max_output = first.max_output;
        }
        answerers
    }

    pub(super) const fn turns(&self) -> u64 {
        self.facts.turns
    }

    /// Returns `true` if the thread completed its task, so that nothing of a replay may come after
    /// it.
    pub(super) const fn is_complete(&self) -> bool {
        self.facts.is_complete
    }

    pub(super) fn reply(&self) -> Result<Reply, ProviderError> {
        let over = "the record holds no further answer";
        let next = self.left().replies.pop_front();
        next.unwrap_or_else(|| Err(ProviderError::new(ProviderErrorClass::InvalidRequest, over)))
    }

    /// Returns the recorded result of the call if it was run, or else `computed`. Either way its
    /// receipt is used up.
    pub(in crate::drive) fn receipt(
        &self,
        call: &ToolCall,
        computed: Option<Returned>,
    ) -> Returned {
        let receipt = self.left().receipts.pop_front();
        computed.unwrap_or_else(|| {
            let none = || ToolResult::error(call, serde_json::json!({ "error": NO_RECEIPT }));
            receipt.unwrap_or_else(|| Returned::ran(none()))
        })
    }

    /// Returns `true` if the operator was asked about the call.
    pub(in crate::drive) fn was_asked(&self, call: &ToolCall) -> bool {
        self.facts.asked.contains(&call.id)
    }

    /// The run answers calls that return outputs by itself.
    pub(in crate::drive) fn skip_receipts(&self, count: usize) {
        let mut left = self.left();
        let count = count.min(left.receipts.len());
        left.receipts.drain(..count);
    }

    fn left(&self) -> MutexGuard<'_, Left> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A transcript while it is read.
#[derive(Default)]
struct RecordingReader {
    facts: Facts,
    left: Left,
    /// `true` if the record holds an end here.
    has_ended: bool,
    /// `true` if a request waits for its answer.
    is_asked: bool,
    /// `true` if the last question was whether an interrupted call may run again.
    is_again: bool,
    /// The call that was asked about last.
    asked: String,
    /// The message for the model when a call was refused last.
    refused: Option<String>,
}

impl RecordingReader {
    fn add_reply(&mut self, reply: Reply) {
        self.is_asked = false;
        self.facts.turns += 1;
        self.left.replies.push_back(Ok(reply));
    }

    /// Takes a further attempt, before which there may have been an answer that could not be used.
    fn add_retry(&mut self, retry: &Retry) {
        if retry.class.is_of_reply() {
            self.refuses(retry.class, &retry.message, retry.usage);
        }
        self.is_asked = true;
    }

    /// Takes a request without an answer. Its cost is not recorded, and a replay does not compute
    /// it. The point at which money ran out is on record by itself.
    fn refuses(&mut self, class: ProviderErrorClass, message: &str, usage: Usage) {
        let refused = ProviderError::new(class, message).with_usage(usage);
        self.left.replies.push_back(Err(refused));
    }

    /// The thread failed, which every hook that was told of it has on record.
    ///
    /// Where no request waited, an answer led there, or what was decided about one.
    fn add_failure(&mut self, failure: Failure, after: impl FnOnce() -> usize) {
        let class = match &failure.kind {
            FailureKind::Limit(hit) => {
                self.is_asked = false;
                let hit = hit.clone();
                return self.facts.stopped.push(Stopped { after: after(), failure, hit });
            }
            FailureKind::Provider(class) => *class,
            FailureKind::Refused => ProviderErrorClass::StepFailed,
            _ => return,
        };
        if std::mem::take(&mut self.is_asked) {
            // The run blames the refusal once more.
            let blamed = self.refused.as_ref().map(|refused| format!("{refused}; then: "));
            let message = failure.message.as_str();
            let own = blamed.and_then(|blamed| message.strip_prefix(&blamed)).unwrap_or(message);
            self.refuses(class, own, Usage::default());
        }
    }
}

impl Recording {
    /// The limit that the thread met when it had come as far as the replay has.
    pub(in crate::drive) fn limit_here(&self, limit: Limit) -> Option<&Failure> {
        let seen = self.seen.load(Ordering::Relaxed);
        let ahead = self.facts.stopped.iter().skip(self.passed.load(Ordering::Relaxed));
        let here = ahead.clone().find(|it| it.after == seen && it.hit.limit == limit);
        here.map(|stopped| &stopped.failure)
    }

    /// The limits of the resume after an end at this place, if there was one. `Some(None)` means that the limits stayed.
    pub(in crate::drive) fn take_reopening(&self) -> Option<Option<LimitSet>> {
        let seen = self.seen.load(Ordering::Relaxed);
        let mut left = self.left();
        left.reopened.front().filter(|(after, _)| *after == seen)?;
        let (_, limits) = left.reopened.pop_front()?;
        let behind = self.facts.stopped.iter().filter(|stopped| stopped.after <= seen).count();
        self.passed.store(behind, Ordering::Relaxed);
        Some(limits)
    }
}

/// No time passes in a replay but where it ran out for the thread.
impl Clock for Recording {
    fn now(&self) -> Moment {
        super::NOW
    }

    fn elapsed(&self) -> Duration {
        let seen = self.seen.load(Ordering::Relaxed);
        let behind = self.facts.stopped.iter().filter(|stopped| stopped.after <= seen);
        let times = behind.filter(|it| it.hit.limit == Limit::Duration).map(|it| it.hit.value);
        Duration::from_secs(times.max().unwrap_or_default())
    }
}

impl Observer for Recording {
    fn event(&self, event: &Event) {
        if is_seen(event.kind()) {
            self.seen.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[async_trait]
impl Approver for Recording {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
        let decision = self.left().decisions.pop_front()?;
        Some((decision, Decider::prompt()))
    }
}

const NO_RECEIPT: &str = "the record holds no receipt of this call";
