//! The content of `<metadata>`.

use rye_parse::{ContextContent, ContextPosition, PermissionEntry};
use rye_types::{HookEvent, Nanos, SpendLimit};

use crate::{conditions::notation, file, metadata, metadata_refused, noted, read, rows};

const LIMITS: &str =
    "`turns`, `tokens`, `spend`, `duration_seconds`, `spawns`, `depth`, `spend_currency`";

#[track_caller]
fn limit_refused(marked: &str, message: &str) {
    metadata_refused(marked, &[&message.replace("LIMITS", LIMITS)]);
}

rows! { limit_refused;
    unknown_limit: "<limits «turn»=\"4\"/>", "unknown limit `turn`; did you mean `turns`? valid: LIMITS";
    far_limit: "<limits «fuel»=\"4\"/>", "unknown limit `fuel`; valid: LIMITS";
    limit_twice: "<limits turns=\"4\" «max_turns»=\"5\"/>", "`max_turns` and `turns` are the same limit; keep one of them";
    limit_not_a_number: "<limits turns=\"«many»\"/>", "`turns` is `many`, not a whole number such as `4096`";
    limit_negative: "<limits max_tokens=\"«-1»\"/>", "`max_tokens` is `-1`, not a whole number such as `4096`";
    limit_with_plus: "<limits turns=\"«+1»\"/>", "`turns` is `+1`, not a whole number such as `4096`";
    limit_too_large: "<limits depth=\"«18446744073709551616»\"/>", "`depth` is `18446744073709551616`, not a whole number such as `4096`";
    spend_of_ten_decimals: "<limits spend=\"«0.0000000001»\"/>", "`spend` is `0.0000000001`, not an amount such as `0.50` (at most 9 decimals) or `unlimited`";
    spend_with_sign: "<limits spend=\"«$1»\"/>", "`spend` is `$1`, not an amount such as `0.50` (at most 9 decimals) or `unlimited`";
    spend_too_large: "<limits spend=\"«18446744074»\"/>", "`spend` is `18446744074`, not an amount such as `0.50` (at most 9 decimals) or `unlimited`";
    spend_of_a_dot: "<limits spend=\"«.5»\"/>", "`spend` is `.5`, not an amount such as `0.50` (at most 9 decimals) or `unlimited`";
    limit_as_element: "<limits><«turns»>4</turns></limits>", "unknown element `<turns>` in `<limits>`; write limits as attributes, such as `<limits turns=\"6\"/>`";
    limits_with_text: "<limits>«four turns»</limits>", "text in `<limits>`";
    limits_twice: "<limits turns=\"1\"/><«limits» turns=\"2\"/>", "`<limits>` is declared twice; keep one of them, with the attributes of both";
}

#[track_caller]
fn spend(text: &str, expected: SpendLimit) {
    let limits = read(&metadata(&format!("<limits spend=\"{text}\"/>"))).limits;
    assert_eq!(limits.spend.map(|spend| spend.value), Some(expected));
}

rows! { spend;
    spend_of_cents: "0.10", SpendLimit::AtMost(Nanos::new(100_000_000));
    spend_whole: "3", SpendLimit::AtMost(Nanos::new(3_000_000_000));
    spend_of_nine_decimals: "0.000000001", SpendLimit::AtMost(Nanos::new(1));
    spend_unlimited: "unlimited", SpendLimit::Unlimited;
    spend_largest: "18446744073.709551615", SpendLimit::AtMost(Nanos::new(u64::MAX));
}

#[test]
fn limits_in_both_spellings() {
    let limits = read(&metadata("<limits max_turns=\"4\" tokens=\" 9 \" duration_seconds=\"60\" spawns=\"0\" depth=\"2\" spend_currency=\"EUR\"/>")).limits;
    let numbers =
        [limits.turns, limits.tokens, limits.duration_seconds, limits.spawns, limits.depth];
    assert_eq!(
        numbers.map(|number| number.map(|number| number.value)),
        [Some(4), Some(9), Some(60), Some(0), Some(2)]
    );
    assert_eq!(limits.spend_currency.map(|currency| currency.value).as_deref(), Some("EUR"));
}

