//! The owner of the calls of a thread: approval, intent, effect and receipt of each (SPEC 9.4).

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tracing::{Instrument as _, Span};

use super::accountant::Accountant;
use super::authoriser::{Authoriser, NeededApproval};
use super::batch::{Begun, Interruption, Ran, replay_answer};
use super::call::{Plan, Prepared, failure_answer, intent, tool_answer};
use super::progress::{Progress, Proposal};
use super::recorder::Recorder;
use super::replay::Recording;
use super::spawn::{ChildSpawner, SpawnCall};
use super::stop::{Stop, check_cancelled};
use super::{DriveContext, telemetry};
use crate::palette::Offered;
use crate::transcript::Event;
use crate::transcript::payload::{Asked, Decided, Receipt};
use crate::{
    AddedItem, ApprovalRequest, Approver, Cancel, Clock, Decider, Decision, Observer, Returned,
    Run, ToolCall, ToolOutput,
};

/// The number of read-only calls that run at once.
const MOST_IN_PARALLEL: usize = 16;

/// Executes the calls of a turn, and those of hooks.
pub(super) struct CallExecutor<'a> {
    pub(super) authoriser: Authoriser<'a>,
    pub(super) children: ChildSpawner<'a>,
    pub(super) progress: Progress,
    approver: &'a dyn Approver,
    cancel: &'a Cancel,
    clock: &'a dyn Clock,
    observer: &'a dyn Observer,
    /// The recorded results of calls, in a replay.
    recording: Option<Arc<Recording>>,
}

impl<'a> CallExecutor<'a> {
    pub(super) fn new(
        run: &Run,
        context: &DriveContext<'a>,
        recording: Option<Arc<Recording>>,
    ) -> Self {
        let DriveContext { palette, authority, approver, cancel, clock, observer, .. } = *context;
        let children = palette.children().filter(|_| recording.is_none());
        Self {
            authoriser: Authoriser::new(palette, authority, run.tools()),
            children: ChildSpawner::new(children, cancel),
            progress: Progress::default(),
            approver,
            cancel,
            clock,
            observer,
            recording,
        }
    }

    /// Bounds what happens from now on, in this thread and in the children that it starts, by what a call added to the
    /// conversation.
    pub(super) fn add_all(&mut self, items: &[AddedItem]) {
        for item in items {
            self.authoriser.narrow(item);
            self.children.add(item);
        }
    }

