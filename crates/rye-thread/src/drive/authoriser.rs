//! The authoriser of a thread's calls: which tool a call means, and whether the authority and the operator allow it.

use std::collections::BTreeSet;

use rye_caps::{Authority, Capability, Denied, Invocation, Kind, Permit, Primary};
use rye_parse::{did_you_mean, nearest_name};
use rye_types::Effect;
use serde_json::Value;

use super::call::{Plan, Prepared, failure_answer, intent, refusal_answer, with_reason};
use crate::palette::{MISFIT, Offered, Resolved, Unresolved, bare_name, words};
use crate::transcript::payload::Target;
use crate::{
    AddedItem, ApprovalReason, ApprovalRequest, Asking, DenialReason, Needs, Palette, Refusal,
    Returned, THREAD_DIRECTIVE, ToolCall, ToolResult, ToolSpec, WithheldTool,
};

/// Resolves calls to tools of the palette, authorises them and validates their arguments, in this order.
pub(super) struct Authoriser<'a> {
    pub(super) palette: &'a Palette,
    /// The names of the functions that the model is offered.
    functions: Vec<String>,
    /// The authority of the thread by now: that of its beginning, under every item that a call added.
    authority: Authority,
    /// The item and capability of each call that the operator approved for the rest of the thread.
    approved: BTreeSet<(String, String)>,
}

/// The reason why a call needs an approval, and the capabilities that an approval for the rest of the thread covers.
pub(super) struct NeededApproval {
    pub(super) reason: ApprovalReason,
    pub(super) covers: Vec<String>,
}

impl<'a> Authoriser<'a> {
    pub(super) fn new(palette: &'a Palette, authority: &Authority, offered: &[ToolSpec]) -> Self {
        let functions = offered.iter().map(|spec| spec.name.clone()).collect();
        Self { palette, functions, authority: authority.clone(), approved: BTreeSet::new() }
    }

    /// Returns the authority of the thread by now.
    pub(super) fn authority(&self) -> &Authority {
        &self.authority
    }

    /// Bounds all further calls by an item that a call added to the conversation.
    pub(super) fn narrow(&mut self, item: &AddedItem) {
        self.authority = item.narrow(&self.authority);
    }

    /// Takes over the approvals that earlier processes recorded.
    pub(super) fn take_over(&mut self, approved: BTreeSet<(String, String)>) {
        self.approved = approved;
    }

    /// Approves calls like this one for the rest of the thread.
    pub(super) fn approve_in_thread(&mut self, request: &ApprovalRequest) {
        self.approved.extend(approved_in_thread(request));
    }

