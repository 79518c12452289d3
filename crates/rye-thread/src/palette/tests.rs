use async_trait::async_trait;
use rye_caps::{Kind, Layer, LayerName, Primary};
use rye_types::ValueType;
use serde_json::json;

use super::*;
use crate::{OutputField, ToolCall, ToolOutput, ToolStatus};

struct Nothing;

#[async_trait]
impl Tool for Nothing {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        ToolOutput::ok(call.into_arguments())
    }
}

fn entry(id: &str) -> PaletteEntry {
    let capability = Capability::new(Primary::Execute, Kind::Tool, id).unwrap();
    let spec =
        ToolSpec::new("ignored", "Does nothing.", json!({"type": "object", "required": ["a"]}));
    PaletteEntry::new(id, spec, capability, Effect::ReadOnly, Arc::new(Nothing))
}

fn names(ids: &[&str]) -> Vec<String> {
    let palette = Palette::new(ids.iter().map(|id| entry(id)).collect()).unwrap();
    palette.names().map(|(name, id)| format!("{id} → {name}")).collect()
}

#[track_caller]
fn check_name(id: &str, expected: &str) {
    assert_eq!(palette_name(id), expected);
    assert!(expected.len() <= 64, "{expected}");
}

#[test]
fn plain_ids_keep_their_words() {
    check_name("rye/file-system/read", "rye_file_system_read");
    check_name("mcp.my-server.my_type.create", "mcp_my_server_my_type_create");
}

#[test]
fn a_name_starts_with_a_letter_or_underscore() {
    check_name("7zip/list", "_7zip_list");
    check_name("_x", "_x");
}

#[test]
fn a_long_name_is_cut_and_hashed() {
    let longest = "a".repeat(64);
    check_name(&longest, &longest);
    check_name(&"a".repeat(65), &format!("{}_635361c4", "a".repeat(55)));
}

#[test]
fn every_id_of_a_collision_is_hashed_whatever_the_order() {
    let expected = ["a.b → a_b_2e7336dc", "a/b → a_b_c14cddc0", "c → c"];
    let mut forward = names(&["a/b", "a.b", "c"]);
    let mut backward = names(&["c", "a.b", "a/b"]);
    forward.sort();
    backward.sort();
    assert_eq!(forward, expected);
    assert_eq!(backward, expected);
}

#[test]
fn the_names_of_the_thread_itself_are_not_given_away() {
    assert_eq!(names(&["rye/execute"]), ["rye/execute → rye_execute_65845b7b"]);
    assert_eq!(
        names(&["rye.agent.threads.directive_return"]),
        ["rye.agent.threads.directive_return → rye_agent_threads_directive_return_7f75a971"]
    );
}

#[test]
fn every_problem_is_reported() {
    let mut bad_schema = entry("schema");
    bad_schema.spec.input_schema = json!({"type": "objekt"});
    let mut remote = entry("remote");
    remote.spec.input_schema = json!({"$ref": "http://127.0.0.1:1/schema.json"});
    let entries = vec![
        entry("a"),
        entry("a"),
        entry("b").with_aliases(&["a"]),
        entry(DIRECTIVE_RETURN),
        bad_schema,
        remote,
    ];
    let error = Palette::new(entries).unwrap_err();
    let shown: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "tool id `a` stands for two tools; rename one or drop its alias",
            "tool id `a` stands for two tools; rename one or drop its alias",
            "tool id `rye/agent/threads/directive_return` is reserved for returning outputs; choose another id",
            "input schema of tool `schema` cannot be used: \"objekt\" is not valid under any of the schemas listed in the 'anyOf' keyword",
            "input schema of tool `remote` cannot be used: the reference `http://127.0.0.1:1/schema.json` leads to no part of it",
        ]
    );
    assert_eq!(error.to_string(), shown.join("; "));
}