    /// Executes the calls of a turn in order. Returns the index of a call that waits for an approval, which comes before any
    /// further call.
    pub(super) async fn execute(
        &mut self,
        run: &Run,
        calls: &[ToolCall],
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<Option<usize>, Stop> {
        while self.progress.answers.len() < calls.len() {
            let group = self.next_group(run, calls, recorder).await;
            if let [Prepared { index, asks: Some(_), .. }] = group.as_slice() {
                return Ok(Some(*index));
            }
            self.run_group(run, group, recorder, accountant).await?;
        }
        Ok(None)
    }

    /// Records the intents of the calls that return outputs, which come after all `called` ones.
    pub(super) fn record_returns(
        &mut self,
        called: usize,
        returns: &[ToolCall],
        recorder: &mut Recorder<'_>,
    ) {
        let recorded = self.progress.intents.saturating_sub(called);
        for call in returns.iter().skip(recorded) {
            recorder.emit(&intent(call, call.arguments.clone().unwrap_or(Value::Null), None));
        }
        self.progress.intents = self.progress.intents.max(called + returns.len());
    }

    /// Has the operator decide on the call. The question is on record before it is asked, and the
    /// decision after it is made.
    pub(super) async fn approve(
        &mut self,
        run: &mut Run,
        index: usize,
        call: &ToolCall,
        recorder: &mut Recorder<'_>,
    ) -> Result<(), Stop> {
        check_cancelled(self.cancel)?;
        // The tool may have ceased to need it since the thread was suspended.
        let Some(request) = self.prepare(run, index, call, recorder).await.asks else {
            return Ok(run.approval_decided(Decision::Approved)?);
        };
        if !self.progress.is_asked {
            recorder.emit(&Event::ApprovalRequested(Asked::of(&request)));
            recorder.seal().await?;
            self.progress.is_asked = true;
            self.progress.proposal = Some(Proposal::of(&request));
        }
        let decision = self.decide(request.clone(), recorder).await?;
        if decision == Decision::ApprovedInThread {
            self.authoriser.approve_in_thread(&request);
        }
        self.progress.is_asked = false;
        Ok(run.approval_decided(decision)?)
    }

    /// Waits for the operator's decision and records it. The approval wait does not count as the thread's time.
    pub(super) async fn decide(
        &self,
        request: ApprovalRequest,
        recorder: &mut Recorder<'_>,
    ) -> Result<Decision, Stop> {
        let Some((decision, by)) = self.wait_for_decision(&request, recorder).await? else {
            return Err(Stop::Suspended(Box::new(request)));
        };
        let decided = Decided::new(&request, decision.clone(), by.as_str());
        recorder.emit(&Event::ApprovalDecided(decided));
        recorder.seal().await?;
        Ok(decision)
    }

    async fn wait_for_decision(
        &self,
        request: &ApprovalRequest,
        recorder: &mut Recorder<'_>,
    ) -> Result<Option<(Decision, Decider)>, Stop> {
        let began = self.clock.elapsed();
        let decision = tokio::select! {
            biased;
            halt = self.cancel.wait_for_halt() => Err(halt),
            decision = self.approver.decide(request) => Ok(decision),
        };
        let waited = self.clock.elapsed().saturating_sub(began);
        match decision {
            // The record of it stands for the time since they were asked.
            Ok(Some(_)) => recorder.time.exclude(waited),
            _ => recorder.exclude_wait(waited),
        }
        Ok(decision?)
    }

    /// Returns the calls that run together next. Each is judged when its turn has come, because those before it may have bounded
    /// what the thread may do.
    async fn next_group<'b>(
        &self,
        run: &Run,
        calls: &'b [ToolCall],
        recorder: &Recorder<'_>,
    ) -> Vec<Prepared<'b>>
    where
        'a: 'b,
    {
        let left = calls.iter().enumerate().skip(self.progress.answers.len());
        let mut group: Vec<Prepared<'b>> = Vec::new();
        for (index, call) in left.take(MOST_IN_PARALLEL) {
            let next = self.prepare(run, index, call, recorder).await;
            if !group.is_empty() && !next.may_join() {
                break;
            }
            group.push(next);
            if !group.iter().all(Prepared::may_join) {
                break;
            }
        }
        group
    }

