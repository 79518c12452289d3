//! Questions to the person at a client: the text of a question, and the meaning of its answer.

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    EnumSchema,
};
use rye_parse::hidden_characters;
use rye_project::primary::Operation;
use rye_thread::{ApprovalReason, ApprovalRequest, Decision, ThreadId};
use serde::Deserialize as _;
use serde_json::Value;

use crate::session::Waiting;

/// The longest text of arguments that a question shows, in characters. The person must see all of
/// the arguments before approving them.
const LONGEST_ARGUMENTS: usize = 4_000;

/// As many lines of them: what is far below is not looked at.
const MOST_LINES: usize = 60;

/// As far to the right a line of them may begin.
const DEEPEST: usize = 40;

/// The most spaces in a row that are shown as they are. More are escaped, because text behind many of them is overlooked.
const MOST_SPACES: usize = 8;

/// Returns the question about a call. It has the words of the record, with nothing left out. Text of a model
/// comes at its end, so that none of it can pass for the words of the server.
///
/// # Errors
///
/// The function returns the reason if the call is not for people at clients, or is more than they can be
/// expected to look at.
pub(super) fn question(root: &ThreadId, waiting: &Waiting) -> Result<ElicitRequest, &'static str> {
    let ApprovalRequest { thread, item_id, sha256, arguments, .. } = waiting.request();
    if *item_id == Operation::Sign.name() {
        // The text to sign is not among the arguments, and the key lends more than one call.
        return Err("what is signed with the operator's key is for the operator to look at");
    }
    let arguments = block(&show_arguments(arguments)?);
    let place = match waiting.is_below() {
        _ if thread == root => String::new(),
        true => format!(" below thread {},", code(root.as_str())),
        false => format!(", which goes on with thread {},", code(root.as_str())),
    };
    let why = why(waiting.request())?;
    let item = code(item_id);
    let thread = code(thread.as_str());
    let directive = code(waiting.directive());
    let message = format!(
        "Rye: may {item} be called, once, in thread {thread}{place} of directive {directive}? It is asked because {why}. The decision is recorded \
         with the SHA-256 of the arguments, {sha256}. All that follows are the arguments, as the record has them:\n\n{arguments}"
    );
    let requested_schema = schema();
    let form = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
    Ok(ElicitRequest::new(form))
}

/// Returns the reason why the call waits, if a client's person may decide about it.
fn why(request: &ApprovalRequest) -> Result<String, &'static str> {
    match request.reason {
        ApprovalReason::Interrupted | ApprovalReason::Configured => Ok(request.why()),
        // The effect of an approval depends on the hook's event: it may raise a limit.
        ApprovalReason::Escalated => Err("what a hook asks is for the operator to look at"),
        _ => Err("why the call waits cannot be told to a client"),
    }
}

/// Arguments as a person reads them, whole or not at all.
fn show_arguments(arguments: &Value) -> Result<String, &'static str> {
    let text = escape_hidden(&format!("{arguments:#}"));
    let lines: Vec<(&str, String)> = text.lines().map(split_indent).collect();
    let is_deep = lines.iter().any(|(indent, _)| DEEPEST < indent.len());
    let text = lines.iter().map(|(indent, rest)| format!("{indent}{rest}"));
    let text = text.collect::<Vec<_>>().join("\n");
    if MOST_LINES < lines.len() || is_deep || LONGEST_ARGUMENTS < text.chars().count() {
        return Err("the arguments are too long to be looked at in a client");
    }
    Ok(text)
}

/// The indentation of a line of JSON, and what follows, with long runs of spaces spelled: these are in strings alone.
fn split_indent(line: &str) -> (&str, String) {
    let rest = line.trim_start_matches(' ');
    let (indent, _) = line.split_at(line.len() - rest.len());
    let mut shown = String::with_capacity(rest.len());
    let mut run = 0;
    // No line of JSON ends in a space.
    for c in rest.chars() {
        if c == ' ' {
            run += 1;
            continue;
        }
        shown += &if MOST_SPACES < run { "\\u0020" } else { " " }.repeat(run);
        shown.push(c);
        run = 0;
    }
    (indent, shown)
}

/// A text as code, in whatever way a client shows texts: nothing in it ends the code.
fn code(text: &str) -> String {
    let text = escape_hidden(text).replace('\n', "\\n");
    let ticks = "`".repeat(longest_ticks(&text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    format!("{ticks}{space}{text}{space}{ticks}")
}

/// The same for several lines.
fn block(text: &str) -> String {
    let fence = "`".repeat(3.max(longest_ticks(text) + 1));
    format!("{fence}json\n{text}\n{fence}")
}

fn longest_ticks(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

/// The name of the answer in the form.
const DECISION: &str = "decision";

/// Returns the schema of the answer: one word out of two, neither of which is chosen beforehand.
fn schema() -> ElicitationSchema {
    let words = EnumSchema::builder(vec!["approve".to_owned(), "deny".to_owned()])
        .title("Decision")
        .description("approve: the call runs once. deny: it does not, and the model is told.")
        .build();
    let schema = ElicitationSchema::builder().required_enum_schema(DECISION, words).build();
    schema.expect("because what is required was just added")
}

/// Returns the decision of an answer.
///
/// # Errors
///
/// The function returns the reason if there is no decision.
pub(super) fn decision_of(answer: &ElicitResult) -> Result<Decision, &'static str> {
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
        Some("deny") => Ok(Decision::DENIED),
        _ => Err(MALFORMED),
    }
}

/// Returns the decision of an answer that came as a value.
///
/// # Errors
///
/// The function returns the reason if there is no decision.
pub(super) fn decision_of_value(answer: Option<&Value>) -> Result<Decision, &'static str> {
    let answer = answer.ok_or("the client gave no answer to the question")?;
    // The protocol's library reads lists of the right values as well.
    let answer = answer.as_object().ok_or(MALFORMED)?;
    decision_of(&ElicitResult::deserialize(answer).map_err(|_| MALFORMED)?)
}

const MALFORMED: &str = "the client's answer is none to the question";

/// Escapes the characters of a JSON text that a person would not see, or would see in another place. Blanks
/// other than spaces are escaped too, and so are characters that begin a tag or a comment where a client
/// shows texts as HTML.
fn escape_hidden(text: &str) -> String {
    let mut hidden = hidden_characters(text).peekable();
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let is_hidden = hidden.next_if_eq(&(at, c)).is_some();
        if is_hidden || is_blank(c) || text.get(at..).is_some_and(begins_tag) {
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

fn is_blank(c: char) -> bool {
    c == '\u{2800}' || c.is_whitespace() && !matches!(c, ' ' | '\n')
}

fn begins_tag(text: &str) -> bool {
    let next = text.strip_prefix('<').and_then(|rest| rest.chars().next());
    next.is_some_and(|c| c.is_ascii_alphabetic() || "!/?".contains(c))
}

#[cfg(test)]
mod tests;
