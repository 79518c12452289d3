//! Config files, and the limits on untrusted data.

use rye_parse::config;

use crate::{refused, rows};

#[track_caller]
fn same_value(extension: &str, source: &str, json: &str) {
    assert_eq!(config(source, extension).expect("readable").to_string(), json);
}

rows! { same_value;
    yaml: "yaml", "# c\na: 1\nb: [x, {c: 2.5}]\nd: 2026-01-02\ne: &x 7\nf: *x\n", r#"{"a":1,"b":["x",{"c":2.5}],"d":"2026-01-02","e":7,"f":7}"#;
    yml: "yml", "a: ~\nb: 'it''s'\n", r#"{"a":null,"b":"it's"}"#;
    toml: "toml", "a = 1\nb = 2026-01-02T03:04:05Z\n[c]\nd = [1.5, true]\n", r#"{"a":1,"b":"2026-01-02T03:04:05Z","c":{"d":[1.5,true]}}"#;
    json: "json", "{\"b\": 1, \"a\": {\"c\": null}}\n", r#"{"b":1,"a":{"c":null}}"#;
    standard_tags: "yaml", "a: !!str 12\nb: !!int 3\nc: !!seq [!!bool true]\nd: !!map {e: !!null ~}\n", r#"{"a":"12","b":3,"c":[true],"d":{"e":null}}"#;
    no_tags_in_quotations: "yaml", "a: [\"!b\", '!!c', \"\\\"!d\", 'e''!f']\n\"!g\": '!h: !i'\n", r#"{"a":["!b","!!c","\"!d","e'!f"],"!g":"!h: !i"}"#;
    no_tags_over_lines: "yaml", "a: \"b\n  !c\"\nd: e\n  !f\ng: >-\n  !h\n  !!i\n", r#"{"a":"b !c","d":"e !f","g":"!h !!i"}"#;
    no_tags_in_flow: "yaml", "{a: b!c, d!: [e !f], \"g\": '[!h]'} # !i\n", r#"{"a":"b!c","d!":["e !f"],"g":"[!h]"}"#;
    no_tags: "yaml", "a: 'x: !!other'\nb: wow !!other\nc: |\n  d: !!other x\ne: \"!!other\" # f: !!other\n'!!g': tag:yaml.org,2002:h\n", r#"{"a":"x: !!other","b":"wow !!other","c":"d: !!other x\n","e":"!!other","!!g":"tag:yaml.org,2002:h"}"#;
    empty_mapping: "yaml", "{}", "{}";
    empty_toml: "toml", "", "{}";
}

#[track_caller]
fn config_refused(extension: &str, marked: &str, messages: &[&str]) {
    refused(|source| config(source, extension), marked, messages);
}

