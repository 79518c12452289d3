//! Hooks files.

use rye_parse::hooks;
use rye_types::{HookEvent, Position};
use serde_json::json;

use crate::{conditions::notation, refused, rows};

const FULL: &str = "\
hooks:
  - id: base
    event: resolve_extends
    layer: 0
    order: -5
    when: directive.category eq \"deploy\" and directive.extends ne \"team/base\"
    extends: team/base
  - id: preamble
    event: thread_started
    position: after
    wrap: false
    action: {primary: execute, item_type: knowledge, item_id: team/preamble}
  - id: warn
    event: error
    layer: 4
    conditions:
      - {path: error.code, op: in, value: [429, 529]}
      - not: {path: error.final, op: exists}
      - any:
          - when: cost.turns gte 5
          - all: [{path: a.b, op: eq, value: true}]
    actions:
      - primary: execute
        item_type: directive
        item_id: ops/warn
        params: {code: \"${error.code}\", often: 2}
      - {primary: load, item_type: knowledge, item_id: ops/note, destination: project}
";

#[test]
fn every_key_of_a_file() {
    let hooks = hooks(FULL, "yaml").expect("readable");
    let [base, preamble, warn] = [0, 1, 2].map(|index| hooks[index].value.clone());
    assert_eq!(base.hook.event.value, HookEvent::ResolveExtends);
    assert_eq!((base.layer.map(|layer| layer.value.number()), base.order), (Some(0), -5));
    assert_eq!(base.extends.map(|id| id.value).as_deref(), Some("team/base"));
    assert_eq!(
        base.hook.condition.map(|condition| notation(&condition.value)).as_deref(),
        Some("all(directive.category eq \"deploy\", directive.extends ne \"team/base\")")
    );
    assert_eq!((preamble.position, preamble.wrap), (Position::After, false));
    assert_eq!((preamble.layer, preamble.order), (None, 0));
    assert_eq!((warn.position, warn.wrap), (Position::Before, true));
    assert_eq!(
        warn.hook.condition.map(|condition| notation(&condition.value)).as_deref(),
        Some(
            "all(error.code in [429,529], not(error.final exists), any(cost.turns gte 5, all(a.b eq true)))"
        )
    );
    let [first, second] = [0, 1].map(|index| warn.hook.actions[index].value.clone());
    assert_eq!(json!(first.parameters), json!({"code": "${error.code}", "often": 2}));
    assert_eq!(second.item_id.as_deref(), Some("ops/note"));
    assert_eq!(json!(second.options), json!({"destination": "project"}));
}

#[test]
fn spans_are_those_of_the_keys() {
    let hooks = hooks(FULL, "yaml").expect("readable");
    let found: Vec<_> = hooks.iter().map(|hook| &FULL[hook.span.clone()]).collect();
    assert_eq!(found, ["id", "id", "id"]);
    let condition = hooks[0].value.hook.condition.as_ref().expect("given");
    assert_eq!(
        &FULL[condition.span.clone()],
        "directive.category eq \"deploy\" and directive.extends ne \"team/base\""
    );
}

#[test]
fn the_same_in_toml_and_json() {
    let toml = "[[hooks]]\nid = \"a\"\nevent = \"limit\"\nwhen = \"limit.name eq 'turns'\"\naction = {primary = \"sign\", item_id = \"x\"}\n";
    let json = r#"{"hooks": [{"id": "a", "event": "limit", "when": "limit.name eq 'turns'", "action": {"primary": "sign", "item_id": "x"}}]}"#;
    for (text, extension) in [(toml, "toml"), (json, "json")] {
        let hooks = hooks(text, extension).expect("readable");
        assert_eq!(hooks[0].value.hook.actions.len(), 1);
        let condition = hooks[0].value.hook.condition.as_ref().expect("given");
        assert_eq!(notation(&condition.value), "limit.name eq \"turns\"");
    }
}

#[track_caller]
fn hooks_refused(marked: &str, messages: &[&str]) {
    refused(|source| hooks(source, "yaml"), marked, messages);
}

const EVENTS: &str = "`resolve_extends`, `thread_started`, `thread_continued`, `after_step`, `limit`, `error`, `directive_return`, `after_complete`, `context_limit_reached`";

#[track_caller]
fn hook_refused(marked: &str, messages: &[&str]) {
    let messages: Vec<_> =
        messages.iter().map(|message| message.replace("EVENTS", EVENTS)).collect();
    let messages: Vec<_> = messages.iter().map(String::as_str).collect();
    hooks_refused(&format!("hooks:\n  - {}\n", marked.replace('\n', "\n    ")), &messages);
}

rows! { hooks_refused;
    no_hooks: "«{}»", &["no `hooks` is given; add `hooks: …`"];
    another_key: "hooks: []\n«hook»: 1\n", &["unknown key `hook`; did you mean `hooks`? valid: `hooks`"];
    a_bare_list: "«- id: a»\n", &["the YAML document is a list, not a mapping; write `key: value` pairs"];
    hooks_as_a_mapping: "«hooks»:\n  a: {}\n", &["`hooks` is a mapping, not a list; begin each hook with `- id: …`"];
    a_hook_of_text: "hooks: [«a»]\n", &["a hook is text, not a mapping"];
    two_of_one_id: "hooks:\n  - {id: a, event: limit, action: {primary: sign}}\n  - {«id»: a, event: limit, action: {primary: sign}}\n", &[
        "hook `a` is declared twice; give each hook of a file its own `id`",
    ];
}

rows! { hook_refused;
    unknown_key: "id: a\nevent: limit\n«events»: x\naction: {primary: sign}", &[
        "unknown key `events`; did you mean `event`? valid: `id`, `event`, `layer`, `order`, `condition`, `conditions`, `when`, `position`, `wrap`, `effect`, `action`, `actions`, `extends`",
    ];
    unknown_event: "id: a\n«event»: after_turn\naction: {primary: sign}", &[
        "unknown event `after_turn`; did you mean `after_step`? valid: EVENTS",
    ];
    no_id: "«event»: limit\naction: {primary: sign}", &["no `id` is given; add `id: …`"];
    no_action: "«id»: a\nevent: limit", &[
        "no `action` is given; add `action: {primary: execute, item_type: …, item_id: …}`",
    ];
    an_effect_that_is_none: "id: a\nevent: error\n«effect»: again", &[
        "unknown effect `again`; valid: `retry`, `fail`, `abort`, `continue`, `escalate`",
    ];
    an_effect_of_another_event: "id: a\nevent: limit\n«effect»: retry", &[
        "unknown effect at `limit` `retry`; valid: `fail`, `abort`, `escalate`",
    ];
    an_effect_where_nothing_is_decided: "id: a\nevent: after_complete\n«effect»: fail\naction: {primary: sign}", &[
        "`effect` has no meaning for event `after_complete`; remove it",
    ];
    no_extends: "«id»: a\nevent: resolve_extends", &[
        "no `extends` is given; add `extends: …`, the id of a directive",
    ];
    extends_of_another_event: "id: a\nevent: limit\n«extends»: b\naction: {primary: sign}", &[
        "`extends` has no meaning for event `limit`; remove it",
    ];
    action_that_resolves: "id: a\nevent: resolve_extends\nextends: b\n«action»: {primary: sign}", &[
        "`action` has no meaning for event `resolve_extends`; remove it",
    ];
    position_of_another_event: "id: a\nevent: limit\n«position»: before\n«wrap»: true\naction: {primary: sign}", &[
        "`position` has no meaning for event `limit`; remove it",
        "`wrap` has no meaning for event `limit`; remove it",
    ];
    bad_extends: "id: a\nevent: resolve_extends\n«extends»: ../b", &[
        "`extends` is `../b`, not an item id such as `project/rules`",
    ];
    unknown_position: "id: a\nevent: thread_started\n«position»: suppress\naction: {primary: load}", &[
        "unknown position `suppress`; valid: `system`, `before`, `after`",
    ];
    layer_of_directives: "id: a\nevent: limit\n«layer»: 1\naction: {primary: sign}", &[
        "`layer` is `1`, not a layer of hooks files; write the hook into the directive's `<hooks>`",
    ];
    layer_that_is_none: "id: a\nevent: limit\n«layer»: project\naction: {primary: sign}", &[
        "`layer` is `project`, not one of 0 (user), 2 (built-in), 3 (project) and 4 (infrastructure)",
    ];
    order_of_text: "id: a\nevent: limit\n«order»: first\naction: {primary: sign}", &["`order` is text, not a whole number"];
    wrap_of_text: "id: a\nevent: thread_started\n«wrap»: \"no\"\naction: {primary: load}", &["`wrap` is text, not `true` or `false`"];
    id_of_a_number: "«id»: 1\nevent: limit\naction: {primary: sign}", &["`id` is a number, not text; quote it: `\"1\"`"];
    unknown_action: "id: a\nevent: limit\naction: {«primary»: run}", &[
        "unknown primary `run`; valid: `execute`, `search`, `load`, `sign`, `fetch`",
    ];
    unknown_action_key: "id: a\nevent: limit\naction: {primary: sign, «item»: x}", &[
        "unknown key `item`; did you mean `item_id`? valid: `primary`, `item_type`, `item_id`, `query`, `scope`, `params`, `parameters`, `destination`, `thread`, `async`",
    ];
    unknown_item_type: "id: a\nevent: limit\naction: {primary: sign, «item_type»: tools}", &[
        "unknown item type `tools`; did you mean `tool`? valid: `tool`, `directive`, `knowledge`",
    ];
    params_of_text: "id: a\nevent: limit\naction: {primary: sign, «params»: x}", &["`params` is text, not a mapping"];
    both_names_of_params: "id: a\nevent: limit\naction: {primary: sign, params: {}, «parameters»: {}}", &[
        "the action's parameters is declared twice; keep `params`",
    ];
    both_forms_of_action: "id: a\nevent: limit\naction: {primary: sign}\n«actions»: []", &[
        "the hook's action is declared twice; put all of them into the list below `actions`",
    ];
    no_actions: "id: a\nevent: limit\n«actions»: []", &["`actions` is empty"];
    both_forms_of_condition: "id: a\nevent: limit\n«when»: a exists\ncondition: {path: a, op: exists}\naction: {primary: sign}", &[
        "the hook's condition is declared twice; put all of them into a list below `conditions`",
    ];
    condition_of_text: "id: a\nevent: limit\n«condition»: a exists\naction: {primary: sign}", &["`condition` is text, not a mapping"];
    condition_without_a_value: "id: a\nevent: limit\ncondition: {«path»: a, op: eq}\naction: {primary: sign}", &["no `value` is given; add `value: …`"];
    condition_with_a_list: "id: a\nevent: limit\ncondition: {path: a, op: eq, «value»: [1]}\naction: {primary: sign}", &[
        "`value` is `[1]`, not text, a number or a boolean",
    ];
    condition_in_a_text: "id: a\nevent: limit\ncondition: {path: a, op: in, «value»: \"1, 2\"}\naction: {primary: sign}", &[
        "`value` is `1, 2`, not a list such as `[a, b]`",
    ];
    condition_beside_any: "id: a\nevent: limit\ncondition: {any: [{path: a, op: exists}], «op»: eq}\naction: {primary: sign}", &["unknown key `op`; valid: `any`"];
    any_of_nothing: "id: a\nevent: limit\ncondition: {«any»: []}\naction: {primary: sign}", &["`any` is empty"];
    when_of_half: "id: a\nevent: limit\nwhen: a exists and «b»\naction: {primary: sign}", &[
        "the condition cannot be read: an operator is expected; write `path op value`, such as `cost.turns gte 5`",
    ];
}

#[test]
fn conditions_nest_sixteen_deep() {
    let file = |depth: usize| {
        let condition =
            format!("{}{{path: a, op: exists}}{}", "{not: ".repeat(depth), "}".repeat(depth));
        format!(
            "hooks:\n  - id: a\n    event: limit\n    condition: {condition}\n    action: {{primary: sign}}\n"
        )
    };
    assert!(hooks(&file(16), "yaml").is_ok());
    let error = hooks(&file(17), "yaml").expect_err("refused");
    assert_eq!(error.problems()[0].to_string(), "conditions are nested deeper than 16");
}