    /// Authorises the call; then finds out whether an approval is needed or was given.
    async fn prepare<'b>(
        &self,
        run: &Run,
        index: usize,
        call: &'b ToolCall,
        recorder: &Recorder<'_>,
    ) -> Prepared<'b>
    where
        'a: 'b,
    {
        let prepared = self.authoriser.authorise(self.authoriser.palette, index, call);
        let Plan::Run { offered, call: authorised } = &prepared.plan else { return prepared };
        let arguments = authorised.arguments();
        let is_again = index < self.progress.intents;
        let needed = self.authoriser.needed_approval(offered, arguments, is_again);
        let answer = match (needed, run.decision(index)) {
            (Some(needed), None) => match self.proposal(index, call, offered, arguments).await {
                Ok(Some(proposal)) => {
                    let NeededApproval { reason, covers } = needed;
                    let thread = recorder.journal.thread();
                    let id = &offered.entry.item_id;
                    let request = ApprovalRequest::new(thread, &call.id, id, &proposal, reason);
                    return Prepared { asks: Some(request.covering(covers)), ..prepared };
                }
                Ok(None) => None,
                Err(output) => Some(tool_answer(call, authorised.permit().capability(), output)),
            },
            (Some(_), Some(Decision::Denied(reason))) => {
                let reason = reason.as_ref();
                Some(self.authoriser.denial_answer(call, offered, arguments, is_again, reason))
            }
            _ => None,
        };
        let plan = match answer {
            Some(answer) => Plan::Answer(answer),
            None if self.is_approved(run, index) => self.as_approved(call, prepared.plan),
            None => prepared.plan,
        };
        Prepared { plan, ..prepared }
    }

    /// Returns the arguments for the approval; `None` in a replay of a call that needed no
    /// approval.
    async fn proposal(
        &self,
        index: usize,
        call: &ToolCall,
        offered: &Offered,
        arguments: &Value,
    ) -> Result<Option<Value>, ToolOutput> {
        let Some(needs) = &offered.entry.needs else { return Ok(Some(arguments.clone())) };
        if let Some(recording) = &self.recording {
            return Ok(recording.was_asked(call).then(|| arguments.clone()));
        }
        let is_next = index == self.progress.answers.len() && self.progress.is_asked;
        if let Some(proposal) = self.progress.proposal.as_ref().filter(|_| is_next) {
            let shown = proposal.shown_arguments(arguments).cloned();
            return shown.map(Some).ok_or_else(|| ToolOutput::error(json!({ "error": NOT_WHOLE })));
        }
        let proposal = needs.proposal(arguments, self.authoriser.authority()).await?;
        Ok(Some(proposal.unwrap_or_else(|| arguments.clone())))
    }

    /// Returns `true` if the operator was asked about the call, which is the next one, and approved it.
    fn is_approved(&self, run: &Run, index: usize) -> bool {
        index == self.progress.answers.len()
            && run.decision(index).is_some_and(Decision::is_approval)
    }

    /// An approved call with the arguments that the operator was shown, and with no others.
    ///
    /// The record of a question may hold less than the operator was shown, so that its digest decides. Only an operation has a
    /// question about other arguments than those of its call.
    fn as_approved<'b>(&self, call: &ToolCall, plan: Plan<'b>) -> Plan<'b> {
        let Some(proposal) = &self.progress.proposal else { return plan };
        let Plan::Run { offered, call: authorised } = plan else { return plan };
        let is_operation = offered.entry.needs.is_some();
        let arguments = authorised.arguments();
        let shown =
            proposal.shown_arguments(arguments).filter(|shown| is_operation || *shown == arguments);
        match shown.cloned() {
            Some(arguments) => {
                Plan::Run { offered, call: authorised.with_approved_arguments(arguments) }
            }
            None => Plan::Answer(failure_answer(call, NOT_WHOLE, &[])),
        }
    }

    /// Runs calls that may run together, each between its intent and its receipt.
    async fn run_group(
        &mut self,
        run: &Run,
        group: Vec<Prepared<'_>>,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<(), Stop> {
        check_cancelled(self.cancel)?;
        if recorder.time.left(run).is_zero() {
            return Err(Stop::Failed(recorder.time.used_up(run)));
        }
        self.record_intents(run, &group, recorder);
        let only_reads = group.iter().all(|prepared| prepared.plan.changes_nothing());
        let spawns = self.recording.is_none().then(|| SpawnCall::of(&group)).flatten();
        // A resuming process may repeat a call that only reads, so that its intent needs no wait for the disk.
        if !only_reads || spawns.is_some() {
            recorder.sync().await?;
        }
        if let Some(call) = spawns {
            let span = group.first().map_or_else(Span::none, telemetry::tool);
            return self.spawn(run, call, span, recorder, accountant).await;
        }
        let (answers, interrupted) = match &self.recording {
            Some(recording) => {
                (group.into_iter().map(|it| replay_answer(it, recording)).collect(), None)
            }
            None => {
                let mut begun = Begun::new(group, self.clock);
                if only_reads && !begun.end_at_once().await {
                    // It may take long, and an answer that was paid for is not to be lost meanwhile.
                    recorder.write()?;
                }
                self.end(begun, recorder.time.left(run), recorder).await
            }
        };
        self.receive(answers, recorder);
        if !only_reads {
            recorder.write()?;
        }
        match interrupted {
            // In a replay the time is known by what is recorded until it ran out.
            None if self.recording.is_none() || !recorder.time.left(run).is_zero() => Ok(()),
            None | Some(Interruption::OutOfTime) => Err(Stop::Failed(recorder.time.used_up(run))),
            Some(Interruption::Halted(halt)) => Err(halt.into()),
        }
    }

    fn record_intents(&mut self, run: &Run, group: &[Prepared<'_>], recorder: &mut Recorder<'_>) {
        for prepared in group {
            let is_new = self.progress.intents <= prepared.index;
            // A call that is run again has its intent on record. A call that an operator approved for another run gets
            // a second intent, which shows that the decision was used. It does not cover a third run.
            if is_new || (prepared.plan.runs() && run.decision(prepared.index).is_some()) {
                recorder.emit(&prepared.intent);
                self.progress.intents = self.progress.intents.max(prepared.index + 1);
            }
        }
    }

    async fn spawn(
        &mut self,
        run: &Run,
        call: SpawnCall<'_>,
        span: Span,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<(), Stop> {
        let recorded = &mut self.progress.spawned;
        let spawn = self.children.spawn(run, call, recorded, recorder, accountant);
        let end = spawn.instrument(span.clone()).await?;
        telemetry::record_spawn(&span, end.answer.as_ref());
        drop(span);
        self.receive(end.answer, recorder);
        recorder.write()?;
        end.stop.map_or(Ok(()), Err)
    }

    /// Waits for the ends of calls that run.
    async fn end(
        &self,
        begun: Begun<'_>,
        left: Duration,
        recorder: &mut Recorder<'_>,
    ) -> (Vec<Returned>, Option<Interruption>) {
        let Ran { answers, interrupted, thought } =
            begun.wait(self.cancel, left, self.observer).await;
        recorder.exclude_wait(thought);
        (answers, interrupted)
    }

    /// Records the receipts of calls.
    fn receive(
        &mut self,
        answers: impl IntoIterator<Item = Returned>,
        recorder: &mut Recorder<'_>,
    ) {
        for answer in answers {
            let Returned { result, refusal, limit, added } = answer.clone();
            self.add_all(&added);
            let receipt = Receipt { refusal, limit, added, ..Receipt::new(result) };
            recorder.emit(&Event::ToolCallResult(receipt));
            self.progress.answers.push(answer);
            self.progress.spawned = None;
            self.progress.proposal = None;
        }
    }

    /// Returns `true` if results come from a recording.
    pub(super) fn is_replay(&self) -> bool {
        self.recording.is_some()
    }

    /// Runs the call of a hook, which may take this long, and returns its result.
    pub(super) async fn run_action(
        &self,
        prepared: Prepared<'_>,
        left: Duration,
        recorder: &mut Recorder<'_>,
    ) -> Result<Returned, Stop> {
        recorder.sync().await?;
        if let Some(recording) = &self.recording {
            return Ok(replay_answer(prepared, recording));
        }
        let call = prepared.call;
        let begun = Begun::new(vec![prepared], self.clock);
        match self.end(begun, left, recorder).await {
            (_, Some(Interruption::Halted(halt))) => Err(halt.into()),
            (answers, _) => Ok(answers
                .into_iter()
                .next()
                .unwrap_or_else(|| failure_answer(call, "the action gave nothing back", &[]))),
        }
    }
}

/// The message for the model about an approved call that cannot run as it was approved.
const NOT_WHOLE: &str = "the call was not run, because the record no longer holds the arguments that the operator was asked about; \
                         make the call again";
