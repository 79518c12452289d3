//! The decisions of a run, as functions from values to values.

use serde_json::{Map, Value, json};

use super::{OutOfTurn, Returned, Run};
use crate::palette::{EXECUTE, bare_name, execute_arguments, names_return, palette_name};
use crate::{
    Counted, DIRECTIVE_RETURN, Failure, FailureKind, Message, OutputContract, ProviderErrorClass,
    Refusal, Reply, StopReason, ToolCall, ToolResult,
};

/// The next state after a reply.
pub(super) enum Next {
    Ask,
    Call(Vec<ToolCall>),
    Complete,
    Fail(Failure),
    Remind(String),
}

pub(super) fn after_reply(reply: &Reply, contract: &OutputContract, is_reminded: bool) -> Next {
    if reply.stop == StopReason::Refusal {
        return fail(
            FailureKind::Provider(ProviderErrorClass::ContentRefused),
            "the model refused to answer for the content",
        );
    }
    match &reply.stop {
        // The last call of a cut reply may be incomplete.
        StopReason::MaxTokens => fail(
            FailureKind::CutOff,
            "the answer reached the most tokens it may have and is cut; raise `max_output` of the model in the provider's file, or the limits `tokens` and `spend` where they left less",
        ),
        StopReason::ContextWindow => fail(
            FailureKind::Provider(ProviderErrorClass::ContextTooLong),
            "the conversation no longer fits the model's context window; ask for less or use a larger model",
        ),
        StopReason::EndTurn
        | StopReason::Pause
        | StopReason::Refusal
        | StopReason::StopSequence
        | StopReason::ToolUse
            if !reply.calls.is_empty() =>
        {
            Next::Call(reply.calls.clone())
        }
        StopReason::Pause => Next::Ask,
        StopReason::ToolUse => fail(
            FailureKind::CutOff,
            "the model stopped to call tools and its answer has no call; run it again",
        ),
        StopReason::EndTurn | StopReason::Refusal | StopReason::StopSequence => {
            after_text(contract, is_reminded)
        }
        // After an unknown stop reason, the reply may be incomplete too.
        word => {
            let message = format!(
                "the model stopped for `{word}`, so its answer may not be whole; run it again"
            );
            fail(FailureKind::CutOff, &message)
        }
    }
}

fn after_text(contract: &OutputContract, is_reminded: bool) -> Next {
    if !contract.requires_outputs() {
        Next::Complete
    } else if is_reminded {
        let message = format!(
            "the model did not call `directive_return`, even when asked; it must return {contract}"
        );
        fail(FailureKind::MissingOutputs, &message)
    } else {
        let name = palette_name(DIRECTIVE_RETURN);
        Next::Remind(format!(
            "The directive is not finished until its outputs are returned. Call `{name}` now with: {contract}."
        ))
    }
}

fn fail(kind: FailureKind, message: &str) -> Next {
    Next::Fail(Failure::new(kind, message))
}

/// Returns `true` if a call is a `directive_return`, by its palette name or through `rye_execute`.
pub(super) fn is_return(call: &ToolCall) -> bool {
    names_return(&call.name)
        || (is_execute(call)
            && call.arguments.as_ref().is_ok_and(|arguments| {
                arguments.get("item_id").and_then(Value::as_str).is_some_and(names_return)
            }))
}

fn is_execute(call: &ToolCall) -> bool {
    bare_name(&call.name) == EXECUTE
}

/// The results of a batch of calls.
pub(super) struct Answers {
    /// One result per call, in the order of the calls.
    pub(super) results: Vec<ToolResult>,
    /// The results of the calls that the run answered itself.
    pub(super) own: Vec<ToolResult>,
    pub(super) refusals: Vec<Refusal>,
    pub(super) outputs: Option<Map<String, Value>>,
}

pub(super) fn after_calls(
    calls: &[ToolCall],
    returned: Vec<Returned>,
    contract: &OutputContract,
    unwanted: Option<&str>,
) -> Result<Answers, OutOfTurn> {
    let called: Vec<&ToolCall> = calls.iter().filter(|call| !is_return(call)).collect();
    let fits = |(call, returned): (&&ToolCall, &Returned)| {
        call.id == returned.result.call_id && call.name == returned.result.name
    };
    if called.len() != returned.len() || !called.iter().zip(&returned).all(fits) {
        let given = returned.into_iter().map(|returned| returned.result.call_id).collect();
        return Err(OutOfTurn::WrongResults {
            called: called.iter().map(|call| call.id.clone()).collect(),
            given,
        });
    }
    Ok(answers(calls, returned, contract, unwanted))
}

fn answers(
    calls: &[ToolCall],
    returned: Vec<Returned>,
    contract: &OutputContract,
    unwanted: Option<&str>,
) -> Answers {
    let others_failed = returned.iter().any(|returned| returned.result.is_error);
    let mut answers =
        Answers { results: Vec::new(), own: Vec::new(), refusals: Vec::new(), outputs: None };
    let mut returned = returned.into_iter();
    for call in calls {
        let result = if is_return(call) {
            let judged = judge(call, contract, others_failed, answers.outputs.is_some());
            let wanted = judged.and_then(|outputs| match unwanted {
                Some(reason) => Err(vec![reason.to_owned()]),
                None => Ok(outputs),
            });
            let result = match wanted {
                Ok(outputs) => {
                    answers.outputs = Some(outputs);
                    ToolResult::ok(call, json!({"accepted": true}))
                }
                Err(problems) => {
                    ToolResult::error(call, json!({"accepted": false, "problems": problems}))
                }
            };
            answers.own.push(result.clone());
            result
        } else if let Some(returned) = returned.next() {
            answers.refusals.extend(returned.refusal);
            returned.result
        } else {
            continue;
        };
        answers.results.push(result);
    }
    answers
}