rows! { metadata_refused;
    unknown_permission: "<permissions><«exec»><tool>a</tool></exec></permissions>", &[
        "unknown element `<exec>` in `<permissions>`; did you mean `execute`? valid: `execute`, `search`, `load`, `sign`, `fetch`, `acknowledge`",
    ];
    unknown_kind: "<permissions><execute><«tools»>a</tools></execute></permissions>", &[
        "unknown element `<tools>` in `<execute>`; did you mean `tool`? valid: `tool`, `directive`, `knowledge`",
    ];
    empty_pattern: "<permissions><execute>«<tool> </tool>»</execute></permissions>", &["`<tool>` is empty; write `<tool>…</tool>`, or remove it"];
    empty_primary: "<permissions>«<execute/>»</permissions>", &[
        "`<execute>` is empty; write `*`, or `<tool>`, `<directive>`, `<knowledge>`",
    ];
    permission_text: "<permissions>«everything»</permissions>", &["text in `<permissions>`; write `*` alone, or elements"];
    primary_text: "<permissions><search>«all»</search></permissions>", &["text in `<search>`; write `*` alone, or elements"];
    wildcard_beside: "<permissions><«search»>*<tool>a</tool></search></permissions>", &[
        "`*` in `<search>` stands beside other permissions; keep `*`, or take it away to grant only the rest",
    ];
    everything_beside: "<«permissions»>*<search>*</search></permissions>", &[
        "`*` in `<permissions>` stands beside other permissions; keep `*`, or take it away to grant only the rest",
    ];
    acknowledge_without_risk: "<permissions><«acknowledge»>why</acknowledge></permissions>", &[
        "`<acknowledge>` has no `risk`; add `risk=\"…\"`",
    ];
    acknowledge_without_reason: "<permissions>«<acknowledge risk=\"elevated\"/>»</permissions>", &["`<acknowledge>` is empty; write `<acknowledge>…</acknowledge>`, or remove it"];
    permission_attribute: "<permissions «all»=\"true\"/>", &[
        "unknown attribute `all` of `<permissions>`; `<permissions>` has no attributes",
    ];
    unknown_position: "<context><«befor»>a</befor></context>", &[
        "unknown element `<befor>` in `<context>`; did you mean `before`? valid: `system`, `before`, `after`, `suppress`",
    ];
    bad_reference: "<context><before><knowledge>«no such id»</knowledge></before></context>", &[
        "`knowledge` is `no such id`, not an item id such as `project/rules`",
    ];
    suppress_of_text: "<context><suppress>«../x»</suppress></context>", &[
        "`suppress` is `../x`, not an item id such as `project/rules`",
    ];
    file_that_climbs: "<context><before file=\"«../x.md»\"/></context>", &[
        "`file` is `../x.md`, not the path of a file in the project such as `AGENTS.md`; write `/` between its parts; each begins with a letter, a digit or `_`, and goes on with these, `.` and `-`",
    ];
    file_in_ai: "<context><system file=\"«.ai/knowledge/a.md»\"/></context>", &[
        "`file` is `.ai/knowledge/a.md`, not the path of a file in the project such as `AGENTS.md`; write `/` between its parts; each begins with a letter, a digit or `_`, and goes on with these, `.` and `-`",
    ];
    file_with_a_scheme: "<context><after file=\"«file:a.md»\"/></context>", &[
        "`file` is `file:a.md`, not the path of a file in the project such as `AGENTS.md`; write `/` between its parts; each begins with a letter, a digit or `_`, and goes on with these, `.` and `-`",
    ];
    blank_file: "<context><«before» file=\" \"/></context>", &["`file` of `<before>` is empty"];
    file_and_text: "<context>«<before file=\"a.md\">text</before>»</context>", &[
        "text in `<before>`; put the content into a `<before>` of its own",
    ];
    file_and_knowledge: "<context>«<after file=\"a.md\"><knowledge>k</knowledge></after>»</context>", &[
        "text in `<after>`; put the content into a `<after>` of its own",
    ];
    file_in_knowledge: "<context><before><knowledge «file»=\"a.md\">k</knowledge></before></context>", &[
        "unknown attribute `file` of `<knowledge>`; valid: `optional`",
    ];
    file_misspelt: "<context><before «fiel»=\"a.md\"/></context>", &[
        "unknown attribute `fiel` of `<before>`; did you mean `file`? valid: `file`, `optional`",
    ];
    optional_word: "<context><before optional=\"«yes»\">a</before></context>", &["`optional` is `yes`, not `true` or `false`"];
    element_in_context: "<context><system>use <«b»>this</b></system></context>", &[
        "unknown element `<b>` in `<system>`; write `<` as `&lt;`, or put the text in CDATA or `<raw>`",
    ];
    hook_without_all: "<hooks><«««hook»»»/></hooks>", &[
        "`<hook>` has no `id`; add `id=\"…\"`",
        "`<hook>` has no `event`; add `event=\"…\"`",
        "`<hook>` has no action; put an `<action>` into it, or an `<execute>`, `<search>`, `<load>`, `<sign>` or `<fetch>`",
    ];
    unknown_event: "<hooks><hook id=\"a\" event=\"«after_steps»\"><sign item_id=\"x\"/></hook></hooks>", &[
        "unknown event `after_steps`; did you mean `after_step`? valid: `resolve_extends`, `thread_started`, `thread_continued`, `after_step`, `limit`, `error`, `directive_return`, `after_complete`, `context_limit_reached`",
    ];
    unknown_operator: "<hooks><hook id=\"a\" event=\"limit\"><condition path=\"x\" op=\"«>=»\" value=\"1\"/><sign item_id=\"x\"/></hook></hooks>", &[
        "unknown operator `>=`; did you mean `gte`? valid: `eq`, `ne`, `gt`, `gte`, `lt`, `lte`, `in`, `contains`, `regex`, `exists`",
    ];
    condition_without_value: "<hooks><hook id=\"a\" event=\"limit\"><«condition» path=\"x\" op=\"eq\"/><sign item_id=\"x\"/></hook></hooks>", &[
        "`<condition>` has no `value`; add `value=\"…\"`",
    ];
    empty_any: "<hooks><hook id=\"a\" event=\"limit\"><«any»/><sign item_id=\"x\"/></hook></hooks>", &["`<any>` has no condition; put a `<condition>` or `<when>` into it"];
    same_hook_twice: "<hooks><hook id=\"a\" event=\"limit\"><sign item_id=\"x\"/></hook><hook id=\"«a»\" event=\"limit\"><sign item_id=\"x\"/></hook></hooks>", &[
        "hook `a` is declared twice",
    ];
    unknown_primary: "<hooks><hook id=\"a\" event=\"limit\"><action primary=\"«run»\" item_id=\"x\"/></hook></hooks>", &[
        "unknown primary `run`; valid: `execute`, `search`, `load`, `sign`, `fetch`",
    ];
    unknown_item_type: "<hooks><hook id=\"a\" event=\"limit\"><execute item_type=\"«tools»\" item_id=\"x\"/></hook></hooks>", &[
        "unknown item type `tools`; did you mean `tool`? valid: `tool`, `directive`, `knowledge`",
    ];
    same_parameter_twice: "<hooks><hook id=\"a\" event=\"limit\"><execute item_id=\"x\"><param name=\"p\">1</param><param name=\"«p»\" value=\"2\"/></execute></hook></hooks>", &[
        "parameter `p` is declared twice; keep one of them",
    ];
    two_values: "<hooks><hook id=\"a\" event=\"limit\"><execute item_id=\"x\"><param name=\"p\" value=\"1\">«2»</param></execute></hook></hooks>", &[
        "the value of `<param>` is declared twice; write the value as `value=\"…\"` or as text, not both",
    ];
    bad_cost: "<cost><context turns=\"«x»\">«lots»</context><duration>«1h»</duration><spend>«-1»</spend><«price»/></cost>", &[
        "`turns` is `x`, not a whole number such as `4096`",
        "`context` is `lots`, not a whole number such as `4096`",
        "`duration` is `1h`, not a whole number such as `4096`",
        "`spend` is `-1`, not an amount such as `0.50` (at most 9 decimals)",
        "unknown element `<price>` in `<cost>`; valid: `context`, `duration`, `spend`",
    ];
    unknown_model_attribute: "<model «name»=\"x\"/>", &[
        "unknown attribute `name` of `<model>`; valid: `tier`, `id`, `fallback`, `provider`",
    ];
    empty_model_attribute: "<«model» tier=\"\"/>", &["`tier` of `<model>` is empty"];
    bad_continuation: "<continuation_directive>«a b»</continuation_directive>", &[
        "`continuation_directive` is `a b`, not an item id such as `project/rules`",
    ];
}

