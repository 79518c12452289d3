//! Conversations with a plan.

use std::sync::Arc;

use rye_thread::{Message, Opening, ToolResult};
use rye_types::Usage;

use super::*;
use crate::steps::PLANNED_STEPS;

fn parameters(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn step(name: &str, item_id: &str, arguments: Value) -> PlannedStep {
    PlannedStep::new(name, "Do it.", vec![PlannedCall::tool(item_id, parameters(arguments))])
}

/// A conversation of the provider with results from the test.
struct Talk {
    provider: StepsProvider,
    request: Request,
}

impl Talk {
    fn new(steps: Vec<PlannedStep>, outputs: Vec<PlannedOutput>) -> Self {
        let opening = Opening { system: None, first_user_message: "Go.".to_owned() };
        Self {
            provider: StepsProvider::new(steps, outputs),
            request: Request::new(&opening, Vec::new(), 1),
        }
    }

    /// Returns the next reply and adds it to the conversation.
    #[track_caller]
    fn next(&mut self) -> Reply {
        let reply = self.provider.reply(&self.request).unwrap();
        let again = self.provider.reply(&self.request).unwrap();
        assert_eq!(
            reply.raw().get(),
            again.raw().get(),
            "the position follows from the conversation alone"
        );
        assert_eq!(reply.usage, Usage::default());
        self.request.messages.push(Message::Assistant { reply: Arc::new(reply.clone()) });
        reply
    }

    /// Returns the ids and parameters of the next reply's calls, and answers the calls with `results`.
    #[track_caller]
    fn calls(&mut self, results: &[Value]) -> Vec<(String, Value)> {
        let reply = self.next();
        let results = reply
            .calls
            .iter()
            .zip(results)
            .map(|(call, content)| ToolResult::ok(call, content.clone()));
        self.request.messages.push(Message::ToolResults { results: results.collect() });
        reply.calls.iter().map(called_item).collect()
    }

    #[track_caller]
    fn fails(&self, expected: &str) {
        assert_eq!(self.provider.reply(&self.request).unwrap_err(), expected);
    }
}

fn called_item(call: &ToolCall) -> (String, Value) {
    assert_eq!(call.name, "rye_execute");
    let arguments = call.arguments.clone().unwrap();
    assert_eq!(arguments["item_type"], "tool");
    (arguments["item_id"].as_str().unwrap().to_owned(), arguments["parameters"].clone())
}

#[track_caller]
fn check_calls(actual: &[(String, Value)], expected: &[(&str, Value)]) {
    let expected: Vec<_> =
        expected.iter().map(|(id, parameters)| ((*id).to_owned(), parameters.clone())).collect();
    assert_eq!(actual, expected);
}

#[test]
fn steps_are_taken_in_order_and_outputs_returned() {
    let steps = vec![
        step("list", "fs/ls", json!({ "path": "notes" })),
        step(
            "save",
            "fs/write",
            json!({ "path": "week.md", "content": "# Week\n${steps.list.listing}\n" }),
        ),
    ];
    let outputs = vec![
        PlannedOutput::required("path"),
        PlannedOutput::required("count"),
        PlannedOutput::optional("mood"),
    ];
    let mut talk = Talk::new(steps, outputs);
    let listed = json!({ "path": "notes", "count": 1, "listing": "- a.md" });
    check_calls(&talk.calls(&[listed]), &[("fs/ls", json!({ "path": "notes" }))]);
    let saved = json!({ "path": "week.md", "bytes_written": 14 });
    check_calls(
        &talk.calls(&[saved]),
        &[("fs/write", json!({ "path": "week.md", "content": "# Week\n- a.md\n" }))],
    );
    let returned = json!({ "path": "week.md", "count": 1 });
    check_calls(&talk.calls(&[json!({})]), &[("rye/agent/threads/directive_return", returned)]);
    talk.fails("every planned step is done and nothing is left to do");
}

#[test]
fn replies_have_the_shape_of_content_blocks() {
    let mut talk = Talk::new(vec![step("list", "fs/ls", json!({}))], vec![]);
    let reply = talk.next();
    assert_eq!(
        reply.raw().get(),
        r#"[{"type":"text","text":"Step `list`: Do it."},{"type":"tool_use","id":"step_1_1","name":"rye_execute","input":{"item_type":"tool","item_id":"fs/ls","parameters":{}}}]"#,
    );
    assert_eq!((reply.stop, reply.text.as_str()), (StopReason::ToolUse, "Step `list`: Do it."));
}

/// The arguments of an operation are the item of the action and its parameters.
#[test]
fn operations_on_items_are_called_by_their_names() {
    let parameters = json!({ "query": "bread", "limit": 2 }).as_object().cloned().unwrap();
    let calls = vec![
        PlannedCall::new("search", Some("knowledge"), None, parameters),
        PlannedCall::new("load", Some("tool"), Some("a/b"), Map::new()),
        PlannedCall::new("fetch", Some("tool"), Some("a/b"), Map::new()),
        PlannedCall::new("sign", Some("directive"), Some("a/b"), Map::new()),
    ];
    let mut talk = Talk::new(vec![PlannedStep::new("all", "", calls)], vec![]);
    let reply = talk.next();
    let called =
        reply.calls.iter().map(|call| (call.name.as_str(), call.arguments.clone().unwrap()));
    let item = |kind: &str| json!({ "item_type": kind, "item_id": "a/b" });
    let expected = [
        ("rye_search", json!({ "item_type": "knowledge", "query": "bread", "limit": 2 })),
        ("rye_load", item("tool")),
        ("rye_fetch", item("tool")),
        ("rye_sign", item("directive")),
    ];
    assert_eq!(called.collect::<Vec<_>>(), expected);
}

#[test]
fn a_whole_reference_keeps_its_type_and_an_embedded_one_becomes_text() {
    let arguments = json!({
        "whole": "${steps.a.n}",
        "all": "${steps.a}",
        "deep": [{ "x": "${steps.a.o.list.1}" }],
        "text": "n=${steps.a.n} o=${steps.a.o} s=${steps.a.s}",
        "other": "$steps.a.n ${inputs.x}",
        "number": 7,
    });
    let mut talk =
        Talk::new(vec![step("a", "t/a", json!({})), step("b", "t/b", arguments)], vec![]);
    let result = json!({ "n": 3, "o": { "list": [1, true] }, "s": "${steps.a.n}" });
    talk.calls(std::slice::from_ref(&result));
    let expected = json!({
        "whole": 3,
        "all": result,
        "deep": [{ "x": true }],
        "text": "n=3 o={\"list\":[1,true]} s=${steps.a.n}",
        "other": "$steps.a.n ${inputs.x}",
        "number": 7,
    });
    check_calls(&talk.calls(&[json!({})]), &[("t/b", expected)]);
    let end = talk.next();
    assert_eq!(
        (end.stop, end.text.as_str(), end.calls.len()),
        (StopReason::EndTurn, "Every planned step is done.", 0)
    );
}

/// The name of a step and the keys of its result are any text without dots and braces.
#[test]
fn a_step_may_have_any_name() {
    for name in ["Größe", "my step", "step-1", "1. Look"] {
        let text = format!("${{steps.{name}.path}}");
        let use_of = step("use", "t/b", json!({ "whole": text, "part": format!("= {text}") }));
        let mut talk = Talk::new(vec![step(name, "t/a", json!({})), use_of], vec![]);
        talk.calls(&[json!({ "path": "x" })]);
        match name.contains('.') {
            true => talk.fails(&format!(
                "the step `use` cannot begin: `{text}` names a step without a result; with one: `{name}`"
            )),
            false => {
                let expected = json!({ "whole": "x", "part": "= x" });
                check_calls(&talk.calls(&[json!({})]), &[("t/b", expected)]);
            }
        }
    }
}

/// A value that is no text becomes text where the tool takes nothing else, as it would with text around it.
#[test]
fn a_whole_reference_for_a_text_becomes_text() {
    let arguments = json!({ "content": "${steps.a.list}", "n": "${steps.a.list}", "x": [1] });
    let Value::Object(arguments) = arguments else { panic!("an object") };
    let texts = ["content".to_owned(), "x".to_owned()].into();
    let call = PlannedCall::tool("t/b", arguments).with_texts(texts);
    let write = PlannedStep::new("b", "", vec![call]);
    let mut talk = Talk::new(vec![step("a", "t/a", json!({})), write], vec![]);
    talk.calls(&[json!({ "list": ["é", 2] })]);
    let expected = json!({ "content": "[\"é\",2]", "n": ["é", 2], "x": [1] });
    check_calls(&talk.calls(&[json!({})]), &[("t/b", expected)]);
}

#[test]
fn a_reference_to_nothing_names_what_there_is() {
    let use_of = |text: &str| step("use", "t/b", json!({ "x": text }));
    let mut talk =
        Talk::new(vec![step("list", "t/a", json!({})), use_of("${steps.lst.a}")], vec![]);
    talk.calls(&[json!({ "path": "x", "listing": "y" })]);
    talk.fails(
        "the step `use` cannot begin: `${steps.lst.a}` names a step without a result; with one: `list`; did you mean `list`?",
    );
    let mut talk =
        Talk::new(vec![step("list", "t/a", json!({})), use_of("${steps.list.lisitng}")], vec![]);
    talk.calls(&[json!({ "path": "x", "listing": "y" })]);
    talk.fails(
        "the step `use` cannot begin: `${steps.list.lisitng}` names nothing in the result of `list`, which has `path`, \
         `listing`; did you mean `listing`?",
    );
    let mut talk =
        Talk::new(vec![step("list", "t/a", json!({})), use_of("${steps.list.a}")], vec![]);
    talk.calls(&[json!("text")]);
    talk.fails("the step `use` cannot begin: `${steps.list.a}` names nothing in the result of `list`, which has no keys; `${steps.list}` is all of it");
    let mut talk =
        Talk::new(vec![step("list", "t/a", json!({})), use_of("${steps.list.}")], vec![]);
    talk.calls(&[json!("text")]);
    talk.fails("the step `use` cannot begin: `${steps.list.}` names nothing in the result of `list`, which has no keys; `${steps.list}` is all of it");
    let talk = Talk::new(vec![use_of("${steps.use.a}")], vec![]);
    talk.fails("the step `use` cannot begin: `${steps.use.a}` names a step without a result; with one: no step has one yet");
}

#[test]
fn what_needs_a_model_is_skipped_and_said() {
    let think = PlannedStep::new("think", "Think.", vec![]);
    let wait = PlannedCall::new("wait", Some("knowledge"), None, Map::new());
    let nameless = PlannedCall::new("execute", Some("directive"), None, Map::new());
    let mixed =
        PlannedStep::new("mixed", "", vec![wait, PlannedCall::tool("t/a", Map::new()), nameless]);
    let last = PlannedStep::new("last", "Think again.", vec![]);
    let mut talk = Talk::new(vec![think, mixed, last], vec![]);
    let reply = talk.next();
    assert_eq!(
        reply.text,
        "Skipped step `think` for want of a model: it has no action.\nSkipped `wait knowledge` of step `mixed` for want \
         of a model.\nSkipped `execute directive` of step `mixed` for want of a model.\nStep `mixed`:",
    );
    assert_eq!(reply.calls.len(), 1);
    let result = ToolResult::ok(&reply.calls[0], json!({}));
    talk.request.messages.push(Message::ToolResults { results: vec![result] });
    let text =
        "Skipped step `last` for want of a model: it has no action.\nEvery planned step is done.";
    assert_eq!(talk.next().text, text);
}

#[test]
fn a_plan_without_anything_to_run_ends_at_once() {
    let mut talk =
        Talk::new(vec![PlannedStep::new("think", "", vec![])], vec![PlannedOutput::optional("x")]);
    check_calls(&talk.calls(&[]), &[("rye/agent/threads/directive_return", json!({}))]);
    let talk = Talk::new(vec![], vec![PlannedOutput::required("x"), PlannedOutput::required("y")]);
    talk.fails("no step's result has the required `x`, `y`: no step has a result");
    assert_eq!(Talk::new(vec![], vec![]).next().text, "Every planned step is done.");
}

#[test]
fn a_missing_output_names_the_keys_there_are() {
    let steps = vec![step("a", "t/a", json!({})), step("b", "t/b", json!({}))];
    let mut talk =
        Talk::new(steps, vec![PlannedOutput::required("path"), PlannedOutput::required("summary")]);
    talk.calls(&[json!({ "path": "x", "bytes": 1 })]);
    talk.calls(&[json!("done")]);
    talk.fails(
        "no step's result has the required `summary`: `a` has `path`, `bytes`; `b` has no keys",
    );
}

#[test]
fn an_explicit_return_is_the_only_one() {
    let steps = vec![
        step("a", "t/a", json!({})),
        step("end", DIRECTIVE_RETURN, json!({ "n": "${steps.a.n}" })),
        PlannedStep::new("after", "", vec![]),
    ];
    let mut talk = Talk::new(steps, vec![PlannedOutput::required("other")]);
    talk.calls(&[json!({ "n": 3 })]);
    let reply = talk.next();
    check_calls(
        &reply.calls.iter().map(called_item).collect::<Vec<_>>(),
        &[(DIRECTIVE_RETURN, json!({ "n": 3 }))],
    );
    let text = "Skipped step `after` for want of a model: it has no action.\nStep `end`: Do it.";
    assert_eq!(reply.text, text);
}

#[test]
fn a_call_that_failed_ends_the_plan_with_its_words() {
    let check = |content: Value, expected: &str| {
        let mut talk =
            Talk::new(vec![step("a", "t/a", json!({})), step("b", "t/b", json!({}))], vec![]);
        let call = talk.next().calls[0].clone();
        let results = vec![ToolResult::error(&call, content)];
        talk.request.messages.push(Message::ToolResults { results });
        talk.fails(expected);
    };
    check(
        json!({ "error": "`x` does not exist" }),
        "the step `a` failed: `execute tool t/a` answered: `x` does not exist",
    );
    check(json!("no"), "the step `a` failed: `execute tool t/a` answered: no");
    check(
        json!({ "error": "a", "code": 1 }),
        "the step `a` failed: `execute tool t/a` answered: a: code 1",
    );
    check(
        json!({ "error": "it ended with code 3", "exit_code": 3, "stderr": "no file\n" }),
        "the step `a` failed: `execute tool t/a` answered: it ended with code 3: no file",
    );
    let trace = format!("{}\nValueError: y\n", "é".repeat(1000));
    let end = format!("…{}\nValueError: y", "é".repeat(600 - 14));
    check(
        json!({ "error": "it ended with code 1", "exit_code": 1, "stderr": trace }),
        &format!("the step `a` failed: `execute tool t/a` answered: it ended with code 1: {end}"),
    );
    check(
        json!({ "error": "they do not fit", "problems": ["`a` is missing", "`b` too"] }),
        "the step `a` failed: `execute tool t/a` answered: they do not fit: `a` is missing; `b` too",
    );
    let long = "é".repeat(2200);
    let expected =
        format!("the step `a` failed: `execute tool t/a` answered: {}…", "é".repeat(2000));
    check(json!(long), &expected);
}

#[test]
fn a_refused_return_ends_the_plan_with_its_words() {
    let mut talk = Talk::new(vec![step("a", "t/a", json!({}))], vec![PlannedOutput::required("n")]);
    talk.calls(&[json!({ "n": "three" })]);
    let call = talk.next().calls[0].clone();
    let results = vec![ToolResult::error(&call, json!("`n` must be an integer"))];
    talk.request.messages.push(Message::ToolResults { results });
    talk.fails("`rye/agent/threads/directive_return` answered: `n` must be an integer");
}

#[test]
fn a_turn_without_its_result_is_not_passed_over() {
    let mut talk = Talk::new(vec![step("a", "t/a", json!({}))], vec![]);
    talk.next();
    talk.fails("the step `a` failed: `execute tool t/a` has no result in the conversation");
}

#[test]
fn of_several_calls_the_last_result_that_has_the_key_counts() {
    let calls = vec![PlannedCall::tool("t/a", Map::new()), PlannedCall::tool("t/b", Map::new())];
    let both = PlannedStep::new("both", "", calls);
    let arguments = json!({ "n": "${steps.both.n}", "m": "${steps.both.m}" });
    let mut talk =
        Talk::new(vec![both, step("use", "t/c", arguments)], vec![PlannedOutput::required("n")]);
    talk.calls(&[json!({ "n": 1, "m": 1 }), json!({ "n": 2 })]);
    check_calls(&talk.calls(&[json!({})]), &[("t/c", json!({ "n": 2, "m": 1 }))]);
    check_calls(&talk.calls(&[json!({})]), &[(DIRECTIVE_RETURN, json!({ "n": 2 }))]);
}

#[test]
fn it_costs_nothing_and_says_so() {
    let info = StepsProvider::new(vec![], vec![]).describe();
    assert_eq!(
        (info.provider.as_str(), info.model.as_str(), info.prices),
        ("steps", "none", Some(Prices::free()))
    );
}

fn directive(id: &str, options: Value) -> PlannedCall {
    let call = PlannedCall::new("execute", Some("directive"), Some(id), Map::new());
    call.with_options(parameters(options))
}

fn directions(steps: &[PlannedStep]) -> Value {
    let steps: Value = steps.iter().map(PlannedStep::to_json).collect();
    json!({ "name": "inner", "n": "of the directions", PLANNED_STEPS: steps })
}

/// Returns the id and the arguments of the next reply's only call, and answers it with `content`.
#[track_caller]
fn one_call(talk: &mut Talk, content: Value) -> (String, Value) {
    let reply = talk.next();
    let [call] = reply.calls.as_slice() else { panic!("{:?}", reply.calls) };
    let results = vec![ToolResult::ok(call, content)];
    talk.request.messages.push(Message::ToolResults { results });
    (call.id.clone(), call.arguments.clone().unwrap())
}

#[test]
fn the_steps_of_an_executed_directive_come_before_the_next_step() {
    let inner = [
        step("list", "t/inner", json!({})),
        step("use", "t/use", json!({ "n": "${steps.list.n}" })),
        step("end", DIRECTIVE_RETURN, json!({ "n": 9 })),
    ];
    let outer = vec![
        PlannedStep::new("list", "", vec![directive("a/inner", json!({}))]),
        step("after", "t/after", json!({ "x": "${steps.list.name}" })),
    ];
    let mut talk = Talk::new(outer, vec![PlannedOutput::required("n")]);
    let executed = json!({ "item_type": "directive", "item_id": "a/inner" });
    assert_eq!(one_call(&mut talk, directions(&inner)), ("step_1_1".to_owned(), executed));
    let tool = |id: &str, parameters: Value| json!({ "item_type": "tool", "item_id": id, "parameters": parameters });
    let listed = one_call(&mut talk, json!({ "n": 3 }));
    assert_eq!(listed, ("step_1_1_1_1".to_owned(), tool("t/inner", json!({}))));
    let used = one_call(&mut talk, json!("done"));
    assert_eq!(used, ("step_1_1_2_1".to_owned(), tool("t/use", json!({ "n": 3 }))));
    let after = one_call(&mut talk, json!("done"));
    assert_eq!(after, ("step_2_1".to_owned(), tool("t/after", json!({ "x": "inner" }))));
    // The output is not taken from the directions, because they are not a result.
    check_calls(&talk.calls(&[json!({})]), &[(DIRECTIVE_RETURN, json!({ "n": 3 }))]);
}

#[test]
fn a_return_of_an_executed_directive_is_left_out_and_said() {
    let inner =
        [step("end", DIRECTIVE_RETURN, json!({ "n": 9 })), PlannedStep::new("think", "", vec![])];
    let call = directive("a/inner", json!({}));
    let mut talk = Talk::new(vec![PlannedStep::new("run", "", vec![call])], vec![]);
    one_call(&mut talk, directions(&inner));
    assert_eq!(
        talk.next().text,
        "Left out `rye/agent/threads/directive_return` of step `end`: the outputs are those of the first directive.\n\
         Skipped step `think` for want of a model: it has no action.\nEvery planned step is done."
    );
}

#[test]
fn steps_of_a_tool_and_of_another_thread_are_results_alone() {
    let rows = [
        PlannedCall::tool("t/a", Map::new()),
        directive("a/inner", json!({ "thread": "fork", "async": true })),
        PlannedCall::new("execute", Some("knowledge"), Some("a/k"), Map::new()),
    ];
    for call in rows {
        let mut talk = Talk::new(vec![PlannedStep::new("run", "", vec![call])], vec![]);
        one_call(&mut talk, directions(&[step("x", "t/x", json!({}))]));
        assert_eq!(talk.next().text, "Every planned step is done.");
    }
}

#[test]
fn executed_directives_are_bounded_in_depth_and_number() {
    let again = PlannedStep::new("again", "", vec![directive("a/inner", json!({}))]);
    let mut talk = Talk::new(vec![again.clone()], vec![]);
    for _ in 0..9 {
        one_call(&mut talk, directions(std::slice::from_ref(&again)));
    }
    talk.fails(
        "the step `again` cannot be followed: directives that execute directives are followed 8 deep; have one of them not \
         execute the next",
    );
    let mut talk = Talk::new(vec![again], vec![]);
    one_call(&mut talk, directions(&vec![PlannedStep::new("x", "", vec![]); 1_001]));
    talk.fails("the step `again` cannot be followed: the executed directives have more than 1000 steps together");
}

/// Directives that one step executes do not add to the depth.
#[test]
fn a_step_executes_many_directives_at_once() {
    let inner = |name: &str| PlannedStep::new(name, "", vec![directive("a/leaf", json!({}))]);
    let all = PlannedStep::new("all", "", vec![directive("a/inner", json!({})); 9]);
    let mut talk = Talk::new(vec![all], vec![]);
    let reply = talk.next();
    let result = |(call, number)| ToolResult::ok(call, directions(&[inner(&format!("n{number}"))]));
    let results: Vec<ToolResult> = reply.calls.iter().zip(0..).map(result).collect();
    assert_eq!(results.len(), 9);
    talk.request.messages.push(Message::ToolResults { results });
    for number in 0..9 {
        let executed = one_call(&mut talk, directions(&[step("leaf", "t/leaf", json!({}))]));
        assert_eq!(executed.0, format!("step_1_{}_1_1", number + 1));
        let (id, _) = one_call(&mut talk, json!("done"));
        assert!(id.starts_with(&executed.0), "{id} after {}", executed.0);
    }
    assert_eq!(talk.next().text, "Every planned step is done.");
}

#[test]
fn steps_that_cannot_be_read_are_not_passed_over() {
    let again = PlannedStep::new("again", "", vec![directive("a/inner", json!({}))]);
    let mut talk = Talk::new(vec![again], vec![]);
    one_call(&mut talk, json!({ PLANNED_STEPS: [{ "name": "x" }] }));
    talk.fails("the step `again` executed a directive whose steps cannot be read");
}
