//! One call: what it means, whether it is allowed, and what the model is told.

use rye_caps::{Capability, Denied, Kind, Permit, Primary};
use serde_json::{Value, json};

use super::Driver;
use crate::palette::{MISFIT, Offered, Resolved, Unresolved};
use crate::transcript::Event;
use crate::transcript::Target;
use crate::{
    ApprovalReason, ApprovalRequest, Asking, Decision, Effect, Needs, PaletteEntry, Refusal,
    Returned, Run, ToolCall, ToolOutput, ToolResult, ToolStatus,
};

/// A call before anything runs.
pub(super) struct Prepared<'a> {
    /// Its place among the calls of the turn that are run.
    pub(super) index: usize,
    pub(super) call: &'a ToolCall,
    /// What somebody must approve first.
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
    /// Whether it may run beside other calls that only read.
    pub(super) fn may_join(&self) -> bool {
        self.asks.is_none() && self.plan.is_read_only()
    }
}

impl Plan<'_> {
    pub(super) fn runs(&self) -> bool {
        matches!(self, Self::Run { .. })
    }

    /// Whether nothing outside of the thread is changed by it.
    pub(super) fn changes_nothing(&self) -> bool {
        matches!(self, Self::Answer(_)) || self.is_read_only()
    }

    pub(super) fn is_read_only(&self) -> bool {
        matches!(self, Self::Run { offered, .. } if offered.entry.effect == Effect::ReadOnly)
    }
}

impl<'a> Driver<'a> {
    /// Resolve, then authorise, then validate; then see whether somebody must be asked, or has decided.
    pub(super) fn prepare<'b>(&self, run: &Run, index: usize, call: &'b ToolCall) -> Prepared<'b>
    where
        'a: 'b,
    {
        let prepared = self.resolved_in(self.context.palette, index, call);
        let Plan::Run { offered, arguments, .. } = &prepared.plan else { return prepared };
        let is_again = index < self.progress.intents;
        let why = match offered.need(arguments) {
            Some(need) => {
                let is_asked = need.is_ok_and(|need| need.is_asked(&offered.entry.asked));
                reason_of(&offered.entry, is_asked, is_again)
            }
            None => reason(&offered.entry, &self.needed(offered, arguments), is_again),
        };
        let (asks, plan) = match (why, run.decision(index)) {
            (Some(reason), None) => {
                let thread = self.context.journal.thread();
                let id = &offered.entry.item_id;
                (Some(ApprovalRequest::new(thread, &call.id, id, arguments, reason)), None)
            }
            (Some(_), Some(Decision::Denied)) => (None, Some(denied(call, offered, is_again))),
            _ => (None, None),
        };
        Prepared { asks, plan: plan.map_or(prepared.plan, Plan::Answer), ..prepared }
    }

    /// What a call of a tool of this palette means, and whether it may run.
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
        let capability = needed.last().unwrap_or(&entry.capability);
        let target = Target::new(&entry.item_id, capability.as_str(), entry.effect);
        let intent = intent(call, arguments.clone(), Some(target));
        let plan = match self.permit(&needed, &entry.capability) {
            Err(denied) => Plan::Answer(refused(call, Refusal::of_authority(&denied))),
            Ok(permit) => match offered.problems(&arguments) {
                problems if problems.is_empty() => Plan::Run { offered, permit, arguments },
                problems => Plan::Answer(failed(call, MISFIT, &problems)),
            },
        };
        Prepared { index, call, asks: None, intent, plan }
    }

    /// What a call of an operation means, and whether its arguments name something that is allowed.
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
        let (entry, need) = (&offered.entry, needs.need(&arguments));
        let target = need
            .as_ref()
            .ok()
            .map(|need| Target::new(&entry.item_id, &need.to_string(), entry.effect));
        let intent = intent(call, arguments.clone(), target);
        let problems = offered.problems(&arguments);
        let plan = match need.map(|need| need.permit(self.context.authority)) {
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
    fn needed(&self, offered: &Offered, arguments: &Value) -> Vec<Capability> {
        let entry = &offered.entry;
        let own = (!self.context.palette.is_fork(offered)).then(|| entry.capability.clone());
        let directive = entry.children.is_some().then(|| arguments.get("directive")).flatten();
        let directive = directive.and_then(Value::as_str).and_then(|id| {
            // What is no id is refused by the schema, or when the child is prepared.
            Capability::new(Primary::Execute, Kind::Directive, id).ok()
        });
        own.into_iter().chain(directive).collect()
    }

    /// The permit for the first of these, or for `own` where there are none, when all are allowed.
    fn permit(&self, needed: &[Capability], own: &Capability) -> Result<Permit, Denied> {
        let mut permits = needed.iter().map(|needed| self.context.authority.permit(needed));
        let first = permits.next().unwrap_or_else(|| self.context.authority.permit(own))?;
        permits.try_for_each(|permit| permit.map(drop))?;
        Ok(first)
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
            Unresolved::UnknownId { id, arguments } => (arguments, self.unknown_id(call, &id)),
        };
        let (intent, plan) = (intent(call, arguments, None), Plan::Answer(returned));
        Prepared { index, call, asks: None, intent, plan }
    }

    fn unknown_id(&self, call: &ToolCall, id: &str) -> Returned {
        let capability = match Capability::new(Primary::Execute, Kind::Tool, id) {
            Ok(capability) => capability,
            Err(error) => return failed(call, &error.to_string(), &[]),
        };
        match self.context.authority.permit(&capability) {
            Err(denied) => refused(call, Refusal::of_authority(&denied)),
            Ok(_) => self.unknown(call, id),
        }
    }

    fn unknown(&self, call: &ToolCall, name: &str) -> Returned {
        let known: Vec<&str> = self.context.palette.names().map(|(_, id)| id).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        failed(
            call,
            &format!("there is no tool `{name}` in this thread; the tools are: {known}"),
            &[],
        )
    }
}

