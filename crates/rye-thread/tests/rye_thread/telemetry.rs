//! What telemetry is told of a thread: a table of whole trees, and that nothing of a conversation is in them.

use rye_thread::{Cancel, Decision, ProviderErrorClass, StopReason, ToolCall, ToolOutput};
use rye_types::{Effect, SpendLimit, Usage};
use serde_json::json;

use crate::doubles::{
    Function, Thread, Turn, after, call, calls, echo, execute, fails_for_good, reply, says, tool,
};
use crate::spans::Spans;
use crate::world::World;

/// What each span has, whatever happens.
const AGENT: &str = "gen_ai.agent.name=test/greet gen_ai.conversation.id=greet-019a0000-0000-7000-8000-000000000001 \
                     gen_ai.operation.name=invoke_agent gen_ai.provider.name=scripted gen_ai.request.model=model-1";
const CHAT: &str = "gen_ai.conversation.id=greet-019a0000-0000-7000-8000-000000000001 gen_ai.operation.name=chat \
                    gen_ai.provider.name=scripted gen_ai.request.max_tokens=2000 gen_ai.request.model=model-1";
const TOOL: &str = "gen_ai.operation.name=execute_tool";

/// The tree of a driven thread, with what every span has left out once it was seen to be there.
async fn tree(thread: Thread) -> Vec<String> {
    let spans = Spans::here();
    drop(thread.drive().await);
    // A call that was stopped is dropped by the runtime, when its turn comes.
    tokio::task::yield_now().await;
    let tree = spans.tree();
    assert!(!tree.contains("SECRET"), "telemetry tells names and numbers alone: {tree}");
    tree.lines().map(shorter).collect()
}

fn shorter(line: &str) -> String {
    let (name, fields) = line.split_once(": ").unwrap_or((line, ""));
    let common = match name.trim_start().split(' ').next() {
        Some("invoke_agent") => AGENT,
        Some("chat") => CHAT,
        _ => TOOL,
    };
    let fields: Vec<&str> = fields.split(' ').collect();
    let is_common = |field: &&str| common.split(' ').any(|common| common == *field);
    let n_common = fields.iter().filter(|field| is_common(field)).count();
    assert_eq!(n_common, common.split(' ').count(), "{line} lacks some of {common}");
    let own: Vec<&str> = fields.into_iter().filter(|field| !is_common(field)).collect();
    format!("{name}: {}", own.join(" "))
}

async fn check(thread: Thread, expected: &[&str]) {
    assert_eq!(tree(thread).await, expected);
}

const ANSWERED: &str = "gen_ai.response.finish_reasons=end_turn gen_ai.usage.cache_read.input_tokens=0 \
                        gen_ai.usage.cache_write.input_tokens=0 gen_ai.usage.input_tokens=100 \
                        gen_ai.usage.output_tokens=10 otel.kind=internal";

fn answered(stop: &str) -> String {
    format!("  chat model-1: {}", ANSWERED.replace("end_turn", stop))
}

fn agent(state: &str, answers: u64) -> String {
    let (input, output) = (100 * answers, 10 * answers);
    format!(
        "invoke_agent test/greet: gen_ai.usage.cache_read.input_tokens=0 \
         gen_ai.usage.cache_write.input_tokens=0 gen_ai.usage.input_tokens={input} \
         gen_ai.usage.output_tokens={output} otel.kind=internal rye.thread.state={state}"
    )
}

fn failed(state: &str, answers: u64, class: &str) -> String {
    let error = format!("test/greet: error.type={class} gen_ai");
    agent(state, answers)
        .replace("test/greet: gen_ai", &error)
        .replace("otel.kind=internal", "otel.kind=internal otel.status_code=ERROR")
}

