//! The names that models write: which function each means, and that it passes the same check by each of them.

use rye_caps::Grant;
use rye_thread::ToolCall;
use rye_types::{Effect, ThreadState};
use serde_json::{Value, json};

use crate::doubles::{Driven, Thread, call, calls, echo, execute, says, score};

/// One turn of these calls with two tools, of which the model may run the first, and then the outputs.
async fn drive(made: Vec<ToolCall>, returns: ToolCall) -> Driven {
    let thread = Thread::new(vec![calls(made), calls(vec![returns])])
        .with(echo("rye/file-system/read", Effect::Once).with_aliases(&["fs_read"]))
        .with(echo("rye/file-system/write", Effect::Once))
        .granting(Grant::of_items("execute", "tool", "rye.file-system.read"))
        .returning(score());
    let driven = thread.drive().await;
    driven.check_consistent();
    assert_eq!(driven.outcome.state, ThreadState::Completed, "{:?}", driven.outcome.failure);
    driven
}

/// All ways to write the name of `rye/file-system/VERB`.
fn names(verb: &str) -> Vec<String> {
    let rows = [
        "rye_file_system_VERB",
        "rye/file-system/VERB",
        "rye.file-system.VERB",
        "functions.rye_file_system_VERB",
        "default_api.rye_file_system_VERB",
        "default_api:rye_file_system_VERB",
        "tools.rye_file_system_VERB",
        "functions.default_api.rye/file-system/VERB",
        "mcp__rye__rye_file_system_VERB",
        " rye_file_system_VERB",
    ];
    rows.map(|name| name.replace("VERB", verb)).to_vec()
}

fn returns(name: &str) -> ToolCall {
    call("r", name, json!({"score": 7}))
}

/// A call has the item, the capability and the receipt of a call by its own name, and its result the name that was written.
#[tokio::test]
async fn each_name_passes_the_check_of_its_tool() {
    for (verb, may) in [("read", true), ("write", false)] {
        let by = |name: &String| call(name, name, json!({"n": 1}));
        let names = names(verb);
        let driven = drive(names.iter().map(by).collect(), returns(RETURN)).await;
        let [starts, results] =
            ["tool_call_start", "tool_call_result"].map(|event| driven.payloads(event));
        assert_eq!(starts.len(), names.len() + 1);
        for (index, name) in names.iter().enumerate() {
            let (start, result) = (&starts[index], &results[index]);
            assert_eq!(start["target"], starts[0]["target"], "{name}");
            assert_eq!(start["target"]["item_id"], format!("rye/file-system/{verb}"));
            assert_eq!((&start["name"], &result["name"]), (&json!(name), &json!(name)));
            assert_eq!(result["refusal"].is_null(), may, "{name}: {result}");
            assert_eq!(result["content"], results[0]["content"], "{name}");
        }
    }
}

const RETURN: &str = "rye_agent_threads_directive_return";

/// The functions of every thread have other names, too, and `rye_execute` takes the names of functions for items.
#[tokio::test]
async fn the_functions_of_every_thread_have_other_names_too() {
    let parameters = json!({"n": 1});
    let arguments =
        json!({"item_type": "tool", "item_id": "rye/file-system/read", "parameters": parameters});
    let made = vec![
        call("1", "functions.rye_execute", arguments.clone()),
        call("2", "mcp__rye__rye_execute", arguments),
        execute("3", "rye_file_system_read", &parameters),
        execute("4", "functions.rye_file_system_read", &parameters),
        execute("5", "rye_file_system_write", &parameters),
        call("6", "fs_read", parameters.clone()),
    ];
    for name in [RETURN, &format!("functions.{RETURN}"), "rye/agent/threads/directive_return"] {
        let driven = drive(made.clone(), returns(name)).await;
        let refusals: Vec<bool> = driven
            .payloads("tool_call_result")
            .iter()
            .map(|result| !result["refusal"].is_null())
            .collect();
        assert_eq!(refusals, [false, false, false, false, true, false, false], "{name}");
        assert_eq!(driven.outcome.outputs.unwrap()["score"], 7);
    }
}

/// A name that means nothing is answered with the names as they are offered.
#[tokio::test]
async fn an_unknown_name_is_answered_with_the_names_as_offered() {
    let known = "rye_agent_threads_directive_return, rye_execute, rye_file_system_read, \
                 rye_file_system_write";
    let meant = |name: &str| format!("; did you mean `{name}`?");
    let rows = [
        ("read_file", meant("rye_file_system_read")),
        ("functions.file_write", meant("rye_file_system_write")),
        ("rye_file_sytem_read", meant("rye_file_system_read")),
        ("directive_return", meant("rye_agent_threads_directive_return")),
        ("web_search", String::new()),
        ("", String::new()),
    ];
    let made = rows.iter().map(|(name, _)| call(name, name, json!({}))).collect();
    let driven = drive(made, returns(RETURN)).await;
    let expected = rows.map(|(name, meant)| {
        let error =
            format!("there is no tool `{name}` in this thread; the tools are: {known}{meant}");
        json!({ "error": error })
    });
    let answered = driven.results();
    assert_eq!(answered[..expected.len()], expected);
    assert!(driven.payloads("tool_call_start")[..6].iter().all(|start| start["target"].is_null()));
}

/// A name that is like those of two tools means neither.
#[tokio::test]
async fn a_name_that_may_mean_two_tools_means_none() {
    let thread = Thread::new(vec![
        calls(vec![call("1", "a.b.c", json!({})), call("2", "a/b-c", json!({}))]),
        says("So it is."),
    ]);
    let thread = thread.with(echo("a/b-c", Effect::Once)).with(echo("a/b/c", Effect::Once));
    let driven = thread.drive().await;
    driven.check_consistent();
    let targets: Vec<Value> = driven
        .payloads("tool_call_start")
        .iter()
        .map(|start| start["target"]["item_id"].clone())
        .collect();
    assert_eq!(targets, [Value::Null, json!("a/b-c")]);
}

/// Letters of every script are part of a name, and the tool of another server is another tool.
#[tokio::test]
async fn a_name_that_says_more_than_that_of_a_tool_means_none() {
    let names = [
        "rye_file_system_read_\u{524a}\u{9664}",
        "\u{e9}rye_file_system_read",
        "rye_f\u{ef}le_system_read",
        "mcp__github__rye_file_system_read",
        "mcp__rye__github__rye_file_system_read",
    ];
    let made = names.iter().map(|name| call(name, name, json!({"n": 1}))).collect();
    let driven = drive(made, returns(RETURN)).await;
    let starts = driven.payloads("tool_call_start");
    for (name, start) in names.iter().zip(&starts) {
        assert_eq!(start["target"], Value::Null, "{name}");
    }
}