#[track_caller]
fn metadata_noted(marked: &str, messages: &[&str]) {
    noted(&metadata(marked), messages);
}

rows! { metadata_noted;
    unknown_metadata: "<«homepage»>x</homepage>", &["unknown metadata `<homepage>`"];
    near_metadata: "<«permission»/>", &["unknown metadata `<permission>`; did you mean `permissions`?"];
    misplaced_metadata: "<«outputs»/>", &["unknown metadata `<outputs>`; move it behind `</metadata>`: it counts there alone"];
    text_in_model: "<model tier=\"fast\">«quick one»</model>", &["text in `<model>` is not used"];
    old_capability: "<permissions>«<cap>rye.execute.tool.x</cap>»</permissions>", &[
        "`<cap>` is the old form of a permission; write `<execute><tool>…</tool></execute>` and the like",
    ];
    empty_position: "<context>«<before> </before>»</context>", &["`<before>` is empty"];
}

#[test]
fn permissions_of_every_form() {
    let source = metadata(
        "<permissions>\n <execute><tool>rye.file-system.*</tool> <directive>test/*</directive></execute>\n <search>*</search><cap>rye.load.knowledge.x</cap>\n <acknowledge risk=\"elevated\"> needs a shell </acknowledge>\n</permissions>",
    );
    let permissions = read(&source).permissions.expect("declared");
    assert_eq!(permissions.value.raw, source[permissions.span.clone()]);
    assert!(
        permissions.value.raw.starts_with("<permissions>\n")
            && permissions.value.raw.ends_with("</permissions>")
    );
    let item = |kind: &str, pattern: &str| PermissionEntry::Item {
        primary: "execute".into(),
        kind: kind.into(),
        pattern: pattern.into(),
    };
    let entries: Vec<_> =
        permissions.value.entries.iter().map(|entry| entry.value.clone()).collect();
    assert_eq!(
        entries,
        [
            item("tool", "rye.file-system.*"),
            item("directive", "test/*"),
            PermissionEntry::Primary { primary: "search".into() },
            PermissionEntry::Literal { pattern: "rye.load.knowledge.x".into() },
        ]
    );
    assert_eq!(&source[permissions.value.entries[0].span.clone()], "rye.file-system.*");
    let acknowledged = &permissions.value.acknowledged[0].value;
    assert_eq!(
        (acknowledged.risk.as_str(), acknowledged.reason.as_str()),
        ("elevated", "needs a shell")
    );
}