#[tokio::test]
async fn every_way_in_which_a_call_comes_out() {
    let made: Vec<ToolCall> = vec![
        call("1", "a_echo", json!({"n": 1})),
        execute("2", "a/echo", &json!({"n": 2})),
        call("3", "a_wrong", json!({})),
        call("4", "a_confined", json!({})),
        call("5", "a_panics", json!({})),
        call("6", "a_echo", json!({"n": "SECRET"})),
        call("7", "SECRET", json!({})),
        execute("8", "SECRET/SECRET", &json!({})),
        ToolCall::new("9", "a_echo", (0..99).fold(json!("SECRET"), |inner, _| json!([inner]))),
    ];
    let secret = || json!({"error": "SECRET"});
    let thread = Thread::new(vec![calls(made), says("SECRET")])
        .with(echo("a/echo", Effect::ReadOnly))
        .with(tool(
            "a/wrong",
            Effect::Once,
            Function(move |_| async move { ToolOutput::error(secret()) }),
        ))
        .with(tool(
            "a/confined",
            Effect::Once,
            Function(move |_| async move { ToolOutput::refusal(secret()) }),
        ))
        .with(tool("a/panics", Effect::Once, Function(|_| async { panic!("SECRET") })));
    let row = |id: &str, name: &str, error: &str| {
        let call =
            format!("gen_ai.tool.call.id={id} gen_ai.tool.name={name} gen_ai.tool.type=function");
        match error {
            "" => format!("  execute_tool {name}: {call} otel.kind=internal"),
            _ => format!(
                "  execute_tool {name}: error.type={error} {call} otel.kind=internal otel.status_code=ERROR"
            ),
        }
    };
    let expected = [
        agent("completed", 2),
        answered("tool_use"),
        row("1", "a/echo", ""),
        row("2", "a/echo", ""),
        row("3", "a/wrong", "tool_error"),
        row("4", "a/confined", "refused"),
        row("5", "a/panics", "panic"),
        row("6", "a/echo", "invalid_call"),
        row("7", "unknown", "invalid_call"),
        row("8", "unknown", "invalid_call"),
        row("9", "unknown", "invalid_call"),
        answered("end_turn"),
    ];
    check(thread, &expected.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn a_call_that_is_not_granted_is_refused() {
    let thread = Thread::new(vec![calls(vec![call("1", "a_echo", json!({}))]), says("So be it.")])
        .with(echo("a/echo", Effect::Once))
        .granting(Ok::<_, ()>(rye_caps::Grant::nothing()));
    let refused = "  execute_tool a/echo: error.type=refused gen_ai.tool.call.id=1 gen_ai.tool.name=a/echo \
                   gen_ai.tool.type=function otel.kind=internal otel.status_code=ERROR";
    let expected =
        [agent("completed", 2), answered("tool_use"), refused.to_owned(), answered("end_turn")];
    check(thread, &expected.each_ref().map(String::as_str)).await;
}

#[tokio::test]
async fn every_class_of_failed_request() {
    for &class in ProviderErrorClass::ALL {
        let chat =
            format!("  chat model-1: error.type={class} otel.kind=internal otel.status_code=ERROR");
        let script = fails_for_good(class);
        let chats = std::iter::repeat_n(chat, script.len());
        let expected: Vec<String> =
            std::iter::once(failed("error", 0, class.as_str())).chain(chats).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        check(Thread::new(script), &expected).await;
    }
}

/// The other reasons for which a thread ends, after one whole answer.
#[tokio::test]
async fn failures_of_the_thread_itself() {
    let cut = Thread::new(vec![Turn::Reply(reply("SECRET", Vec::new(), StopReason::MaxTokens))]);
    let expected = [failed("error", 1, "cut_off"), answered("max_tokens")];
    check(cut, &expected.each_ref().map(String::as_str)).await;

    let mut limited = Thread::new(Vec::new());
    limited.limits.turns = 0;
    check(limited, &[&failed("error", 0, "limit")]).await;

    let mut unpriced = Thread::new(Vec::new());
    unpriced.info.prices = None;
    check(unpriced, &[&failed("error", 0, "unpriced")]).await;
}

#[tokio::test]
async fn a_cancelled_request_is_no_failure_of_the_thread() {
    let mut thread = Thread::new(Vec::new());
    let cancel = thread.cancel.clone();
    thread.script = vec![after(move || cancel.cancel(), Turn::Hang)];
    let chat = "  chat model-1: error.type=cancelled otel.kind=internal otel.status_code=ERROR";
    check(thread, &[&agent("cancelled", 0), chat]).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_takes_too_long() {
    let mut thread = Thread::new(vec![Turn::Hang]);
    thread.limits.duration_seconds = 1;
    let chat = "  chat model-1: error.type=timeout otel.kind=internal otel.status_code=ERROR";
    check(thread, &[&failed("error", 0, "limit"), chat]).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long() {
    let hanging = Function(|_| std::future::pending());
    let mut thread = Thread::new(vec![calls(vec![call("1", "a_hangs", json!({}))])]).with(tool(
        "a/hangs",
        Effect::Once,
        hanging,
    ));
    thread.limits.duration_seconds = 1;
    let stopped = "  execute_tool a/hangs: error.type=cancelled gen_ai.tool.call.id=1 gen_ai.tool.name=a/hangs \
                   gen_ai.tool.type=function otel.kind=internal otel.status_code=ERROR";
    let expected = [failed("error", 1, "limit"), answered("tool_use"), stopped.to_owned()];
    check(thread, &expected.each_ref().map(String::as_str)).await;
}

/// The convention counts what caches served and took as input. A count that nobody made is not told, and neither is a
/// word that is the server's own.
#[tokio::test]
async fn tokens_are_counted_as_the_convention_wants() {
    let mut cached = reply("SECRET", Vec::new(), StopReason::MaxTokens);
    cached.usage = Usage::new(1, 2);
    (cached.usage.cache_read, cached.usage.cache_write) = (30, 400);
    let mut thread = Thread::new(vec![Turn::Reply(cached)]);
    thread.limits.spend = SpendLimit::Unlimited;
    let counts = "gen_ai.usage.cache_read.input_tokens=30 gen_ai.usage.cache_write.input_tokens=400 \
                  gen_ai.usage.input_tokens=431 gen_ai.usage.output_tokens=2";
    let chat = format!(
        "  chat model-1: gen_ai.response.finish_reasons=max_tokens {counts} otel.kind=internal"
    );
    let ended = "otel.kind=internal otel.status_code=ERROR rye.thread.state=error";
    let agent = format!("invoke_agent test/greet: error.type=cut_off {counts} {ended}");
    check(thread, &[&agent, &chat]).await;

    let other = || Turn::Reply(reply("", Vec::new(), StopReason::Other("SECRET".to_owned())));
    let told = tree(Thread::new(vec![other(), other(), other()])).await;
    assert!(told[1..].iter().all(|chat| chat.contains("finish_reasons=other ")), "{told:?}");

    let mut uncounted = reply("SECRET", Vec::new(), StopReason::EndTurn);
    uncounted.counted = rye_thread::Counted::Unreported;
    let told = tree(Thread::new(vec![Turn::Reply(uncounted)])).await;
    assert_eq!(
        told[1],
        "  chat model-1: gen_ai.response.finish_reasons=end_turn otel.kind=internal"
    );
}

/// Each program tells of what it did itself; a replay does nothing, and tells of nothing.
#[tokio::test]
async fn a_thread_that_goes_on() {
    let mut world = World::new();
    world.model.turns = vec![vec![call("1", "a_once", json!({"n": 1}))]];
    world.model.turns.push(vec![crate::doubles::returns("2", json!({"score": 7}))]);
    world.asking = rye_thread::Asking::Always;
    world.approves = None;
    let told = |spans: Spans| spans.tree().lines().map(shorter).collect::<Vec<_>>();

    let spans = Spans::here();
    drop(world.begin(std::sync::Arc::clone(&world.store) as _, &Cancel::new()).await);
    assert_eq!(told(spans), [agent("suspended", 1), answered("tool_use")]);

    world.approves = Some(Decision::Approved);
    let spans = Spans::here();
    drop(world.resume("Begin.").await.unwrap());
    let once = "  execute_tool a/once: gen_ai.tool.call.id=1 gen_ai.tool.name=a/once gen_ai.tool.type=function \
                otel.kind=internal";
    assert_eq!(told(spans), [agent("completed", 1), once.to_owned(), answered("tool_use")]);

    let spans = Spans::here();
    assert_eq!(world.replay("", "").await.divergence, None);
    assert_eq!(told(spans), [""; 0]);
}
