//! Steps in a body, and placeholders.

use rye_parse::{Fallback, Placeholder, Step, StepReference, placeholders};

use crate::{noted, read, rows};

fn with_body(body: &str) -> String {
    format!("```xml\n<directive name=\"a\"/>\n```\n\n{body}\n")
}

/// Writes a step in one line: name, description, and each call with its arguments.
fn shown(step: &Step) -> String {
    let mut shown = format!("{}: {}", step.name.as_deref().unwrap_or("-"), step.description);
    for action in &step.actions {
        let action = &action.value;
        let fields = [&action.item_type, &action.item_id, &action.query, &action.scope];
        let fields: Vec<_> = fields.map(|field| field.as_deref().unwrap_or("-")).to_vec();
        let json = |map| serde_json::to_string(map).expect("JSON");
        shown += &format!(
            " | {} {} {} {}",
            action.primary,
            fields.join(" "),
            json(&action.parameters),
            json(&action.options)
        );
    }
    shown
}

#[track_caller]
fn steps(body: &str, expected: &[&str]) {
    let source = with_body(body);
    let directive = read(&source);
    assert_eq!(directive.steps.iter().map(|step| shown(&step.value)).collect::<Vec<_>>(), expected);
    for step in &directive.steps {
        let inside = directive.body.span.start..=directive.body.span.end;
        assert!(inside.contains(&step.span.start) && inside.contains(&step.span.end), "{step:?}");
    }
}

