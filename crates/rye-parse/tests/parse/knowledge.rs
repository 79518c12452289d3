//! Knowledge entries.

use rye_parse::{knowledge, knowledge_yaml};

use crate::{refused, rows, same, unmarked};

#[track_caller]
fn body(source: &str, name: Option<&str>, body: &str) {
    let knowledge = knowledge(source).expect("readable");
    assert_eq!(knowledge.name.as_deref(), name);
    assert_eq!(knowledge.body.value, body);
    assert_eq!(&source[knowledge.body.span], body);
}

rows! { body;
    fence: "<!-- rye:signed:x -->\n\n```yaml\nname: a\n```\n\n# B\n", Some("a"), "# B";
    two_signatures_above_metadata: "<!-- rye:signed:x -->\n<!-- rye:unsigned -->\n\n```yaml\nname: a\n```\n\n# B\n", Some("a"), "# B";
    narrow_signature: "<!--rye:unsigned-->\n```yaml\nname: a\n```\nb", Some("a"), "b";
    second_signature_is_content: "<!-- rye:signed:x -->\n<!-- rye:signed:y -->\nb", None, "<!-- rye:signed:y -->\nb";
    late_signature_is_content: "\n<!-- rye:unsigned -->\nb", None, "<!-- rye:unsigned -->\nb";
    comment_about_rye_is_content: "<!-- rye: be careful -->\nb", None, "<!-- rye: be careful -->\nb";
    windows: "```yaml\r\nname: a\r\n```\r\nb\r\n", Some("a"), "b";
    byte_order_mark: "\u{feff}```yml\nname: a\n```", Some("a"), "";
    front_matter: "---\nname: a\n---\nb", Some("a"), "b";
    front_matter_with_dots: "---\nname: a\n...\nb", Some("a"), "b";
    plain_lines: "name: a\ntitle: b\n\n# C", Some("a"), "# C";
    plain_lines_below_other_text: "Menu\n\nid: a\ntitle: b\nC\n", Some("a"), "C";
    nothing: "", None, "";
    all_body: "# A\n\nname: b\ntitle: c", None, "# A\n\nname: b\ntitle: c";
    one_line_is_text: "name: a\n\nb", None, "name: a\n\nb";
    ordinary_colons: "first: a\nsecond: b\n", None, "first: a\nsecond: b";
    later_fence_is_body: "text\n```yaml\nname: a\n```", None, "text\n```yaml\nname: a\n```";
    empty_metadata_value: "```yaml\nname:\n```\nb", None, "b";
}

#[track_caller]
fn knowledge_refused(marked: &str, messages: &[&str]) {
    refused(knowledge, marked, messages);
}

rows! { knowledge_refused;
    unclosed_fence: "<!-- rye:unsigned -->\n«```yaml»\nname: a\n", &["the `yaml` fence is not closed; write ``` on the line after the metadata"];
    unclosed_front_matter: "«---»\nname: a\n", &["the `---` fence is not closed; write --- on the line after the metadata"];
    list: "```yaml\n«- a»\n```\n", &["the YAML document is a list, not a mapping; write `key: value` pairs"];
    number_as_version: "```yaml\nname: a\n«version»: 1.10\n«title»: true\n```\n", &[
        "`version` is a number, not text; quote it: `\"1.10\"`",
        "`title` is a boolean, not text; quote it: `\"true\"`",
    ];
    number_in_tags: "```yaml\n«tags»: [a, 1]\n```\n", &["`tags` is a number, not text; quote it: `\"1\"`"];
    duplicate_keys: "```yaml\nname: a\n«name»: b\n\"«name»\": c\nmore: {x: 1, «x»: 2}\n```\n", &[
        "key `name` is given twice; keep one of them",
        "key `name` is given twice; keep one of them",
        "key `x` is given twice; keep one of them",
    ];
    not_yaml: "```yaml\nname: [a\n«»```\nb", &["invalid YAML: did not find expected ',' or ']'; separate the elements by commas, and close each `[` and `{`"];
    unknown_anchor: "```yaml\nname: «*»a\n```\n", &["invalid YAML: unknown anchor"];
}

#[test]
fn metadata_is_kept_whole() {
    let knowledge = knowledge("```yaml\nname: a\ntags: [x, y]\nreferences: z\ncreated_at: 2026-02-24T00:00:00Z\nextra: {b: [1, ~]}\n```\n").expect("readable");
    assert_eq!(knowledge.tags, ["x", "y"]);
    assert_eq!(knowledge.references, ["z"]);
    let metadata = serde_json::to_string(&knowledge.metadata).expect("JSON");
    assert_eq!(
        metadata,
        r#"{"name":"a","tags":["x","y"],"references":"z","created_at":"2026-02-24T00:00:00Z","extra":{"b":[1,null]}}"#
    );
    assert_eq!(knowledge.notes, []);
}

#[track_caller]
fn noted(marked: &str, message: &str) {
    let (source, places) = unmarked(marked);
    same(&knowledge(&source).expect("readable").notes, &places, &[message]);
}

rows! { noted;
    front_matter_noted: "«---»\nname: a\n---\n", "metadata stands in front matter; put it into a ```yaml fence at the start of the file";
    plain_lines_noted: "«id: a\ntitle: b»\n\nc", "metadata stands in plain lines; put it into a ```yaml fence at the start of the file";
    lost_text_noted: "Menu\n«id: a\ntitle: b»\n\nc", "metadata stands in plain lines, and the text above them is left out; put it into a ```yaml fence at the start of the file";
}

#[test]
fn a_yaml_file_is_metadata() {
    let knowledge =
        knowledge_yaml("# rye:signed:x\nname: a\nversion: \"1.0.0\"\n").expect("readable");
    assert_eq!(
        (knowledge.name.as_deref(), knowledge.version.as_deref()),
        (Some("a"), Some("1.0.0"))
    );
    assert_eq!(knowledge.body.value, "");
    refused(
        knowledge_yaml,
        "«just text»",
        &["the YAML document is text, not a mapping; write `key: value` pairs"],
    );
}

#[test]
fn metadata_is_bounded() {
    let error =
        knowledge(&format!("```yaml\na: {}\n```\n", "b".repeat(16 * 1024))).expect_err("too long");
    assert_eq!(
        error.problems()[0].to_string(),
        "the metadata is 16388 bytes; at most 16384 are read"
    );
    let error = knowledge(&"a".repeat(4 * 1024 * 1024 + 1)).expect_err("too long");
    assert_eq!(
        error.problems()[0].to_string(),
        "the file is 4194305 bytes; at most 4194304 are read"
    );
}