#[test]
fn permissions_are_bounded() {
    let of = |count: usize| {
        let tools: String = (0..count).map(|n| format!("<tool>a{n}.*</tool>")).collect();
        metadata(&format!("<permissions><execute>{tools}</execute></permissions>"))
    };
    assert_eq!(read(&of(1_000)).permissions.expect("declared").value.entries.len(), 1_000);
    let error = rye_parse::directive(&of(1_001)).expect_err("too many");
    let problems: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        ["more than 1000 permissions; grant them with fewer patterns, such as `notes/*`"]
    );
}

#[test]
fn permissions_below_the_root_everything_and_nothing() {
    let declared =
        |inside: &str| read(&file(inside)).permissions.map(|permissions| permissions.value);
    let everything = declared(
        "<permissions>*<acknowledge risk=\"unrestricted\">all</acknowledge></permissions>",
    );
    assert_eq!(
        everything.map(|all| all.entries[0].value.clone()),
        Some(PermissionEntry::Everything)
    );
    let empty = declared("<permissions/>").expect("declared");
    assert_eq!((empty.raw.as_str(), empty.entries.len()), ("<permissions/>", 0));
    assert_eq!(declared("<inputs/>"), None);
}

#[test]
fn context_mixes_text_and_references_in_order() {
    use ContextContent::{Inline, Knowledge};
    use ContextPosition::{After, Before, Suppress, System};
    let directive = read(&metadata(
        "<context><system>You are careful.</system><before>a/b<knowledge>c</knowledge> and then <raw>a/b</raw></before>\
         <suppress>x/Identity</suppress><after optional=\"true\">z</after><before><knowledge optional=\"true\">d</knowledge></before></context>",
    ));
    let found: Vec<_> = directive
        .context
        .iter()
        .map(|entry| (entry.value.position, entry.value.optional, entry.value.content.clone()))
        .collect();
    assert_eq!(
        found,
        [
            (System, false, Inline("You are careful.".into())),
            (Before, false, Knowledge("a/b".into())),
            (Before, false, Knowledge("c".into())),
            (Before, false, Inline("and then".into())),
            (Before, false, Inline("a/b".into())),
            (Suppress, false, Knowledge("x/Identity".into())),
            (After, true, Knowledge("z".into())),
            (Before, true, Knowledge("d".into())),
        ]
    );
}