#[test]
fn specs_are_sorted_and_show_directive_return_only_for_outputs() {
    let palette = Palette::new(vec![entry("z/z"), entry("a/a").with_aliases(&["fs_a"])]).unwrap();
    let shown = |contract: &OutputContract| -> Vec<String> {
        palette.specs(contract).into_iter().map(|spec| spec.name).collect()
    };
    assert_eq!(shown(&OutputContract::default()), ["a_a", "rye_execute", "z_z"]);
    let contract =
        OutputContract::new(vec![OutputField::required("x", ValueType::String)]).unwrap();
    assert_eq!(
        shown(&contract),
        ["a_a", "rye_agent_threads_directive_return", "rye_execute", "z_z"]
    );
    let specs = palette.specs(&contract);
    let execute = specs.iter().find(|spec| spec.name == "rye_execute").unwrap();
    assert_eq!(
        execute.description,
        "Runs a tool by its item id with the parameters that it takes. Item ids: a/a, \
         rye/agent/threads/directive_return, z/z."
    );
    assert_eq!(palette.specs(&contract), specs, "the same bytes every time");
}

/// A thread that began when aliases were named keeps its tools to the byte. Other recorded tools are not taken over.
#[test]
fn a_recorded_thread_keeps_the_tools_that_it_began_with() {
    let palette = Palette::new(vec![entry("a/a").with_aliases(&["fs_a"])]).unwrap();
    let contract = OutputContract::default();
    let specs = palette.specs(&contract);
    let mut older = specs.clone();
    older[1].description = older[1].description.replace("Item ids: a/a.", "Item ids: a/a, fs_a.");
    assert_ne!(older, specs);
    assert_eq!(palette.specs_as_recorded(&contract, &older), older);
    assert_eq!(palette.specs_as_recorded(&contract, &specs), specs);
    older[1].description.push_str(" More.");
    assert_eq!(palette.specs_as_recorded(&contract, &older), specs);
    assert!(palette.specs_as_recorded(&contract, &[]) == specs);
    let fs_a = palette.by_id("fs_a").map(|offered| offered.entry.item_id.as_str());
    assert_eq!(fs_a, Some("a/a"), "an old name is understood");
}

#[track_caller]
fn check_resolves(name: &str, arguments: Value, expected: Result<(&str, Value), &str>) {
    let palette = Palette::new(vec![entry("a/a").with_aliases(&["fs_a"]), entry("b/b")]).unwrap();
    let resolved = palette.resolve(&ToolCall::new("1", name, arguments));
    let resolved = match &resolved {
        Ok(resolved) => Ok((resolved.offered.entry.item_id.as_str(), resolved.arguments.clone())),
        Err(unresolved) => Err(format!("{unresolved:?}")),
    };
    assert_eq!(resolved, expected.map_err(str::to_owned));
}

#[test]
fn a_palette_name_means_its_tool() {
    check_resolves("a_a", json!({"a": 1}), Ok(("a/a", json!({"a": 1}))));
}

#[test]
fn arguments_cannot_name_another_tool() {
    let arguments = json!({"item_id": "b/b", "item_type": "tool"});
    check_resolves("a_a", arguments.clone(), Ok(("a/a", arguments)));
}

#[test]
fn execute_means_the_tool_that_it_names() {
    let arguments =
        json!({"item_type": "tool", "item_id": "a/a", "parameters": {"item_id": "b/b"}});
    check_resolves("rye_execute", arguments, Ok(("a/a", json!({"item_id": "b/b"}))));
    let alias = json!({"item_type": "tool", "item_id": "fs_a"});
    check_resolves("rye_execute", alias, Ok(("a/a", json!({}))));
}

