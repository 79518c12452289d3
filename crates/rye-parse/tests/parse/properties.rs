//! Properties that hold for every input.

use proptest::prelude::*;
use rye_parse::{
    Condition, Directive, ParseError, Problem, Spanned, config, directive, hooks, knowledge,
    knowledge_yaml, placeholders, position, tool,
};

use crate::{file, metadata};

/// Pieces of the grammars, so that random texts resemble real ones.
const PIECES: [&str; 64] = [
    "```xml\n",
    "```\n",
    "````\n",
    "```yaml\n",
    "---\n",
    "# T\n",
    "<directive name=\"a\">",
    "</directive>",
    "<directive",
    "<metadata>",
    "</metadata>",
    "<limits turns=\"1\" turn=\"2\"/>",
    "<permissions>",
    "</permissions>",
    "<execute>",
    "</execute>",
    "<tool>",
    "</tool>",
    "*",
    "<context>",
    "</context>",
    "<before>",
    "</before>",
    "<hooks><hook>",
    "</hook></hooks>",
    "<inputs>",
    "</inputs>",
    "<input name=\"x\"/>",
    "<process>",
    "</process>",
    "<step name=\"s\">",
    "</step>",
    "<execute item_id=\"x\">",
    "<param name=\"p\"/>",
    "`rye_sign(item_id=\"x\")`",
    "`rye_load(",
    "`",
    "``",
    "**b**\n",
    "<raw>",
    "</raw>",
    "<![CDATA[",
    "]]>",
    "<!--",
    "-->",
    "&lt;",
    "&",
    "<",
    ">",
    "\"",
    "'",
    "{input:a",
    "}",
    "${steps.a",
    "key: value\n",
    "- ",
    "[",
    "{",
    "&a ",
    "*a",
    "é",
    "\r\n",
    "\u{feff}",
    "\n",
];

