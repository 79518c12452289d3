//! The next state after each kind of reply.

use super::*;

#[track_caller]
fn check_reply(contract: OutputContract, reply: Reply, expected: &str) {
    let mut run = run(contract);
    exchange(&mut run, reply);
    assert_eq!(phase(&run.step(START)), expected);
}

#[test]
fn text_completes_where_nothing_is_required() {
    check_reply(OutputContract::default(), text("Hi."), r#"completed: null "Hi.""#);
    let optional = OutputContract::new(vec![OutputField::optional("x", None)]).unwrap();
    check_reply(optional, text("Hi."), r#"completed: null "Hi.""#);
}

#[test]
fn a_reply_with_calls_leads_to_tools() {
    check_reply(
        OutputContract::default(),
        calls(vec![tool("1"), tool("2")]),
        "call 2 tools, 0 returns",
    );
    check_reply(
        required(),
        calls(vec![direct_return("1", json!({})), tool("2"), return_by_execute("3", &json!({}))]),
        "call 1 tools, 2 returns",
    );
}

#[test]
fn a_pause_asks_again() {
    check_reply(required(), reply("So far", Vec::new(), StopReason::Pause), "call model");
}

#[test]
fn a_cut_answer_is_no_answer() {
    check_reply(
        OutputContract::default(),
        reply("Once upon", Vec::new(), StopReason::MaxTokens),
        "failed: CutOff: the answer reached the most tokens it may have and is cut; raise `max_output` of the model in the provider's file, or the limits `tokens` and `spend` where they left less",
    );
    check_reply(
        OutputContract::default(),
        reply("Once upon", Vec::new(), StopReason::Other("recitation".to_owned())),
        "failed: CutOff: the model stopped for `recitation`, so its answer may not be whole; run it again",
    );
}

#[test]
fn a_cut_answer_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::MaxTokens),
        "failed: CutOff: the answer reached the most tokens it may have and is cut; raise `max_output` of the model in the provider's file, or the limits `tokens` and `spend` where they left less",
    );
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::ContextWindow),
        "failed: Provider(ContextTooLong): the conversation no longer fits the model's context window; ask for less or use a larger model",
    );
}

#[test]
fn an_answer_that_stopped_for_an_unknown_reason_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::Other("malformed_function_call".to_owned())),
        "failed: CutOff: the model stopped for `malformed_function_call`, so its answer may not be whole; run it again",
    );
}

#[test]
fn a_stop_for_calls_without_a_call_is_no_end() {
    check_reply(
        OutputContract::default(),
        reply("Half", Vec::new(), StopReason::ToolUse),
        "failed: CutOff: the model stopped to call tools and its answer has no call; run it again",
    );
}

#[test]
fn a_refusal_runs_no_call() {
    check_reply(
        OutputContract::default(),
        reply("", vec![tool("1")], StopReason::Refusal),
        "failed: Provider(ContentRefused): the model refused to answer for the content",
    );
}

#[test]
fn a_full_context_window_fails() {
    check_reply(
        OutputContract::default(),
        reply("", Vec::new(), StopReason::ContextWindow),
        "failed: Provider(ContextTooLong): the conversation no longer fits the model's context window; ask for less or use a larger model",
    );
}