    /// Resolves a call of a tool of this palette and authorises it.
    pub(super) fn authorise<'b>(
        &self,
        palette: &'a Palette,
        index: usize,
        call: &'b ToolCall,
    ) -> Prepared<'b>
    where
        'a: 'b,
    {
        let resolved = match palette.resolve(call) {
            Ok(resolved) => resolved,
            Err(unresolved) => return self.answer_unresolved(index, call, unresolved),
        };
        let Resolved { offered, arguments } = resolved;
        let entry = &offered.entry;
        if let Some(needs) = &entry.needs {
            return self.authorise_operation(
                index,
                call,
                Resolved { offered, arguments },
                needs.as_ref(),
            );
        }
        let needed = self.needed_invocations(offered, &arguments);
        let capability = needed.last().unwrap_or(&entry.invocation).item();
        let target = Target::new(&entry.item_id, capability.as_str(), entry.effect);
        let intent = intent(call, arguments.clone(), Some(target));
        let plan = match self.permit(&needed, &entry.invocation) {
            Err(denied) => Plan::Answer(refusal_answer(call, Refusal::of_authority(&denied))),
            Ok(permit) => plan(call, offered, permit, arguments),
        };
        Prepared { index, call, asks: None, intent, plan }
    }

    /// Authorises a call of an operation for the item that its arguments name.
    fn authorise_operation<'b>(
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
        let plan = match need.map(|need| need.permit(&self.authority)) {
            Ok(Err(refusal)) => Plan::Answer(refusal_answer(call, refusal)),
            Ok(Ok(permit)) => plan(call, offered, permit, arguments),
            Err(output) => match offered.problems(&arguments) {
                problems if problems.is_empty() => {
                    Plan::Answer(Returned::ran(ToolResult::error(call, output.content)))
                }
                problems => Plan::Answer(failure_answer(call, MISFIT, &problems)),
            },
        };
        Prepared { index, call, asks: None, intent, plan }
    }

    /// Returns everything that the authority must allow before the call. To start a child, it must allow to execute the child's
    /// directive, too.
    fn needed_invocations(&self, offered: &Offered, arguments: &Value) -> Vec<Invocation> {
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

    /// Returns the reason why a call needs an approval. `is_again` says that the call began before, and that its process was
    /// killed.
    pub(super) fn reason(
        &self,
        offered: &Offered,
        arguments: &Value,
        is_again: bool,
    ) -> Option<ApprovalReason> {
        let entry = &offered.entry;
        let is_asked = entry.asking == Asking::Always
            || match offered.need(arguments, &self.authority) {
                Some(need) => need.is_ok_and(|need| need.is_asked(&entry.asked)),
                None => {
                    let needed = self.needed_invocations(offered, arguments);
                    needed.iter().any(|invocation| invocation.meets(&entry.asked))
                }
            };
        match (is_again, entry.effect) {
            (true, Effect::Once) => Some(ApprovalReason::Interrupted),
            (false, _) if is_asked => Some(ApprovalReason::Configured),
            _ => None,
        }
    }

    /// Returns the approval that a call needs, unless the operator gave it for the rest of the thread.
    pub(super) fn needed_approval(
        &self,
        offered: &Offered,
        arguments: &Value,
        is_again: bool,
    ) -> Option<NeededApproval> {
        let reason = self.reason(offered, arguments, is_again)?;
        let covers = self.covers(offered, arguments, reason);
        let id = &offered.entry.item_id;
        let approved =
            |capability: &String| self.approved.contains(&(id.clone(), capability.clone()));
        let is_approved = !covers.is_empty() && covers.iter().all(approved);
        (!is_approved).then_some(NeededApproval { reason, covers })
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
                let needed = self.needed_invocations(offered, arguments);
                needed.iter().map(|invocation| invocation.item().to_string()).collect()
            }
        }
    }

    /// The answer to a call that the operator did not approve.
    pub(super) fn denial_answer(
        &self,
        call: &ToolCall,
        offered: &Offered,
        arguments: &Value,
        is_again: bool,
        reason: Option<&DenialReason>,
    ) -> Returned {
        if is_again {
            let message = "the call was stopped while it ran and is not run again; what it changed before is not undone";
            return with_reason(failure_answer(call, message, &[]), reason);
        }
        let need = offered.need(arguments, &self.authority).and_then(Result::ok);
        let capability =
            need.map_or(offered.entry.invocation.item().to_string(), |need| need.to_string());
        let message =
            format!("the operator did not approve this call of `{}`", offered.entry.item_id);
        let refused = refusal_answer(call, Refusal::new(&capability, "approval", None, &message));
        with_reason(refused, reason)
    }

    /// Refuses a call that means no tool of the palette when the authority would, so that the model learns why.
    fn answer_unresolved<'b>(
        &self,
        index: usize,
        call: &'b ToolCall,
        unresolved: Unresolved,
    ) -> Prepared<'b> {
        let given = call.arguments.clone().unwrap_or(Value::Null);
        let (arguments, returned) = match unresolved {
            Unresolved::Unreadable(problems) => {
                (given, failure_answer(call, "the call cannot be read", &problems))
            }
            Unresolved::UnknownName(name) => {
                let refused = self.refuse_withheld(call, &name);
                (given, refused.unwrap_or_else(|| self.unknown(call, &name)))
            }
            Unresolved::UnknownId { kind, id, arguments } => {
                let is_tool = kind == Kind::Tool;
                let refused = is_tool.then(|| self.refuse_withheld(call, &id)).flatten();
                (arguments, refused.unwrap_or_else(|| self.unknown_id(call, kind, &id)))
            }
        };
        let intent = intent(call, arguments, None);
        let plan = Plan::Answer(returned);
        Prepared { index, call, asks: None, intent, plan }
    }

    /// Refuses a tool that exists and is not offered, by the name of its function or by its id. `None` for all others.
    fn refuse_withheld(&self, call: &ToolCall, name: &str) -> Option<Returned> {
        let WithheldTool { invocation, reason, .. } = self.palette.withheld(name)?;
        let refusal = match (self.authority.permit(invocation), reason) {
            (Err(denied), _) => Refusal::of_authority(&denied),
            (Ok(_), Some(reason)) => {
                Refusal::new(invocation.item().as_str(), "offer", None, reason)
            }
            (Ok(_), None) => return None,
        };
        Some(refusal_answer(call, refusal))
    }

    fn unknown_id(&self, call: &ToolCall, kind: Kind, id: &str) -> Returned {
        let invocation = match Capability::new(Primary::Execute, kind, id) {
            Ok(capability) => Invocation::from(capability),
            Err(error) => return failure_answer(call, &error.to_string(), &[]),
        };
        match self.authority.permit(&invocation) {
            Err(denied) => refusal_answer(call, Refusal::of_authority(&denied)),
            Ok(_) if kind == Kind::Tool => self.unknown(call, id),
            Ok(_) => failure_answer(call, "this thread starts no other threads", &[]),
        }
    }

    fn unknown(&self, call: &ToolCall, name: &str) -> Returned {
        let known = match self.functions.as_slice() {
            [] => "none".to_owned(),
            functions => functions.join(", "),
        };
        let meant = did_you_mean(self.nearest(name));
        let message =
            format!("there is no tool `{name}` in this thread; the tools are: {known}{meant}");
        failure_answer(call, &message, &[])
    }

    /// Returns the function that was probably meant: the nearest by its letters, or the shortest that has all words of
    /// the name.
    fn nearest(&self, name: &str) -> Option<&str> {
        let bare = bare_name(name);
        let functions = || self.functions.iter().map(String::as_str);
        nearest_name(bare, functions()).or_else(|| {
            let given = words(bare);
            let has_all = |function: &&str| {
                let known = words(function);
                !given.is_empty() && given.iter().all(|word| known.contains(word))
            };
            functions().filter(has_all).min_by_key(|function| function.len())
        })
    }
}

/// Returns the plan for a permitted call, which runs if its arguments fit.
fn plan<'a>(call: &ToolCall, offered: &'a Offered, permit: Permit, arguments: Value) -> Plan<'a> {
    match offered.authorise(permit, arguments) {
        Ok(call) => Plan::Run { offered, call },
        Err(problems) => Plan::Answer(failure_answer(call, MISFIT, &problems)),
    }
}

/// The item and capability of each call that needs no further decision in the thread.
pub(super) fn approved_in_thread(
    request: &ApprovalRequest,
) -> impl Iterator<Item = (String, String)> {
    request.covers.iter().map(|capability| (request.item_id.clone(), capability.clone()))
}

/// The capability of the tool that starts threads.
fn starting_threads() -> Capability {
    Capability::new(Primary::Execute, Kind::Tool, THREAD_DIRECTIVE)
        .expect("because the id of the shipped tool is a valid id")
}
