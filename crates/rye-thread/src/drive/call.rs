//! One call: what it means, whether it is allowed, and what the model is told.

use rye_caps::{Capability, Denied, Invocation, Kind, Permit, Primary};
use serde_json::{Value, json};

use super::Driver;
use crate::palette::{MISFIT, Offered, Resolved, Unresolved};
use crate::transcript::Event;
use crate::transcript::Target;
use crate::{
    ApprovalReason, ApprovalRequest, Asking, Decision, DenialReason, Effect, Needs, PaletteEntry,
    Refusal, Returned, Run, THREAD_DIRECTIVE, ToolCall, ToolOutput, ToolResult, ToolStatus,
};

/// A call before anything runs.
pub(super) struct Prepared<'a> {
    /// Its place among the calls of the turn that are run.
    pub(super) index: usize,
    pub(super) call: &'a ToolCall,
    /// The request for an approval that comes first.
    pub(super) asks: Option<ApprovalRequest>,
    pub(super) intent: Event,
    pub(super) plan: Plan<'a>,
}

pub(super) enum Plan<'a> {
    /// There is nothing to run: the answer is known.
    Answer(Returned),
    /// The permit is for this tool, and the arguments satisfy its schema.
    Run { offered: &'a Offered, permit: Permit, arguments: Value },
}

impl Prepared<'_> {
    /// Returns `true` if it may run beside other calls that only read.
    pub(super) fn may_join(&self) -> bool {
        self.asks.is_none() && self.plan.is_read_only()
    }
}

impl Plan<'_> {
    pub(super) fn runs(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Returns `true` if it changes nothing outside the thread.
    pub(super) fn changes_nothing(&self) -> bool {
        matches!(self, Self::Answer(_)) || self.is_read_only()
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self, Self::Run { offered, arguments, .. } if offered.effect(arguments) == Effect::ReadOnly)
    }
}