#[test]
fn context_names_files_at_each_position() {
    use ContextContent::{File, Knowledge};
    use ContextPosition::{After, Before, Suppress, System};
    let directive = read(&metadata(
        "<context><before file=\"AGENTS.md\" /><system file=\"docs/rules.md\"> </system>\
         <after optional=\"true\" file=\"notes/a.b/c\"/><before>AGENTS.md</before>\
         <suppress file=\"AGENTS.md\"/><suppress>AGENTS.md</suppress></context>",
    ));
    assert_eq!(directive.notes, []);
    let found: Vec<_> = directive
        .context
        .iter()
        .map(|entry| (entry.value.position, entry.value.optional, entry.value.content.clone()))
        .collect();
    assert_eq!(
        found,
        [
            (Before, false, File("AGENTS.md".into())),
            (System, false, File("docs/rules.md".into())),
            (After, true, File("notes/a.b/c".into())),
            (Before, false, Knowledge("AGENTS.md".into())),
            (Suppress, false, File("AGENTS.md".into())),
            (Suppress, false, Knowledge("AGENTS.md".into())),
        ]
    );
    let ids: Vec<_> = directive.context.iter().map(|entry| entry.value.content.id()).collect();
    assert_eq!(ids[0].as_deref(), Some("file:AGENTS.md"));
    assert_eq!(ids[3].as_deref(), Some("AGENTS.md"));
}

#[test]
fn hooks_become_a_tree() {
    let source = metadata(
        "<hooks><hook id=\"a\" event=\"after_step\"><condition path=\"cost.spend\" op=\"gte\" value=\"0.9\"/>\
         <any><not><condition path=\"x\" op=\"exists\"/></not><when> a == 1 and b &lt; 2 </when></any>\
         <action primary=\"execute\" item_type=\"directive\" item_id=\"warn\"><param name=\"r\">${error.resource}</param></action>\
         <execute item_type=\"directive\">stop</execute><inputs><why>cost</why><input name=\"n\">1</input></inputs></hook></hooks>",
    );
    let directive = read(&source);
    let hook = &directive.hooks[0].value;
    assert_eq!((hook.id.value.as_str(), hook.event.value), ("a", HookEvent::AfterStep));
    let condition = hook.condition.as_ref().expect("given");
    assert_eq!(
        notation(&condition.value),
        "all(cost.spend gte 0.9, any(not(x exists), all(a eq 1, b lt 2)))"
    );
    assert!(
        source[condition.span.clone()].starts_with("<condition")
            && source[condition.span.clone()].ends_with("</any>")
    );
    let actions: Vec<_> = hook
        .actions
        .iter()
        .map(|action| {
            (
                action.value.item_id.as_deref(),
                serde_json::to_string(&action.value.parameters).expect("JSON"),
            )
        })
        .collect();
    assert_eq!(
        actions,
        [
            (Some("warn"), r#"{"r":"${error.resource}"}"#.to_owned()),
            (Some("stop"), r#"{"why":"cost","n":"1"}"#.to_owned()),
        ]
    );
}

#[test]
fn cost_and_model() {
    let directive = read(&metadata(
        "<model tier=\"orchestrator\" fallback=\"general\"/><cost><context estimated_usage=\"high\" turns=\"20\" spawn_threshold=\"5\">\n100000\n</context>\
         <duration>900</duration><spend currency=\"USD\">30.00</spend></cost><continuation_directive>a/b</continuation_directive>",
    ));
    let model = directive.model.expect("declared").value;
    assert_eq!(model.fallback.map(|fallback| fallback.value).as_deref(), Some("general"));
    let cost = directive.cost.expect("declared").value;
    let context = cost.context.expect("declared").value;
    assert_eq!(
        (context.tokens, context.turns, context.spawn_threshold),
        (Some(100_000), Some(20), Some(5))
    );
    assert_eq!(cost.duration.map(|duration| duration.value), Some(900));
    assert_eq!(cost.spend.map(|spend| spend.value), Some(30_000_000_000));
    assert_eq!(directive.continuation_directive.map(|id| id.value).as_deref(), Some("a/b"));
}
