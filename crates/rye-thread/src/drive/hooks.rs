//! The owner of the hooks of a thread: which of them match an event, their acts in turn, and their effects on the run
//! (SPEC 10.3).

mod action;
mod conclude;
mod data;
mod due;
mod log;

use rye_types::{HookEffect, HookLayer, ThreadState};

use self::action::{action_call, in_element, injects, item, start, time_for};
pub(super) use self::conclude::{Acted, Frame, apply};
pub(super) use self::data::Occasion;
use self::data::{event_data, may_be_told};
pub(super) use self::due::Due;
pub(super) use self::log::{IN_A_TURN, Log};
use super::call::{Plan, Prepared, failure_answer};
use super::executor::CallExecutor;
use super::recorder::Recorder;
use super::stop::{Stop, check_cancelled};
use crate::transcript::Event;
use crate::transcript::payload::{Asked, Injected, Receipt, Said, Triggered};
use crate::{
    ActionTarget, ApprovalReason, ApprovalRequest, Asking, Cancel, Decision, End, Failure,
    FailureKind, Hook, HookAction, Hooks, Message, Palette, ProviderInfo, Returned, Run,
    ToolResult,
};

/// Has the hooks of a thread act at its events.
pub(super) struct HookRunner<'a> {
    hooks: &'a Hooks,
    cancel: &'a Cancel,
    /// The events whose hooks have not acted yet.
    pub(super) due: Due,
    /// The recorded acts of hooks from before the process of this thread was stopped.
    log: Log,
    /// The number of events at which hooks acted.
    evaluations: u64,
}

/// The owners that hooks act with.
pub(super) struct HookContext<'o, 'a> {
    pub(super) recorder: &'o mut Recorder<'a>,
    pub(super) executor: &'o CallExecutor<'a>,
    /// The provider that answers the thread.
    pub(super) info: &'o ProviderInfo,
}

impl<'a> HookRunner<'a> {
    pub(super) fn new(hooks: &'a Hooks, cancel: &'a Cancel) -> Self {
        Self { hooks, cancel, due: Due::default(), log: Log::default(), evaluations: 0 }
    }

    /// Continues from where earlier processes had come.
    pub(super) fn take_over(&mut self, due: Due, log: Log, evaluations: u64) {
        (self.due, self.log, self.evaluations) = (due, log, evaluations);
    }

