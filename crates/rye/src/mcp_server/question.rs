//! One question to whoever sits at a client: what it says, and what an answer to it means.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema,
};
use rye_resolve::ItemId;
use rye_thread::{ApprovalReason, ApprovalRequest, Decision, ThreadId};
use serde::Deserialize as _;
use serde_json::Value;

use crate::hidden::hidden_characters;
use crate::primary::Operation;

/// The longest text of arguments that somebody is asked to look at, in characters: who approves has to have seen all of it.
const LONGEST_ARGUMENTS: usize = 4_000;

/// The question whether a call may run. It is in the words of the record, with nothing left out; what a model wrote stands at
/// its end, so that none of it can pass for the words of the server.
///
/// # Errors
///
/// With the reason, when it is not for people at clients, or more than they can be expected to look at.
pub(super) fn question(
    root: &ThreadId,
    directive: &ItemId,
    request: &ApprovalRequest,
) -> Result<ElicitRequest, &'static str> {
    if request.item_id == Operation::Sign.name() {
        // The text to sign is not among the arguments, and the key lends more than one call.
        return Err("what is signed with the operator's key is for the operator to look at");
    }
    let arguments = shown(&request.arguments)?;
    let ApprovalRequest { thread, item_id, sha256, reason, .. } = request;
    let below = if thread == root { String::new() } else { format!(" below thread `{root}`") };
    let why = match reason {
        ApprovalReason::Interrupted => " It began before and may have happened.",
        ApprovalReason::Escalated => " A hook wants somebody to decide.",
        ApprovalReason::Configured => "",
        _ => return Err("why the call waits cannot be told to a client"),
    };
    let item = spelled(item_id).replace('\n', "\\n");
    let message = format!(
        "Rye: may `{item}` be called, once, in thread `{thread}`{below} of directive `{directive}`?{why} The decision is recorded \
         with the SHA-256 of the arguments, {sha256}. All that follows are the arguments, as the record has them:\n\n{arguments}"
    );
    let requested_schema = schema();
    let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Ok(ElicitRequest::new(form))
}

/// Arguments as a person reads them, whole or not at all.
fn shown(arguments: &Value) -> Result<String, &'static str> {
    let text = spelled(&format!("{arguments:#}"));
    if text.chars().count() > LONGEST_ARGUMENTS {
        return Err("the arguments are too long to be looked at in a client");
    }
    Ok(text)
}

/// What the answer to a question is called.
const DECISION: &str = "decision";

/// One word out of two, neither of which is there before somebody chose it.
fn schema() -> ElicitationSchema {
    let words = EnumSchema::builder(vec!["approve".to_owned(), "deny".to_owned()])
        .title("Decision")
        .description("approve: the call runs once. deny: it does not, and the model is told.")
        .build();
    let schema = ElicitationSchema::builder().required_enum_schema(DECISION, words).build();
    schema.expect("because what is required was just added")
}

/// What an answer decides.
///
/// # Errors
///
/// With the reason, when it decides nothing.
pub(super) fn decided(answer: &ElicitResult) -> Result<Decision, &'static str> {
    match answer.action {
        ElicitationAction::Accept => {}
        ElicitationAction::Decline => return Err("whoever was asked declined to decide"),
        _ => return Err("whoever was asked went away without deciding"),
    }
    let content = answer.content.as_ref().and_then(Value::as_object);
    // One member and no more: what else a client meant to say would be lost.
    let word =
        content.filter(|content| content.len() == 1).and_then(|it| it.get(DECISION)?.as_str());
    match word {
        Some("approve") => Ok(Decision::Approved),
        Some("deny") => Ok(Decision::Denied),
        _ => Err(MALFORMED),
    }
}

/// What an answer decides that came as a value.
///
/// # Errors
///
/// With the reason, when it decides nothing.
pub(super) fn decided_by(answer: Option<&Value>) -> Result<Decision, &'static str> {
    let answer = answer.ok_or("the client gave no answer to the question")?;
    // The protocol's library reads lists of the right values as well.
    let answer = answer.as_object().ok_or(MALFORMED)?;
    decided(&ElicitResult::deserialize(answer).map_err(|_| MALFORMED)?)
}

const MALFORMED: &str = "the client's answer is none to the question";

/// A text of JSON with what a person would not see, or see in another place, as the escapes that JSON has for it.
fn spelled(text: &str) -> String {
    let mut hidden = hidden_characters(text).peekable();
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if hidden.next_if_eq(&(at, c)).is_some() || c == '\r' {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown += &format!("\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests;