fn near() -> impl Strategy<Value = String> {
    let piece = prop_oneof![9 => proptest::sample::select(&PIECES[..]).prop_map(str::to_owned), 1 => "\\PC{0,3}"];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Texts made of the words of conditions.
fn near_condition() -> impl Strategy<Value = String> {
    let words = [
        "a",
        "a.b",
        "a.0",
        "and",
        "or",
        "eq",
        "ne",
        "gt",
        "in",
        "contains",
        "regex",
        "exists",
        "==",
        "<",
        "1",
        "-1.5",
        "true",
        "null",
        "\"a\"",
        "'b'",
        "[1, \"a\"]",
        "[",
        "\"",
        "'",
        "(",
        "é",
        "&",
    ];
    let word = proptest::sample::select(words.to_vec());
    proptest::collection::vec(word, 0..12).prop_map(|words| words.join(" "))
}

#[track_caller]
fn inside(source: &str, span: &std::ops::Range<usize>) {
    assert!(source.get(span.clone()).is_some(), "{span:?} of {source:?}");
}

#[track_caller]
fn placed(source: &str, problems: &[Problem]) {
    for problem in problems {
        inside(source, &problem.span);
        assert!(
            !problem.to_string().is_empty()
                && !problem.label.is_empty()
                && !problem.kind.code().is_empty()
        );
        assert!(1 <= position(source, problem.span.start).line);
    }
}

#[track_caller]
fn placed_result<T>(source: &str, result: Result<T, ParseError>) -> Option<T> {
    match result {
        Ok(value) => Some(value),
        Err(error) => {
            assert!(!error.problems().is_empty());
            assert!(error.problems().is_sorted_by_key(|problem| problem.span.start));
            placed(source, error.problems());
            None
        }
    }
}

#[track_caller]
fn within(outer: &std::ops::Range<usize>, inner: &std::ops::Range<usize>) {
    assert!(outer.start <= inner.start && inner.end <= outer.end, "{inner:?} in {outer:?}");
}

/// Checks that the spans of an element's content are inside that of the element.
#[track_caller]
fn nested(directive: &Directive) {
    for step in &directive.steps {
        step.value.actions.iter().for_each(|action| within(&step.span, &action.span));
    }
    for hook in &directive.hooks {
        let Spanned { value: inner, span } = hook;
        within(span, &inner.id.span);
        within(span, &inner.event.span);
        inner.actions.iter().for_each(|action| within(span, &action.span));
        if let Some(condition) = &inner.condition {
            within(span, &condition.span);
            condition_nested(condition);
        }
    }
    if let Some(permissions) = &directive.permissions {
        let Spanned { value: inner, span } = permissions;
        inner.entries.iter().for_each(|entry| within(span, &entry.span));
        inner.acknowledged.iter().for_each(|entry| within(span, &entry.span));
    }
    for input in &directive.inputs {
        within(&input.span, &input.value.name.span);
    }
    assert!(directive.context.is_sorted_by_key(|entry| entry.span.start));
    assert!(directive.inputs.is_sorted_by_key(|input| input.span.start));
    assert!(directive.hooks.is_sorted_by_key(|hook| hook.span.start));
}

#[track_caller]
fn condition_nested(condition: &Spanned<Condition>) {
    for child in children(&condition.value) {
        within(&condition.span, &child.span);
        condition_nested(child);
    }
}

#[track_caller]
fn condition_placed(source: &str, condition: &Spanned<Condition>) {
    inside(source, &condition.span);
    children(&condition.value).iter().for_each(|child| condition_placed(source, child));
}

fn children(condition: &Condition) -> &[Spanned<Condition>] {
    match condition {
        Condition::Any(children) | Condition::All(children) => children,
        Condition::Not(child) => std::slice::from_ref(child),
        _ => &[],
    }
}

/// Parses a text in every way and checks each span.
#[track_caller]
fn check(source: &str) {
    if let Some(directive) = placed_result(source, directive(source)) {
        placed(source, &directive.notes);
        inside(source, &directive.body.span);
        directive.steps.iter().for_each(|step| inside(source, &step.span));
        directive.context.iter().for_each(|entry| inside(source, &entry.span));
        nested(&directive);
        assert_eq!(&source[directive.name.span.clone()], directive.name.value);
        if let Some(Spanned { value, span }) = directive.permissions {
            assert_eq!(value.raw, source[span]);
        }
    }
    if let Some(knowledge) = placed_result(source, knowledge(source)) {
        placed(source, &knowledge.notes);
        assert_eq!(source[knowledge.body.span], knowledge.body.value);
    }
    placed_result(source, knowledge_yaml(source));
    for extension in ["yaml", "py", "js", "none"] {
        placed_result(source, tool(source, extension));
    }
    for extension in ["yaml", "toml", "json"] {
        placed_result(source, config(source, extension));
        for hook in placed_result(source, hooks(source, extension)).into_iter().flatten() {
            inside(source, &hook.span);
            if let Some(condition) = hook.value.hook.condition {
                condition_placed(source, &condition);
            }
        }
    }
    let found = placeholders(source);
    found.iter().for_each(|found| inside(source, &found.span));
    assert!(found.is_sorted_by_key(|found| found.span.start));
}

proptest! {
    #[test]
    fn any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        check(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        check(&text);
    }

    #[test]
    fn near_texts(text in near()) {
        check(&text);
    }

    #[test]
    fn near_roots(text in near()) {
        check(&file(&text));
    }

    #[test]
    fn near_metadata(text in near()) {
        check(&metadata(&text));
    }

    #[test]
    fn near_bodies(text in near()) {
        let source = format!("{}{text}", file(""));
        check(&source);
        prop_assert!(directive(&source).is_ok());
    }

    #[test]
    fn near_headers(text in near()) {
        check(&format!("# /// rye\n# {}\n# ///\n", text.replace('\n', "\n# ")));
        check(&format!("```yaml\n{text}\n```\n"));
    }

    #[test]
    fn near_conditions(text in near_condition(), data in "(null|1|\"a\"|\\[1\\]|\\{\"a\":\\{\"b\":1\\}\\})") {
        let escaped = text.replace('&', "&amp;").replace('<', "&lt;");
        let element = format!("<hook id=\"a\" event=\"limit\"><when>{escaped}</when><sign item_id=\"x\"/></hook>");
        let source = metadata(&format!("<hooks>{element}</hooks>"));
        check(&source);
        check(&metadata(&format!("<hooks>{}</hooks>", element.replace(&escaped, &text))));
        check(&format!("hooks:\n- {{id: a, event: limit, action: {{primary: sign}}}}\n  when: {text}\n"));
        check(&format!("hooks:\n- id: a\n  event: limit\n  when: {text}\n  action: {{primary: sign}}\n"));
        if let Ok(directive) = directive(&source) {
            let data: serde_json::Value = serde_json::from_str(&data).expect("JSON");
            let condition = directive.hooks[0].value.condition.as_ref().expect("given");
            prop_assert_eq!(condition.value.holds(&data), condition.value.holds(&data));
        }
    }

    #[test]
    fn near_hooks(text in near()) {
        check(&format!("hooks:\n  - id: a\n    event: limit\n    {}\n", text.replace('\n', "\n    ")));
    }

    #[test]
    fn cut_files(at in 0_usize..900) {
        let source = whole();
        let cut = (at..source.len()).find(|at| source.is_char_boundary(*at)).unwrap_or(source.len());
        check(&source[..cut]);
        check(&source[cut..]);
    }

    #[test]
    fn reading_twice_gives_the_same(text in near()) {
        prop_assert_eq!(directive(&metadata(&text)), directive(&metadata(&text)));
    }
}

/// A file with a bit of everything.
fn whole() -> String {
    format!(
        "# Tïtle\n\n{}\n<process><step name=\"é\">a `rye_sign(item_id=\"x\")`</step></process>\n",
        file(
            "<metadata><description>ä &amp; b</description><permissions><execute><tool>x.*</tool></execute></permissions>\
              <context><before>a/b<raw>ü</raw></before></context><limits turns=\"1\" spend=\"0.5\"/>\
              <hooks><hook id=\"h\" event=\"limit\"><condition path=\"a\" op=\"eq\" value=\"1\"/><sign item_id=\"x\"/></hook></hooks></metadata>\
              <inputs><input name=\"n\" type=\"integer\">ñ</input></inputs><outputs><output name=\"o\"/></outputs>"
        ),
    )
}

/// Inputs for which a careless parser takes quadratic time.
#[test]
fn long_inputs_end() {
    // All of it where properties have all their cases.
    let length = (ProptestConfig::default().cases as usize * 800).min(200_000);
    for piece in [
        "<",
        "< ",
        "<a ",
        "&",
        "&a;",
        "`",
        "``x`",
        "```a\n",
        "~~~\n```\n",
        "<!--",
        "<![CDATA[",
        "<raw>",
        "<step ",
        "<step \"",
        "<step>",
        "<execute item_id=\"x\">",
        "{input:a:",
        "${steps.a.",
        "**a**\n",
        "`rye_sign(",
        "a: b\n",
        "\n",
        "é",
        "<before>",
        "]]>",
        "<raw",
        "</",
    ] {
        let text = piece.repeat(length / piece.len());
        check(&text);
        check(&format!("{}{text}", file("")));
        check(&file(&text));
        check(&file(&format!("<process>{text}</process>")));
    }
}