/// Why somebody must be asked; `is_again` when the call began before and its program was killed.
pub(super) fn reason(
    entry: &PaletteEntry,
    needed: &[Capability],
    is_again: bool,
) -> Option<ApprovalReason> {
    let is_asked = needed.iter().any(|capability| entry.asked.allows(capability));
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

pub(super) fn denied(call: &ToolCall, offered: &Offered, is_again: bool) -> Returned {
    if is_again {
        let message = "the call was stopped while it ran and is not run again; what it changed before is not undone";
        return failed(call, message, &[]);
    }
    let need = call.arguments.as_ref().ok().and_then(|arguments| offered.need(arguments)?.ok());
    let capability = need.map_or(offered.entry.capability.to_string(), |need| need.to_string());
    let layer = "approval".to_owned();
    let message = format!("the operator did not approve this call of `{}`", offered.entry.item_id);
    refused(call, Refusal { capability, layer, pattern: None, message })
}

/// What a call of a tool comes to.
pub(super) fn returned(call: &ToolCall, capability: &Capability, output: ToolOutput) -> Returned {
    match output.status {
        ToolStatus::Ok => Returned::ran(ToolResult::ok(call, output.content)),
        ToolStatus::Error => Returned::ran(ToolResult::error(call, output.content)),
        ToolStatus::Refused => {
            let message = words(&output.content);
            let refusal = Refusal::of_tool(capability.as_str(), &message);
            Returned::refused(ToolResult::error(call, output.content), refusal)
        }
    }
}

/// What a refusal says: its text, or the `error` of its object, which may be a list of causes.
fn words(content: &Value) -> String {
    let error = content.get("error").unwrap_or(content);
    match (error, error.get("causes").and_then(Value::as_array)) {
        (Value::String(text), _) => text.clone(),
        (_, Some(causes)) => causes.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(": "),
        _ => content.to_string(),
    }
}

/// What the transcript says before a call runs.
pub(super) fn intent(call: &ToolCall, arguments: Value, target: Option<Target>) -> Event {
    Event::ToolCallStart { call_id: call.id.clone(), name: call.name.clone(), arguments, target }
}

fn refused(call: &ToolCall, refusal: Refusal) -> Returned {
    Returned::refused(ToolResult::error(call, json!({ "error": refusal.message })), refusal)
}

pub(super) fn failed(call: &ToolCall, error: &str, problems: &[String]) -> Returned {
    let content = if problems.is_empty() {
        json!({ "error": error })
    } else {
        json!({ "error": error, "problems": problems })
    };
    Returned::ran(ToolResult::error(call, content))
}