    /// Lets hooks act between two turns.
    pub(super) async fn act_between_turns(
        &mut self,
        run: &mut Run,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<(), Stop> {
        while run.is_ready()
            && let Some(occasion) = self.next_occasion(run, context)
        {
            self.due.note_event(occasion.event(), run.turns(), occasion.failure().1);
            self.evaluate(run, &occasion, context).await?;
        }
        Ok(())
    }

    fn next_occasion(&self, run: &Run, context: &HookContext<'_, 'a>) -> Option<Occasion> {
        let due = &self.due;
        if !due.has_begun {
            return Some(Occasion::Begins(self.hooks.begins_with()));
        }
        if let Some(refusal) = due.refused.first() {
            return Some(Occasion::of_refusal(refusal));
        }
        if let Some(hit) = due.limited.first() {
            return Some(Occasion::of_limit(hit));
        }
        if due.step {
            return Some(Occasion::Step);
        }
        let is_measured = due.measured == run.turns();
        (!is_measured && context.is_nearly_full(run)).then_some(Occasion::ContextLimit(None))
    }

    /// Lets hooks act before a run that has ended is recorded as such.
    pub(super) async fn act_before_the_end(
        &mut self,
        run: &mut Run,
        end: &End,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<(), Stop> {
        if let Some(failure) = self.due.overflow(run, end) {
            self.due.overflow = true;
            self.evaluate(run, &Occasion::ContextLimit(Some(failure)), context).await?;
            return Ok(());
        }
        if let End::Failed(failure) = end
            && may_be_told(failure)
            && self.due.failure.as_ref() != Some(failure)
        {
            self.due.failure = Some(failure.clone());
            self.evaluate(run, &Occasion::Fails(failure.clone()), context).await?;
            if !run.has_ended() {
                self.due.failure = None;
            }
            return Ok(());
        }
        let state = match end {
            End::Completed { .. } => ThreadState::Completed,
            End::Failed(failure) if may_be_told(failure) => ThreadState::Error,
            _ => ThreadState::Cancelled,
        };
        if state != ThreadState::Cancelled && !self.due.has_ended {
            self.due.has_ended = true;
            self.evaluate(run, &Occasion::Completed(state), context).await?;
        }
        Ok(())
    }

    /// Has the hooks of an event act, and does to the run what they decide.
    ///
    /// Gives back why outputs are not accepted, where hooks decide so.
    pub(super) async fn evaluate(
        &mut self,
        run: &mut Run,
        occasion: &Occasion,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<Option<String>, Stop> {
        let event = occasion.event();
        if !self.hooks.listens(event) {
            return Ok(None);
        }
        let data = event_data(self.hooks, run, occasion, context);
        let mut matching = self.hooks.matching(event, &data);
        matching.retain(|hook| self.due.is_news(occasion, hook));
        if matching.is_empty() {
            return Ok(None);
        }
        self.evaluations += 1;
        let mut frames = Vec::new();
        let mut is_decided = false;
        for hook in matching {
            if is_decided && hook.layer != HookLayer::Infrastructure {
                continue;
            }
            let triggered = trigger(hook, occasion, self.evaluations, &data);
            let mut frame = Frame::new(triggered.clone());
            self.record(&Event::HookTriggered(triggered), context.recorder)?;
            self.act_all(run, hook, &mut frame, frames.len(), context).await?;
            if !is_decided && frame.decides(run) {
                is_decided = true;
                self.escalate(&mut frame, context).await?;
            }
            frames.push(frame);
        }
        let before = run.messages().len();
        let unwanted = apply(run, &frames).map_err(Stop::from)?;
        self.due.note_actions(run, &frames);
        record_texts(context.recorder, run, before, &frames);
        Ok(unwanted)
    }

    /// Has the operator decide, if the hook asks for it and there is no decision yet.
    async fn escalate(
        &mut self,
        frame: &mut Frame,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<(), Stop> {
        if frame.triggered.effect != Some(HookEffect::Escalate) {
            return Ok(());
        }
        if let Some(said) = self.due.earlier_decision(frame).filter(|_| !self.log.is_asked()) {
            frame.decision = Some(said);
            return Ok(());
        }
        let id = format!("hook-{}", frame.triggered.evaluation);
        let item = format!("hook {} at {}", frame.triggered.hook, frame.triggered.event);
        let reason = ApprovalReason::Escalated;
        let thread = context.recorder.journal.thread();
        let request = ApprovalRequest::new(thread, &id, &item, &frame.triggered.data, reason);
        frame.decision = Some(self.decide(request, context).await?);
        Ok(())
    }

    /// Runs the actions in order, up to one that fails.
    async fn act_all(
        &mut self,
        run: &Run,
        hook: &Hook,
        frame: &mut Frame,
        place: usize,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<(), Stop> {
        for (index, action) in hook.actions.iter().enumerate() {
            let id = format!("hook-{}-{}-{}", frame.triggered.evaluation, place + 1, index + 1);
            let palette = self.palette_of(action, context);
            let (call, missing) = action_call(&id, action, &frame.triggered.data, palette);
            let mut prepared = context.executor.authoriser.authorise(palette, 0, &call);
            if let Some(missing) = missing {
                let answer = failure_answer(&call, "the event has no such data", &missing);
                prepared.plan = Plan::Answer(answer);
            }
            let result = self.act(run, hook, action, prepared, context).await?;
            let injects = injects(hook.event, action);
            frame.acted.push(Acted::new(item(action), injects, result));
            if frame.acted.last().is_some_and(|acted| acted.result.is_error) {
                break;
            }
        }
        Ok(())
    }

    /// The palette that the action's name stands in.
    fn palette_of(&self, action: &HookAction, context: &HookContext<'_, 'a>) -> &'a Palette {
        match action.target {
            ActionTarget::Text(_) => self.hooks.texts(),
            ActionTarget::Tool(_) => context.executor.authoriser.palette,
        }
    }

    async fn act(
        &mut self,
        run: &Run,
        hook: &Hook,
        action: &HookAction,
        mut prepared: Prepared<'_>,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<ToolResult, Stop> {
        self.approve(&mut prepared, Asking::Always, context).await?;
        let start = start(hook, action, &prepared);
        // What was begun before and has no receipt may have happened: each further run of it is decided on by itself.
        while self.record(&start, context.recorder)? {
            if let Some(result) = self.log.receipt() {
                return Ok(result);
            }
            let asked = self.approve(&mut prepared, Asking::Never, context).await?;
            if let Some(result) = self.log.receipt() {
                return Ok(result);
            }
            if !asked.is_some_and(|decision| decision.is_approval()) {
                break;
            }
        }
        check_cancelled(self.cancel)?;
        let left = time_for(hook.event, context.recorder.time.left(run));
        let returned = context.executor.run_action(prepared, left, context.recorder).await?;
        let Returned { mut result, refusal, .. } = returned;
        if !context.executor.is_replay() {
            result = in_element(hook.event, action, result);
        }
        let hook = Some(hook.id.clone());
        let receipt = Receipt { hook, refusal, ..Receipt::new(result.clone()) };
        context.recorder.emit(&Event::ToolCallResult(receipt));
        Ok(result)
    }

    /// Has the operator decide on the call: `Always` asks as configured, `Never` because it began
    /// before.
    ///
    /// Returns the decision, if one was needed.
    async fn approve(
        &mut self,
        prepared: &mut Prepared<'_>,
        asking: Asking,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<Option<Decision>, Stop> {
        let Plan::Run { offered, call } = &prepared.plan else { return Ok(None) };
        let arguments = call.arguments();
        let is_again = asking == Asking::Never;
        let authoriser = &context.executor.authoriser;
        let Some(why) = authoriser.reason(offered, arguments, is_again) else { return Ok(None) };
        let thread = context.recorder.journal.thread();
        let id = &offered.entry.item_id;
        let request = ApprovalRequest::new(thread, &prepared.call.id, id, arguments, why);
        let decision = self.decide(request, context).await?;
        if let Decision::Denied(reason) = &decision {
            let reason = reason.as_ref();
            let answer =
                authoriser.denial_answer(prepared.call, offered, arguments, is_again, reason);
            prepared.plan = Plan::Answer(answer);
        }
        Ok(Some(decision))
    }

    /// Records the question, waits for the decision, and records it.
    async fn decide(
        &mut self,
        request: ApprovalRequest,
        context: &mut HookContext<'_, 'a>,
    ) -> Result<Decision, Stop> {
        check_cancelled(self.cancel)?;
        if !self.log.take_question() {
            context.recorder.emit(&Event::ApprovalRequested(Asked::of(&request)));
            context.recorder.seal().await?;
        }
        if let Some(decision) = self.log.decision() {
            return Ok(decision);
        }
        context.executor.decide(request, context.recorder).await
    }

    /// Records an event of a hook, unless an earlier process did. Then it returns `true`.
    fn record(&mut self, event: &Event, recorder: &mut Recorder<'_>) -> Result<bool, Stop> {
        let taken = self.log.take(event);
        let is_recorded =
            taken.map_err(|problem| Stop::Failed(Failure::new(FailureKind::Storage, &problem)))?;
        if !is_recorded {
            recorder.emit(event);
        }
        Ok(is_recorded)
    }
}

impl HookContext<'_, '_> {
    /// Returns `true` if the conversation fills nine tenths of the window. A limit that is reached
    /// comes first (SPEC 10.10).
    fn is_nearly_full(&self, run: &Run) -> bool {
        let window = u128::from(self.info.context_window);
        let tokens = u128::from(run.context_estimate());
        let is_full = window > 0 && window * 9 <= tokens * 10;
        is_full && run.limit_reached(self.recorder.time.elapsed()).is_none()
    }
}

/// Records what the user's side of the conversation got, and from which hooks.
pub(super) fn record_texts(
    recorder: &mut Recorder<'_>,
    run: &Run,
    before: usize,
    frames: &[Frame],
) {
    for message in run.messages().iter().skip(before) {
        let Message::User { text } = message else { continue };
        let by = frames.iter().find_map(|frame| {
            let acted = frame.acted.iter().find(|acted| acted.text() == Some(text))?;
            Some((&frame.triggered.hook, &acted.item))
        });
        if let Some((hook, item)) = by {
            let digest = rye_sign::Digest::of(text.as_bytes()).to_string();
            let injected = Injected::new(Some(item), IN_A_TURN, &digest).by_hook(hook);
            recorder.emit(&Event::ContextInjected(injected));
        }
        recorder.emit(&Event::UserMessage(Said { text: text.clone() }));
    }
}

fn trigger(
    hook: &Hook,
    occasion: &Occasion,
    evaluation: u64,
    data: &serde_json::Value,
) -> Triggered {
    let (failure, is_final) = occasion.failure();
    Triggered {
        evaluation,
        event: hook.event,
        hook: hook.id.clone(),
        declared_by: hook.declared_by.clone(),
        layer: hook.layer.number(),
        effect: hook.effect,
        failure: failure.cloned(),
        is_final,
        data: data.clone(),
    }
}
