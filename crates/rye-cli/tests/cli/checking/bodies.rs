//! What `rye check` says about bodies, and what a run without a model makes of the same.

use super::{LIST, MAY_LIST, codes, directive, holding};

/// The directive `work` with these inputs or outputs and this body.
fn with(ports: &str, body: &str) -> String {
    let text = directive("work", MAY_LIST, "");
    let (fence, _) = text.split_once("<process>").unwrap();
    format!("{}{body}\n", fence.replace("</directive>", &format!("{ports}\n</directive>")))
}

const TOPIC: &str = "<inputs><input name=\"topic\" required=\"true\" /></inputs>";

/// Placeholders of other formats, and required inputs that no value reaches the prompt of (SPEC 17.2).
#[test]
fn an_input_that_is_placed_nowhere() {
    let check = |body: &str, expected: &[&str]| {
        assert_eq!(codes(&holding(&with(TOPIC, body)), ""), expected, "{body}");
    };
    let list = format!("<process><step name=\"one\">{LIST}</step></process>");
    check(&format!("About {{input:topic}}. {list}"), &[]);
    check(&format!("About {{{{topic}}}}. {list}"), &["warning foreign-placeholder:16"]);
    check(&format!("About $ARGUMENTS. {list}"), &["warning foreign-placeholder:16"]);
    check(&format!("About something. {list}"), &["warning unplaced-input:12"]);
    let escaped = format!("About \\{{input:topic}}. {list}");
    check(&escaped, &["warning unplaced-input:12"]);
    let value = LIST.replace("/>", "><param name=\"path\">{input:topic}</param></execute>");
    check(&format!("<process><step name=\"one\">{value}</step></process>"), &[]);
    let call = "`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\", parameters={\"path\": \"{input:topic}\"})`";
    check(call, &[]);
}

/// A hook and the permissions of a base may place a value, and a directive without a body has no place for one.
#[test]
fn other_places_of_an_input() {
    let list = format!("<process><step name=\"one\">{LIST}</step></process>");
    let hook = "<hooks><hook id=\"h\" event=\"limit\"><action primary=\"execute\" item_type=\"tool\" item_id=\"rye/file-system/ls\"><param name=\"path\" value=\"${inputs.topic}\" /></action></hook></hooks>";
    let hooked = with(TOPIC, &list).replace(MAY_LIST, &format!("{MAY_LIST}{hook}"));
    assert_eq!(codes(&holding(&hooked), ""), [""; 0]);
    assert_eq!(codes(&holding(&with(TOPIC, "")), ""), [""; 0]);
}

/// A call that cannot be read is a warning at its place, and a run without a model is refused before it begins.
#[test]
fn a_call_that_cannot_be_read() {
    let good = format!("<step name=\"one\">{LIST}</step>");
    let rows = [
        (
            "`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\", parameters={'path': \"a\"})`",
            "unreadable-step",
        ),
        ("`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\"`", "unreadable-step"),
        ("`rye_execute(item_type=\"tool\", item_id=\"rye/file-system/ls\")", "unreadable-step"),
        ("`rye_exec(item_type=\"tool\", item_id=\"rye/file-system/ls\")`", "unreadable-step"),
        ("<excute item_type=\"tool\" item_id=\"rye/file-system/ls\" />", "unreadable-step"),
        ("<execute item_type=\"tool\" item_id=\"rye/file-system/ls\">", "unreadable-step"),
        (
            "<execute item_type=\"tool\"><param name=\"path\" value=\"a\" /></execute>",
            "incomplete-call",
        ),
        ("`rye_execute(item_id=\"rye/file-system/ls\")`", "incomplete-call"),
    ];
    for (call, code) in rows {
        let session = holding(&with(
            "",
            &format!("<process>{good}\n<step name=\"two\">{call}\n\n</step></process>"),
        ));
        let found = codes(&session, "");
        assert!(found.contains(&format!("warning {code}:17")), "{call}: {found:?}");
        let ran = session.rye("run work --provider steps --allow-unsigned");
        assert!(ran.ends_with("--- exit 1\n"), "{call}: {ran}");
        assert!(ran.contains("line 17: "), "{call}: {ran}");
    }
}

/// Without a step that calls something, or with a required output that no step gives, a run without a model is no success
/// (SPEC 10.13).
#[test]
fn a_run_without_a_model_does_what_it_says() {
    let required = "<outputs><output name=\"report\" required=\"true\">It</output></outputs>";
    let list = format!("<process><step name=\"one\">{LIST}</step></process>");
    for (ports, body, code, said) in [
        ("", "Write a report.", 2, "directive `work` has no structured steps"),
        ("", "<process><step name=\"one\">Think.</step></process>", 2, "has no structured steps"),
        ("", list.as_str(), 0, ""),
        (required, list.as_str(), 1, "no step's result has the required `report`"),
        (required, "Write a report.", 2, "has no structured steps"),
    ] {
        let session = holding(&with(ports, body));
        let ran = session.rye("run work --provider steps --allow-unsigned");
        assert!(ran.ends_with(&format!("--- exit {code}\n")), "{body}: {ran}");
        assert!(ran.contains(said), "{body}: {ran}");
    }
}

/// Steps of one name, and steps where one may not expect them.
#[test]
fn steps_that_a_reader_may_take_for_something_else() {
    let step = |name: &str| format!("<step name=\"{name}\">{LIST}</step>");
    let rows = [
        (
            format!("<process>{}\n{}\n{}</process>", step("a"), step("b"), step("a")),
            "warning duplicate-step:18",
        ),
        (format!("<process>{}</process>\n{}", step("a"), step("b")), "note stray-step:17"),
        (format!("<process>\n<!-- not yet\n{}</process>", step("a")), "note stray-step:17"),
    ];
    for (body, expected) in rows {
        assert_eq!(codes(&holding(&with("", &body)), ""), [expected], "{body}");
    }
}

/// A list that is all of a parameter for text is written as it would be within a longer text.
#[test]
fn a_value_that_is_all_of_a_text() {
    let write = "<execute item_type=\"tool\" item_id=\"rye/file-system/write\"><param name=\"path\">out.json</param><param name=\"content\">VALUE</param></execute>";
    let inputs = "<inputs><input name=\"rows\" type=\"array\" required=\"true\" /></inputs>";
    let may = MAY_LIST.replace("</tool>", "</tool><tool>rye.file-system.write</tool>");
    for (value, expected) in [
        ("{input:rows}", "[1,\"é\"]"),
        ("{input:rows} ", "[1,\"é\"]"),
        ("<![CDATA[{input:rows}\n]]>", "[1,\"é\"]\n"),
        ("${steps.one.count}", "1"),
        ("${steps.one.count}&#10;", "1\n"),
        ("\\{input:rows}", "{input:rows}"),
    ] {
        let body = format!(
            "<process><step name=\"one\">{LIST}</step><step name=\"two\">{}</step></process>",
            write.replace("VALUE", value)
        );
        let session = holding(&with(inputs, &body).replace(MAY_LIST, &may));
        let ran = session.rye("run work --provider steps --allow-unsigned --input rows=[1,\"é\"]");
        assert!(ran.ends_with("--- exit 0\n"), "{value}: {ran}");
        let found = std::fs::read_to_string(session.project().join("out.json")).unwrap();
        // The project has a few files and folders, whose number is not the point.
        let found = match value.contains("count") {
            true => found.replace(|c: char| c.is_ascii_digit(), "1"),
            false => found,
        };
        assert_eq!(found, expected, "{value}");
    }
}