#[test]
fn execute_does_not_run_itself() {
    let arguments = json!({"item_type": "tool", "item_id": "rye_execute", "parameters": {}});
    check_resolves(
        "rye_execute",
        arguments,
        Err(r#"UnknownId { kind: Tool, id: "rye_execute", arguments: Object {} }"#),
    );
}

#[test]
fn unknown_names_and_ids() {
    check_resolves("c", json!({}), Err(r#"UnknownName("c")"#));
    check_resolves("fs_a", json!({}), Ok(("a/a", json!({}))));
    check_resolves("fs_b", json!({}), Err(r#"UnknownName("fs_b")"#));
    let arguments = json!({"item_type": "tool", "item_id": "c"});
    check_resolves(
        "rye_execute",
        arguments,
        Err(r#"UnknownId { kind: Tool, id: "c", arguments: Object {} }"#),
    );
}

#[test]
fn execute_reports_every_problem_with_its_arguments() {
    check_resolves(
        "rye_execute",
        json!({"item_type": "thing", "parameters": "{}", "thread": "fork"}),
        Err(
            r#"Unreadable(["`thread` is not an argument of `rye_execute`; use `item_type`, `item_id`, `parameters`", "`item_type` must be `tool`, the only kind of item that this thread can execute", "`item_id` must be a string that names a tool", "`parameters` must be an object"])"#,
        ),
    );
    check_resolves(
        "rye_execute",
        json!([]),
        Err(r#"Unreadable(["arguments of `rye_execute` must be an object"])"#),
    );
}

/// Without a supervisor of children, a call that asks for a child still resolves to its directive.
#[test]
fn a_thread_that_nothing_starts_is_named_by_its_directive() {
    check_resolves(
        "rye_execute",
        json!({"item_type": "directive", "item_id": "a/d", "thread": "fork"}),
        Err(
            r#"UnknownId { kind: Directive, id: "a/d", arguments: Object {"directive": String("a/d")} }"#,
        ),
    );
    check_resolves(
        "rye_execute",
        json!({"item_type": "directive", "thread": "fork"}),
        Err(r#"Unreadable(["`item_id` must be a string that names the directive"])"#),
    );
}

#[test]
fn problems_name_the_place_and_do_not_quote_at_length() {
    let mut long = entry("a");
    long.spec.input_schema = json!({"properties": {"a": {"items": {"type": "integer"}}}});
    let palette = Palette::new(vec![long]).unwrap();
    let resolved =
        palette.resolve(&ToolCall::new("1", "a", json!({"a": [1, "x".repeat(9_999)]}))).unwrap();
    let problems = resolved.offered.problems(&resolved.arguments);
    assert_eq!(problems, [format!("at `/a/1`: \"{}", "x".repeat(299))]);
    assert_eq!(resolved.offered.problems(&json!({"a": [1]})), Vec::<String>::new());
}

/// Returns the output of a call that is not authorised.
fn refused(palette: &Palette, authority: &Authority, arguments: Value) -> ToolOutput {
    palette.authorise(authority, "a/b", arguments).unwrap().unwrap_err()
}

#[tokio::test]
async fn a_call_runs_once_it_is_authorised() {
    let palette = Palette::new(vec![entry("a/b")]).unwrap();
    let everything = Layer::new(LayerName::Operator, Grant::everything());
    let authority = Authority::new(everything);
    let call = palette.authorise(&authority, "a/b", json!({"a": 1})).unwrap().unwrap();
    assert_eq!(call.permit().capability().as_str(), "rye.execute.tool.a.b");
    assert_eq!(call.run(&()).await, ToolOutput::ok(json!({"a": 1})));
    assert!(palette.authorise(&authority, "a/c", json!({"a": 1})).is_none());
    let misfit = refused(&palette, &authority, json!({}));
    assert_eq!((misfit.status, &misfit.content["error"]), (ToolStatus::Error, &json!(MISFIT)));
    let denied = refused(&palette, &Authority::denied(), json!({"a": 1}));
    assert_eq!(denied.status, ToolStatus::Refused);
    let asking = Palette::new(vec![entry("a/b").with_asking(Asking::Always)]).unwrap();
    assert_eq!(refused(&asking, &authority, json!({"a": 1})).status, ToolStatus::Refused);
}