impl<'a> Driver<'a> {
    /// Resolves, then authorises, then validates the call; then finds out whether an approval is
    /// needed or was given.
    pub(super) async fn prepare<'b>(
        &self,
        run: &Run,
        index: usize,
        call: &'b ToolCall,
    ) -> Prepared<'b>
    where
        'a: 'b,
    {
        let prepared = self.resolved_in(self.palette, index, call);
        let Plan::Run { offered, permit, arguments } = &prepared.plan else { return prepared };
        let is_again = index < self.progress.intents;
        let why = match offered.need(arguments, &self.authority) {
            Some(need) => {
                let is_asked = need.is_ok_and(|need| need.is_asked(&offered.entry.asked));
                reason_of(&offered.entry, is_asked, is_again)
            }
            None => reason(&offered.entry, &self.needed(offered, arguments), is_again),
        };
        let covers = why.map_or_else(Vec::new, |why| self.covers(offered, arguments, why));
        let why = why.filter(|_| !self.is_approved_in_thread(offered, &covers));
        let (asks, plan) = match (why, run.decision(index)) {
            (Some(reason), None) => match self.proposal(index, call, offered, arguments).await {
                Ok(Some(proposal)) => {
                    let thread = self.recorder.journal.thread();
                    let id = &offered.entry.item_id;
                    let request = ApprovalRequest::new(thread, &call.id, id, &proposal, reason);
                    (Some(request.covering(covers)), None)
                }
                Ok(None) => (None, None),
                Err(output) => {
                    let capability = permit.capability();
                    (None, Some(returned(call, capability, output)))
                }
            },
            (Some(_), Some(Decision::Denied(reason))) => {
                (None, Some(self.denied(call, offered, arguments, is_again, reason.as_ref())))
            }
            _ => (None, None),
        };
        let plan = match (plan, prepared.plan) {
            (Some(answer), _) => Plan::Answer(answer),
            (None, plan) if self.is_approved(run, index) => self.as_approved(call, plan),
            (None, plan) => plan,
        };
        Prepared { asks, plan, ..prepared }
    }

    /// The capabilities that an approval for the rest of the thread covers. Each signature is decided by itself.
    fn covers(&self, offered: &Offered, arguments: &Value, why: ApprovalReason) -> Vec<String> {
        let entry = &offered.entry;
        let is_signature = entry.needs.is_some() && entry.asking == Asking::Always;
        if why != ApprovalReason::Configured || is_signature {
            return Vec::new();
        }
        match offered.need(arguments, &self.authority) {
            Some(need) => need.map(|need| need.capabilities()).unwrap_or_default(),
            None => {
                let needed = self.needed(offered, arguments);
                needed.iter().map(|invocation| invocation.item().to_string()).collect()
            }
        }
    }

    /// Returns `true` if the operator approved calls of this tool with these capabilities for the rest of the thread.
    fn is_approved_in_thread(&self, offered: &Offered, covers: &[String]) -> bool {
        let id = &offered.entry.item_id;
        let approved =
            |capability: &String| self.approved.contains(&(id.clone(), capability.clone()));
        !covers.is_empty() && covers.iter().all(approved)
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
        if let Some(tape) = &self.tape {
            return Ok(tape.was_asked(call).then(|| arguments.clone()));
        }
        let is_next = index == self.progress.answers.len() && self.progress.is_asked;
        if let Some(proposal) = self.progress.proposal.as_ref().filter(|_| is_next) {
            let shown = proposal.shown(arguments).cloned();
            return shown.map(Some).ok_or_else(|| ToolOutput::error(json!({ "error": NOT_WHOLE })));
        }
        let proposal = needs.proposal(arguments, &self.authority).await?;
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
        let Plan::Run { offered, permit, arguments } = plan else { return plan };
        let is_operation = offered.entry.needs.is_some();
        let shown = proposal.shown(&arguments).filter(|shown| is_operation || **shown == arguments);
        match shown.cloned() {
            Some(arguments) => Plan::Run { offered, permit, arguments },
            None => Plan::Answer(failed(call, NOT_WHOLE, &[])),
        }
    }

    /// Resolves a call of a tool of this palette and authorises it.
    pub(super) fn resolved_in<'b>(
        &self,
        palette: &'a crate::Palette,
        index: usize,
        call: &'b ToolCall,
    ) -> Prepared<'b>
    where
        'a: 'b,
    {
        let resolved = match palette.resolve(call) {
            Ok(resolved) => resolved,
            Err(unresolved) => return self.prepare_unresolved(index, call, unresolved),
        };
        let Resolved { offered, arguments } = resolved;
        let entry = &offered.entry;
        if let Some(needs) = &entry.needs {
            return self.operation(index, call, Resolved { offered, arguments }, needs.as_ref());
        }
        let needed = self.needed(offered, &arguments);
        let capability = needed.last().unwrap_or(&entry.invocation).item();
        let target = Target::new(&entry.item_id, capability.as_str(), entry.effect);
        let intent = intent(call, arguments.clone(), Some(target));
        let plan = match self.permit(&needed, &entry.invocation) {
            Err(denied) => Plan::Answer(refused(call, Refusal::of_authority(&denied))),
            Ok(permit) => match offered.problems(&arguments) {
                problems if problems.is_empty() => Plan::Run { offered, permit, arguments },
                problems => Plan::Answer(failed(call, MISFIT, &problems)),
            },
        };
        Prepared { index, call, asks: None, intent, plan }
    }

    /// Resolves a call of an operation and authorises the item that its arguments name.
    fn operation<'b>(
        &self,
        index: usize,
        call: &'b ToolCall,
        resolved: Resolved<'a>,
        needs: &dyn Needs,
    ) -> Prepared<'b>
    where
        'a: 'b,
    {
        let Resolved { offered, arguments } = resolved;
        let entry = &offered.entry;
        let need = needs.need(&arguments, &self.authority);
        let target = need
            .as_ref()
            .ok()
            .map(|need| Target::new(&entry.item_id, &need.to_string(), offered.effect(&arguments)));
        let intent = intent(call, arguments.clone(), target);
        let problems = offered.problems(&arguments);
        let plan = match need.map(|need| need.permit(&self.authority)) {
            Ok(Err(refusal)) => Plan::Answer(refused(call, refusal)),
            Ok(Ok(permit)) if problems.is_empty() => Plan::Run { offered, permit, arguments },
            Err(output) if problems.is_empty() => {
                Plan::Answer(Returned::ran(ToolResult::error(call, output.content)))
            }
            _ => Plan::Answer(failed(call, MISFIT, &problems)),
        };
        Prepared { index, call, asks: None, intent, plan }
    }

    /// Everything that the authority must allow before the call: to start a child, to execute its directive, too.
    pub(super) fn needed(&self, offered: &Offered, arguments: &Value) -> Vec<Invocation> {
        let entry = &offered.entry;
        let is_fork = self.palette.is_fork(offered);
        let own = (!is_fork).then(|| entry.invocation.clone());
        let directive = entry.children.is_some().then(|| arguments.get("directive")).flatten();
        let directive = directive.and_then(Value::as_str).and_then(|id| {
            // What is no id is refused by the schema, or when the child is prepared.
            Capability::new(Primary::Execute, Kind::Directive, id).ok()
        });
        let directive = directive.map(|directive| match is_fork {
            // The rules about the tool that starts threads hold for each other way of starting one (SPEC 9.6b).
            true => Invocation::new(directive, [starting_threads()]),
            false => Invocation::from(directive),
        });
        own.into_iter().chain(directive).collect()
    }

    /// The permit for the first of these, or for `own` where there are none, when all are allowed.
    fn permit(&self, needed: &[Invocation], own: &Invocation) -> Result<Permit, Denied> {
        let mut permits = needed.iter().map(|needed| self.authority.permit(needed));
        let first = permits.next().unwrap_or_else(|| self.authority.permit(own))?;
        permits.try_for_each(|permit| permit.map(drop))?;
        Ok(first)
    }

    /// The answer to a call that the operator did not approve.
    pub(super) fn denied(
        &self,
        call: &ToolCall,
        offered: &Offered,
        arguments: &Value,
        is_again: bool,
        reason: Option<&DenialReason>,
    ) -> Returned {
        if is_again {
            let message = "the call was stopped while it ran and is not run again; what it changed before is not undone";
            return with_reason(failed(call, message, &[]), reason);
        }
        let need = offered.need(arguments, &self.authority).and_then(Result::ok);
        let capability =
            need.map_or(offered.entry.invocation.item().to_string(), |need| need.to_string());
        let layer = "approval".to_owned();
        let message =
            format!("the operator did not approve this call of `{}`", offered.entry.item_id);
        let refused = refused(call, Refusal { capability, layer, pattern: None, message });
        with_reason(refused, reason)
    }

    /// A tool that is not in the palette is refused when the authority would, so that the model learns why.
    fn prepare_unresolved<'b>(
        &self,
        index: usize,
        call: &'b ToolCall,
        unresolved: Unresolved,
    ) -> Prepared<'b> {
        let given = call.arguments.clone().unwrap_or(Value::Null);
        let (arguments, returned) = match unresolved {
            Unresolved::Unreadable(problems) => {
                (given, failed(call, "the call cannot be read", &problems))
            }
            Unresolved::UnknownName(name) => (given, self.unknown(call, &name)),
            Unresolved::UnknownId { kind, id, arguments } => {
                (arguments, self.unknown_id(call, kind, &id))
            }
        };
        let intent = intent(call, arguments, None);
        let plan = Plan::Answer(returned);
        Prepared { index, call, asks: None, intent, plan }
    }

    fn unknown_id(&self, call: &ToolCall, kind: Kind, id: &str) -> Returned {
        let invocation = match Capability::new(Primary::Execute, kind, id) {
            Ok(capability) => Invocation::from(capability),
            Err(error) => return failed(call, &error.to_string(), &[]),
        };
        match self.authority.permit(&invocation) {
            Err(denied) => refused(call, Refusal::of_authority(&denied)),
            Ok(_) if kind == Kind::Tool => self.unknown(call, id),
            Ok(_) => failed(call, "this thread starts no other threads", &[]),
        }
    }

    fn unknown(&self, call: &ToolCall, name: &str) -> Returned {
        let known: Vec<&str> = self.palette.names().map(|(_, id)| id).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        failed(
            call,
            &format!("there is no tool `{name}` in this thread; the tools are: {known}"),
            &[],
        )
    }
}