rows! { steps;
    prose_has_none: "Just do it, with `code` and <b>tags</b>.", &[];
    step_of_prose: "<process>\n<step name=\"s\">\n  Do it.\n</step>\n</process>", &["s: Do it."];
    step_without_process: "<step name=\"s\">a</step> <step>b</step><step name=\"c\"/>", &["s: a", "-: b", "c: "];
    described_step: "<step name=\"s\"><description>Find.</description><search item_type=\"knowledge\" query=\"{input:t}\" /></step>", &[
        "s: Find. | search knowledge - {input:t} - {} {}",
    ];
    step_with_parameters: "<step name=\"s\">Write.\n<execute item_type=\"tool\" item_id=\"rye/file-system/fs_write\">\n<param name=\"path\" value=\"{input:p}\" />\n<param name=\"content\">a &lt; b</param>\n</execute>\n</step>", &[
        r#"s: Write. | execute tool rye/file-system/fs_write - - {"path":"{input:p}","content":"a < b"} {}"#,
    ];
    layout_around_a_parameter: "<step><execute item_id=\"x\"><param name=\"a\">\r\n  b\n c \n</param><param name=\"b\"> \n </param></execute></step>", &[
        r#"-:  | execute - x - - {"a":"b\n c","b":""} {}"#,
    ];
    white_space_of_a_parameter: "<step><execute item_id=\"x\"><param name=\"a\"> <![CDATA[ x\n]]> </param><param name=\"b\">&#10;y&#32;\n</param><param name=\"c\"><![CDATA[ ]]></param><param name=\"d\">&#10;</param><param name=\"e\"> a<![CDATA[\n]]></param></execute></step>", &[
        r#"-:  | execute - x - - {"a":" x\n","b":"\ny ","c":" ","d":"\n","e":"a\n"} {}"#,
    ];
    other_attributes: "<step><load item_type=\"tool\" item_id=\"x\" destination=\"project\"/></step>", &[
        r#"-:  | load tool x - - {} {"destination":"project"}"#,
    ];
    call_in_step: "<step name=\"s\">Go.\n`rye_fetch(query=\"{input:n}\", scope=\"directive\")`</step>", &[
        "s: Go. | fetch - - {input:n} directive {} {}",
    ];
    call_in_description: "<step name=\"s\"><description>Go `rye_sign(item_type=\"directive\", item_id=\"x\")`</description></step>", &[
        "s: Go `rye_sign(item_type=\"directive\", item_id=\"x\")` | sign directive x - - {} {}",
    ];
    tags_in_code_are_shown: "<step name=\"s\">All go under `<execute><tool>`, in <execute>, and:\n```\n</step>\n```\nthen.</step>", &[
        "s: All go under `<execute><tool>`, in <execute>, and:\n```\n</step>\n```\nthen.",
    ];
    tags_in_comments_are_hidden: "<!-- <step name=\"no\"/> --><step name=\"s\"><example></step></example>x</step>", &[
        "s: <example></step></example>x",
    ];
    fence_word_in_a_line: "<step name=\"s\">A single ```xml fence.</step>\n\n<step name=\"t\">b</step>", &["s: A single ```xml fence.", "t: b"];
    quoted_angle: "<step name=\"a > b\">x</step>", &["a > b: x"];
    markdown_calls: "## Process\n\n**Check**\nLook first.\n`rye_fetch(query=\"a\", scope=\"tool\")`\n\n1. **Write**\n`rye_execute(item_type=\"tool\", item_id=\"x/y\", parameters={\"a\": 1, \"b\": [true, null]},)`\n\n### Done\nNothing to call.", &[
        "Check: Look first. | fetch - - a tool {} {}",
        r#"Write:  | execute tool x/y - - {"a":1,"b":[true,null]} {}"#,
    ];
    markdown_call_without_heading: "First `rye_load(item_type='tool', item_id='x', deep=True, n=None)` it.", &[
        r#"-: First  it. | load tool x - - {} {"deep":true,"n":null}"#,
    ];
    call_over_lines: "`rye_execute(\n  item_type = \"tool\",\n  item_id=\"x\",\n  parameters={\"code\": \"``\"}\n)`", &[
        r#"-:  | execute tool x - - {"code":"``"} {}"#,
    ];
    inputs_are_parameters: "`rye_execute(item_type=\"directive\", item_id=\"x\", inputs={\"a\": 1})`", &[
        r#"-:  | execute directive x - - {"a":1} {}"#,
    ];
    calls_in_blocks_are_shown: "```\n`rye_sign(item_id=\"x\")`\n```", &[];
    numbers_and_words: "`rye_load(item_id=\"x\", limit=-5, all=true, none=null)`", &[r#"-:  | load - x - - {} {"limit":-5,"all":true,"none":null}"#];
    mentions_are_text: "Never write `rye_execute(...)` or `rye_load(…)`.", &[];
    other_names_are_code: "`rye_run(x=1)` `execute(x=1)` `rye_sign`", &[];
}

#[track_caller]
fn body_noted(marked: &str, messages: &[&str]) {
    noted(&with_body(marked), messages);
}

rows! { body_noted;
    unclosed_step: "<process>«<step name=\"s\">» a\n</process>", &["`<step>` has no end tag; add `</step>` behind its calls; until then they belong to it"];
    unclosed_steps: "<process>«<step>»a«<step>»b", &[
        "`<step>` has no end tag; add `</step>` behind its calls; until then they belong to it",
        "`<step>` has no end tag; add `</step>` behind its calls; until then they belong to it",
    ];
    unclosed_call: "<process><step>«<execute item_id=\"x\">»a</step>", &["`<execute>` cannot be read as a step; its `</execute>` is missing"];
    malformed_call: "<process><step>«<execute item_id=x/>»</step>", &[
        "`<execute>` cannot be read as a step; malformed attribute of `<execute>`; quote every value; if this is text, write `<` as `&lt;` or use CDATA",
    ];
    unknown_call_child: "<process><step>«<execute item_id=\"x\"><arg/></execute>»</step>", &[
        "`<execute>` cannot be read as a step; unknown element `<arg>` in `<execute>`; valid: `param`, `inputs`",
    ];
    elided_parameters: "«`rye_execute(item_id=\"x\", parameters={...})`»", &[
        "`rye_execute(…)` cannot be read as a step; the value of `parameters` is not JSON",
    ];
    duplicate_parameter: "«`rye_execute(item_id=\"x\", parameters={\"a\": 1, \"a\": 2})`»", &[
        "`rye_execute(…)` cannot be read as a step; key `a` is given twice; keep one of them",
    ];
    duplicate_argument: "«`rye_sign(item_id=\"x\", item_id=\"y\")`»", &[
        "`rye_sign(…)` cannot be read as a step; argument `item_id` is given twice",
    ];
    number_for_text: "«`rye_sign(item_id=1)`»", &["`rye_sign(…)` cannot be read as a step; `item_id` is not text"];
    parameters_of_text: "«`rye_sign(parameters=\"x\")`»", &["`rye_sign(…)` cannot be read as a step; `parameters` is not an object"];
    parameters_and_inputs: "«`rye_execute(item_id=\"x\", parameters={\"a\": 1}, inputs={\"b\": 1})`»", &[
        "`rye_execute(…)` cannot be read as a step; `parameters` and `inputs` are two names of one argument",
    ];
    positional: "«`rye_sign(\"x\")`»", &["`rye_sign(…)` cannot be read as a step; `name=value` is expected"];
    missing_comma: "«`rye_sign(item_id=\"x\" scope=\"y\")`»", &[
        "`rye_sign(…)` cannot be read as a step; `,` or `)` is expected after `item_id`",
    ];
    more_behind: "«`rye_sign(item_id=\"x\") now`»", &["`rye_sign(…)` cannot be read as a step; the call does not end at its `)`"];
    quote_in_parameters: "«`rye_execute(item_id=\"x\", parameters={'a': 1})`»", &[
        "`rye_execute(…)` cannot be read as a step; the value of `parameters` is not JSON",
    ];
    unknown_operation: "«`rye_exec(item_type=\"tool\", item_id=\"x\")`»", &[
        "`rye_exec(…)` cannot be read as a step; did you mean `execute`? valid: `execute`, `search`, `load`, `sign`, `fetch`",
    ];
    uncalled_element: "<process><step>«<directive_return answer=\"1\"/>» <br/> <b class=\"x\">b</b> `<i x=\"1\"/>`</step></process><i x=\"1\"/>", &[
        "`<directive_return>` is no call, and nothing carries it out; write a call as `<execute item_type=\"tool\" item_id=\"…\">` with a `<param name=\"…\" value=\"…\" />` for each argument",
    ];
    unknown_element: "<process><step>«<excute item_type=\"tool\" item_id=\"x\"/>» <note x=1></step>", &[
        "`<excute>` cannot be read as a step; did you mean `execute`? valid: `execute`, `search`, `load`, `sign`, `fetch`",
    ];
    unclosed_backtick: "Do «`rye_sign(item_id=\"x\")»\n\n`b`", &["`rye_sign(…)` cannot be read as a step; its closing backtick is missing"];
    call_outside_of_steps: "<process>«<search query=\"x\"/>»<step>a</step></process>", &[
        "`<search>` cannot be read as a step; put it into a `<step name=\"…\">`",
    ];
    call_without_steps: "Then «<search query=\"x\"/>», and <search> it.", &[
        "`<search>` cannot be read as a step; put it into a `<step name=\"…\">`",
    ];
    step_outside_of_process: "«<step>»a</step><process><step>b</step></process><step>c</step>", &[
        "a step stands outside of `<process>`, and is carried out all the same; put it between `<process>` and `</process>`",
    ];
    step_in_an_open_comment: "<process>«<!--»<step>a</step></process>", &[
        "a step stands behind `<!--`, which is not closed, and is carried out all the same; close it, or remove it",
    ];
    step_in_an_open_example: "<process>«<example» x><step>a</step></process>", &[
        "a step stands behind `<example`, which is not closed, and is carried out all the same; close it, or remove it",
    ];
    no_step_in_an_open_comment: "Then <!-- that.", &[];
    call_in_indented_code: "For example:\n\n    «`rye_sign(item_id=\"x\")`»", &[
        "a step stands in indented code, and is carried out all the same; indent it less if it is a step, or put it into a fence if it is an example",
    ];
    call_in_a_list: "- Do:\n\n    `rye_sign(item_id=\"x\")`\n\n1. And\n\n\t`rye_sign(item_id=\"x\")`\n    `rye_sign(item_id=\"x\")`", &[];
    unclosed_parenthesis: "«`rye_sign(item_id=\"x\"`»", &["`rye_sign(…)` cannot be read as a step; `,` or `)` is expected after `item_id`"];
}

#[test]
fn steps_inside_the_fence() {
    let source = "```xml\n<directive name=\"a\"><process><step name=\"s\"><sign item_type=\"directive\" item_id=\"{input:n}\"/></step></process></directive>\n```\n\n<step name=\"t\">x</step>";
    let steps: Vec<_> = read(source).steps.iter().map(|step| shown(&step.value)).collect();
    assert_eq!(steps, ["t: x", "s:  | sign directive {input:n} - - {} {}"]);
}

fn step(name: &str, path: &[&str]) -> Placeholder {
    let path = path.iter().map(|key| (*key).to_owned()).collect();
    Placeholder::Step(StepReference { name: name.to_owned(), path })
}

fn escaped(text: &str) -> Placeholder {
    Placeholder::Escaped { text: text.to_owned() }
}

fn input(name: &str, fallback: Fallback) -> Placeholder {
    Placeholder::Input { name: name.into(), fallback }
}

#[track_caller]
fn found(text: &str, expected: &[(&str, Placeholder)]) {
    let found = placeholders(text);
    let found: Vec<_> =
        found.iter().map(|found| (&text[found.span.clone()], found.value.clone())).collect();
    assert_eq!(found, expected);
}

rows! { found;
    plain: "a {input:n} b", &[("{input:n}", input("n", Fallback::None))];
    optional: "{input:n?}", &[("{input:n?}", input("n", Fallback::Empty))];
    default_after_colon: "{input:n:a: b}", &[("{input:n:a: b}", input("n", Fallback::Default("a: b".into())))];
    default_after_bar: "{input:n|}", &[("{input:n|}", input("n", Fallback::Default(String::new())))];
    dotted: "${inputs.n-1}", &[("${inputs.n-1}", input("n-1", Fallback::None))];
    dollar_before: "${input:n}", &[("{input:n}", input("n", Fallback::None))];
    step_result: "${steps.s.a.b}${steps.t}", &[
        ("${steps.s.a.b}", step("s", &["a", "b"])),
        ("${steps.t}", step("t", &[])),
    ];
    any_name_of_a_step: "${steps.Größe.path} ${steps.my step.x} ${steps.} ${steps.a.}", &[
        ("${steps.Größe.path}", step("Größe", &["path"])),
        ("${steps.my step.x}", step("my step", &["x"])),
        ("${steps.}", step("", &[])),
        ("${steps.a.}", step("a", &[""])),
    ];
    written_literally: "\\{input:a} \\${inputs.b} \\\\{input:a?} \\${steps.a} \\{input:", &[
        ("\\{input:a}", escaped("{input:a}")),
        ("\\${inputs.b}", escaped("${inputs.b}")),
        ("\\{input:a?}", escaped("{input:a?}")),
        ("${steps.a}", step("a", &[])),
    ];
    neighbours: "{{input:a}}{input:b}", &[("{input:a}", input("a", Fallback::None)), ("{input:b}", input("b", Fallback::None))];
    not_placeholders: "{input:} {input:a b} {input:a {inputs.a} ${inputs.a.b} ${steps.a ${steps.a\n} {Input:a} {input:ä} {input:a?x}", &[];
}