rows! { config_refused;
    unknown_extension: "ini", "«»a = 1", &["unknown extension `ini`; valid: `yaml`, `yml`, `toml`, `json`"];
    empty_yaml: "yaml", "«»", &["the YAML document is empty, not a mapping; write `key: value` pairs"];
    two_documents: "yaml", "«a: 1»\n---\nb: 2", &["invalid YAML: deserializing from YAML containing more than one document is not supported"];
    yaml_duplicates: "yaml", "a: 1\nb:\n  c: 1\n  «c»: 2\n«a»: 2\n", &[
        "key `c` is given twice; keep one of them",
        "key `a` is given twice; keep one of them",
    ];
    yaml_merge: "yaml", "a: &a {b: 1}\nc:\n  «<<»: *a\n", &["a YAML merge key (`<<`) is not supported"];
    yaml_tag: "yaml", "a: «!»x 1\n", &["a YAML tag is not supported"];
    unknown_standard_tag: "yaml", "a: 1\nb: «!»!other x\n", &["a YAML tag is not supported"];
    unknown_tag_in_a_list: "yaml", "a: [1, «!»!python/object:os.system x]\n", &["a YAML tag is not supported"];
    unknown_tag_of_a_mapping: "yaml", "a: «!»!set {b, c}\n", &["a YAML tag is not supported"];
    binary: "yaml", "a: «!»!binary aGk=\n", &["a YAML tag is not supported"];
    tag_in_full: "yaml", "a: «!»<tag:yaml.org,2002:other> x\n", &["a YAML tag is not supported"];
    tag_by_a_name_of_its_own: "yaml", "%TAG !e! tag:yaml.org,2002:\n---\na: «!»e!other x\n", &["a YAML tag is not supported"];
    custom_tag_in_full: "yaml", "a: «!»<tag:example.org,2000:x> x\n", &["a YAML tag is not supported"];
    custom_tag_by_name: "yaml", "%TAG !e! tag:example.org,2000:\n---\na: «!»e!other x\n", &["a YAML tag is not supported"];
    tag_in_a_nested_list: "yaml", "a:\n- b\n- - c\n  - «!»other d\n", &["a YAML tag is not supported"];
    tag_of_a_list: "yaml", "a: «!»other\n- b\n", &["a YAML tag is not supported"];
    tag_of_a_list_in_a_list: "yaml", "- «!»other\n", &["a YAML tag is not supported"];
    tag_in_a_mapping_in_a_list: "yaml", "a:\n- b: «!»other c\n", &["a YAML tag is not supported"];
    tag_in_a_flow_mapping: "yaml", "a: {b: [{c: «!»!other d}]}\n", &["a YAML tag is not supported"];
    tag_of_a_flow_key: "yaml", "a: {«!»other b: c}\n", &["a YAML tag is not supported"];
    tag_of_an_asked_key: "yaml", "? «!»other a\n: b\n", &["a YAML tag is not supported"];
    tag_of_a_quotation: "yaml", "a: «!»other 'x: !y'\n", &["a YAML tag is not supported"];
    tag_of_a_quoted_key: "yaml", "«!»!other \"a\": b\n", &["a YAML tag is not supported"];
    tag_of_a_block: "yaml", "a: «!»other |\n  !b\n", &["a YAML tag is not supported"];
    tag_of_nothing: "yaml", "a: «!»other\nb: 1\n", &["a YAML tag is not supported"];
    tag_of_nothing_in_a_list: "yaml", "a: [«!»!other ,1]\n", &["a YAML tag is not supported"];
    tag_alone: "yaml", "a: «!» x\n", &["a YAML tag is not supported"];
    tag_of_the_document: "yaml", "--- «!»other\na: 1\n", &["a YAML tag is not supported"];
    tag_behind_an_anchor: "yaml", "a: «&»b !other c\n", &["a YAML tag is not supported"];
    tag_before_an_anchor: "yaml", "a: «!»other &b c\n", &["a YAML tag is not supported"];
    tag_in_full_of_a_key: "yaml", "«!»<tag:yaml.org,2002:other> a: b\n", &["a YAML tag is not supported"];
    tag_with_escapes: "yaml", "a: «!»!str%21 b\n", &["a YAML tag is not supported"];
    tag_of_a_key: "yaml", "«!»!other a: x\n", &["a YAML tag is not supported"];
    yaml_number_as_key: "yaml", "«1»: a\n", &["a key that is not text is not supported"];
    yaml_infinity: "yaml", "a: «.»inf\n", &["a number that is not finite is not supported"];
    yaml_long_number: "yaml", "a: «1»8446744073709551616\n", &["a number of more than 64 bits is not supported"];
    toml_duplicate: "toml", "a = 1\n«a» = 2\n", &["invalid TOML: duplicate key"];
    toml_syntax: "toml", "a = «»", &["invalid TOML: string values must be quoted, expected literal string"];
    json_duplicate: "json", "{\"a\": 1, \"«a»\": 2}", &["key `a` is given twice; keep one of them"];
    json_list: "json", "«[1]»", &["the JSON document is a list, not a mapping; write `key: value` pairs"];
    json_comma: "json", "{\"a\": 1,«}»", &["invalid JSON: trailing comma"];
    json_behind: "json", "{} «x»", &["invalid JSON: trailing characters"];
}

#[track_caller]
fn first_problem(extension: &str, source: &str, message: &str) {
    let error = config(source, extension).expect_err("refused");
    assert_eq!(error.problems()[0].to_string(), message);
}

rows! { first_problem;
    long_yaml: "yaml", &format!("a: {}", "b".repeat(256 * 1024)), "the file is 262147 bytes; at most 262144 are read";
    long_toml: "toml", &"#".repeat(262_145), "the file is 262145 bytes; at most 262144 are read";
    long_json: "json", &" ".repeat(262_145), "the file is 262145 bytes; at most 262144 are read";
    deep_flow: "yaml", &"{a: ".repeat(65), "brackets are nested deeper than 64";
    hidden_brackets: "yaml", &"[&a \"]\", ".repeat(20_000), "more than 1111 opening brackets beside quotes that span lines";
    deep_entries: "yaml", &"- ".repeat(100), "entries of one line are nested deeper than 64";
    deep_toml: "toml", &format!("a = {}{}", "[".repeat(1000), "]".repeat(1000)), "invalid TOML: cannot recurse further; max recursion depth met";
    deep_toml_keys: "toml", &format!("{}a = 1", "a.".repeat(1000)), "invalid TOML: recursion limit";
    deep_json: "json", &format!("{{\"a\": {}", "[".repeat(1000)), "invalid JSON: recursion limit exceeded";
    many_laughs: "yaml", &laughs(), "invalid YAML: repetition limit exceeded";
}

/// Returns YAML in which each line refers nine times to the line above it.
fn laughs() -> String {
    let mut text = "a0: &a0 [lol, lol, lol]\n".to_owned();
    for n in 1..9 {
        let above = format!("*a{}", n - 1);
        text += &format!("a{n}: &a{n} [{}]\n", [above.as_str(); 9].join(", "));
    }
    text
}

#[test]
fn a_long_text_cannot_be_multiplied() {
    let source = format!("a: &a {}\nb: [{}]\n", "x".repeat(100_000), ["*a"; 50].join(", "));
    first_problem(
        "yaml",
        &source,
        "the document with its aliases expanded is 1100017 bytes; at most 1048576 are read",
    );
}