fn judge(
    call: &ToolCall,
    contract: &OutputContract,
    others_failed: bool,
    is_returned: bool,
) -> Result<Map<String, Value>, Vec<String>> {
    if contract.is_empty() {
        return Err(vec!["this directive declares no outputs; end with text instead".to_owned()]);
    }
    if is_returned {
        return Err(vec!["outputs were returned by an earlier call of the same turn".to_owned()]);
    }
    if others_failed {
        return Err(vec![
            "another call of the same turn failed; read its result, then return the outputs again"
                .to_owned(),
        ]);
    }
    let arguments = call
        .arguments
        .as_ref()
        .map_err(|reason| vec![format!("the arguments are not readable JSON: {reason}")])?;
    if is_execute(call) {
        let (_, parameters) = execute_arguments(arguments)?;
        contract.check(&parameters)
    } else {
        contract.check(arguments)
    }
}

/// Returns the failure with the refusal that may have caused it. A refusal before the last calls caused nothing.
///
/// The cause comes first and decides the kind. A limit is a cause of its own, so that no hook treats it as a refusal that a retry
/// could mend.
pub(super) fn blame(failure: Failure, standing: Option<&Refusal>) -> Failure {
    let Some(refusal) = standing.filter(|_| failure.kind.may_follow_from_refusal()) else {
        return failure;
    };
    // A failure that quotes the refusal says it only once.
    let is_quoted = failure.message.contains(&refusal.message);
    match failure.kind {
        FailureKind::Limit(_) if is_quoted => failure,
        FailureKind::Limit(_) => {
            let message = format!(
                "{}; the last call before it was refused: {}",
                failure.message, refusal.message
            );
            Failure::new(failure.kind, &message)
        }
        _ if is_quoted => Failure::new(FailureKind::Refused, &failure.message),
        _ => {
            let message = format!("{}; then: {}", refusal.message, failure.message);
            Failure::new(FailureKind::Refused, &message)
        }
    }
}

/// The provider's token count for the first messages of the history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) messages: usize,
    pub(super) tokens: u64,
}

/// Returns the provider's count, if there is one. The worst case that replaces a missing count measures nothing.
pub(super) fn measure(reply: &Reply, messages: usize) -> Option<Measured> {
    let usage = &reply.usage;
    let tokens = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let is_counted = reply.counted == Counted::ByProvider && 0 < tokens;
    is_counted.then_some(Measured { messages, tokens })
}

pub(super) fn input_bound(run: &Run) -> u64 {
    let (counted, tokens) = match run.measured {
        Some(measured) => (measured.messages, measured.tokens),
        None => (0, opening_bound(run)),
    };
    run.messages
        .iter()
        .skip(counted)
        .map(|message| size(message).saturating_add(FRAME))
        .fold(tokens.saturating_add(FRAME), u64::saturating_add)
}

pub(super) fn least_input(run: &Run) -> u64 {
    let system = run.system.as_ref().map_or(0, |system| bytes(system.len()));
    let messages = run.messages.iter().map(size);
    messages.fold(system, u64::saturating_add) / MOST_BYTES_PER_TOKEN
}

pub(super) fn context_estimate(run: &Run) -> u64 {
    let (counted, tokens) = match run.measured {
        Some(measured) => (measured.messages, measured.tokens),
        None => (0, opening_bound(run) / BYTES_PER_TOKEN),
    };
    let since = run.messages.iter().skip(counted).map(|message| match message {
        Message::Assistant { reply }
            if reply.counted == Counted::ByProvider && reply.usage.output > 0 =>
        {
            reply.usage.output
        }
        other => size(other) / BYTES_PER_TOKEN,
    });
    since.fold(tokens, u64::saturating_add)
}

/// The approximate number of bytes of text or JSON per token.
const BYTES_PER_TOKEN: u64 = 4;

/// The most bytes of a prompt per token, on average: twice as many as of English prose.
const MOST_BYTES_PER_TOKEN: u64 = 8;

/// The maximum number of tokens that a provider adds around a message or a tool.
const FRAME: u64 = 128;
/// The maximum number of tokens that a provider adds before tools for its own instructions.
const TOOLS_FRAME: u64 = 2_048;

fn opening_bound(run: &Run) -> u64 {
    let system = run.system.as_ref().map_or(0, |system| system.len());
    let tools: usize = run
        .tools
        .iter()
        .map(|tool| tool.name.len() + tool.description.len() + tool.input_schema.to_string().len())
        .sum();
    bytes(system + tools) + bytes(run.tools.len()) * FRAME + TOOLS_FRAME
}

fn size(message: &Message) -> u64 {
    bytes(message.size())
}

fn bytes(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