/// Returns the reason why an approval is needed; `is_again` if the call began before and its
/// process was killed.
pub(super) fn reason(
    entry: &PaletteEntry,
    needed: &[Invocation],
    is_again: bool,
) -> Option<ApprovalReason> {
    let is_asked = needed.iter().any(|invocation| invocation.meets(&entry.asked));
    reason_of(entry, is_asked, is_again)
}

fn reason_of(entry: &PaletteEntry, is_asked: bool, is_again: bool) -> Option<ApprovalReason> {
    let is_asked = is_asked || entry.asking == Asking::Always;
    match (is_again, entry.effect) {
        (true, Effect::Once) => Some(ApprovalReason::Interrupted),
        (false, _) if is_asked => Some(ApprovalReason::Configured),
        _ => None,
    }
}

/// Returns the result of a call from the output of its tool.
pub(super) fn returned(call: &ToolCall, capability: &Capability, output: ToolOutput) -> Returned {
    match output.status {
        ToolStatus::Ok => {
            Returned::ran(ToolResult::ok(call, output.content)).with_added(output.added)
        }
        ToolStatus::Error => Returned::ran(ToolResult::error(call, output.content)),
        ToolStatus::Refused => {
            let message = words(&output.content);
            let refusal = Refusal::of_tool(capability.as_str(), &message);
            Returned::refusal(ToolResult::error(call, output.content), refusal)
        }
    }
}

/// Returns the words of a refusal: its text, or the `error` of its object, which may be a list of
/// causes.
fn words(content: &Value) -> String {
    let error = content.get("error").unwrap_or(content);
    match (error, error.get("causes").and_then(Value::as_array)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(causes)) => causes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(": "),
        _ => content.to_string(),
    }
}

/// The capability of the tool that starts threads.
fn starting_threads() -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, THREAD_DIRECTIVE)
        .expect("because the id of the shipped tool is a valid id")
}

/// Returns the event that is recorded before a call runs.
pub(super) fn intent(call: &ToolCall, arguments: Value, target: Option<Target>) -> Event {
    Event::ToolCallStart { call_id: call.id.clone(), name: call.name.clone(), arguments, target }
}

fn refused(call: &ToolCall, refusal: Refusal) -> Returned {
    Returned::refusal(ToolResult::error(call, json!({ "error": refusal.message })), refusal)
}

/// The answer with the operator's reason beside it.
fn with_reason(mut answer: Returned, reason: Option<&DenialReason>) -> Returned {
    if let Some(reason) = reason {
        answer.result.content["reason"] = json!(reason.as_str());
    }
    answer
}

/// The message for the model about an approved call that cannot run as it was approved.
const NOT_WHOLE: &str = "the call was not run, because the record no longer holds the arguments that the operator was asked about; \
                         make the call again";

pub(super) fn failed(call: &ToolCall, error: &str, problems: &[String]) -> Returned {
    let content = if problems.is_empty() {
        json!({ "error": error })
    } else {
        json!({ "error": error, "problems": problems })
    };
    Returned::ran(ToolResult::error(call, content))
}
