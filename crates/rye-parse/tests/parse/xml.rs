//! The fence and the XML in it.

use crate::{directive_refused, file, metadata, metadata_refused, read, rows};

rows! { directive_refused;
    empty_file: "«»", &["no directive found; put `<directive name=\"…\">` into a fence that starts with ```xml at column 0"];
    no_fence: "# A\n\n«<directive» name=\"a\"/>\n", &[
        "no directive found; put `<directive name=\"…\">` into a fence that starts with ```xml at column 0",
    ];
    other_root: "«»```xml\n<directives name=\"a\"/>\n```\n", &[
        "no directive found; put `<directive name=\"…\">` into a fence that starts with ```xml at column 0",
    ];
    indented_fence: " ```xml\n «<directive» name=\"a\"/>\n ```\n", &[
        "no directive found; put `<directive name=\"…\">` into a fence that starts with ```xml at column 0",
    ];
    inside_longer_fence: "````md\n```xml\n«<directive» name=\"a\"/>\n```\n````\n", &[
        "no directive found; put `<directive name=\"…\">` into a fence that starts with ```xml at column 0",
    ];
    unclosed_fence: "# A\n\n«```xml»\n<directive name=\"a\"/>\n", &[
        "the `xml` fence is not closed; write ``` at the start of the line after `</directive>`",
    ];
    misspelt_end: "```xml\n<directive name=\"a\"><metadata>«</metdata>»</directive>\n```\n", &[
        "`</metdata>` closes nothing; did you mean `</metadata>`?",
    ];
    unclosed_root: "```xml\n<«directive» name=\"a\">\n```\n", &["`<directive>` is not closed; write `</directive>`"];
    unclosed_child: "```xml\n<directive name=\"a\"><«metadata»></directive>\n```\n", &[
        "`<metadata>` is not closed; write `</metadata>`",
    ];
    wrong_close: "```xml\n<directive name=\"a\">«</meta>»</directive>\n```\n", &["`</meta>` closes nothing; remove it, or write `<meta>` before it"];
    second_root: "```xml\n<directive name=\"a\"/>«<directive name=\"b\"/>»\n```\n", &[
        "content after `</directive>` inside the fence; move it behind the fence",
    ];
    text_behind_root: "```xml\n<directive name=\"a\"/>\n «then this»\n```\n", &[
        "content after `</directive>` inside the fence; move it behind the fence",
    ];
    unclosed_comment: "```xml\n<directive name=\"a\">«<»!-- <metadata/></directive>\n```\n", &["a comment is not closed; write `-->` where it ends"];
    unclosed_value: "```xml\n<directive name=\"a\">«<»inputs x=\"></directive>\n```\n", &[
        "a quoted attribute value is not closed; write `\"` where it ends",
    ];
    processing_instruction: "```xml\n<directive name=\"a\">«<?php x ?>»</directive>\n```\n", &[
        "a processing instruction is not allowed; remove it",
    ];
    doctype: "```xml\n<directive name=\"a\">«<!DOCTYPE x [<!ENTITY a \"b\">]>»</directive>\n```\n", &[
        "a DOCTYPE is not allowed; remove it",
    ];
    missing_quotes: "```xml\n«<«directive» name=a>»</directive>\n```\n", &[
        "malformed attribute of `<directive>`; quote every value; if this is text, write `<` as `&lt;` or use CDATA",
        "`<directive>` has no `name`; add `name=\"…\"`",
    ];
    same_attribute: "```xml\n<directive name=\"a\" «name»=\"b\"/>\n```\n", &["attribute `name` of `<directive>` is given twice"];
    raw_ends_with_its_fence: "```xml\n<directive name=\"a\"><«raw»></directive>\n```\n</raw></directive>\n```\n", &["`<raw>` is not closed; write `</raw>`"];
    shortest_comment: "```xml\n<directive name=\"a\">«<»!--></directive>\n```\n", &["a comment is not closed; write `-->` where it ends"];
    shortest_cdata: "```xml\n<directive name=\"a\">«<»![CDATA[></directive>\n```\n", &["a CDATA section is not closed; write `]]>` where it ends"];
    unclosed_raw: "```xml\n<directive name=\"a\"><«raw»></directive>\n```\n", &["`<raw>` is not closed; write `</raw>`"];
}

rows! { metadata_refused;
    bare_less_than: "<description>a «<» b</description>", &["`<` starts no tag; write `&lt;`, or put the text in CDATA"];
    bare_number: "<description>a «<»5</description>", &["`<` starts no tag; write `&lt;`, or put the text in CDATA"];
    bare_ampersand: "<description>R«&»D</description>", &[
        "`&` starts no entity; write `&amp;`, or put the text in CDATA",
    ];
    ampersands: "<description>a «&» b «&»«&» c</description>", &[
        "`&` starts no entity; write `&amp;`, or put the text in CDATA",
        "`&` starts no entity; write `&amp;`, or put the text in CDATA",
        "`&` starts no entity; write `&amp;`, or put the text in CDATA",
    ];
    unknown_entity: "<description>a«&nbsp;»b</description>", &[
        "unknown entity `&nbsp;`; valid: `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;`, `&#…;`; write a plain `&` as `&amp;`",
    ];
    null_reference: "<description>«&#0;»</description>", &[
        "unknown entity `&#0;`; valid: `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;`, `&#…;`; write a plain `&` as `&amp;`",
    ];
    entity_in_attribute: "<model id=\"a«&b;»\"/>", &[
        "unknown entity `&b;`; valid: `&lt;`, `&gt;`, `&amp;`, `&quot;`, `&apos;`, `&#…;`; write a plain `&` as `&amp;`",
    ];
    control_character: "<description>a«\u{1}»</description>", &["character U+0001 is not allowed; remove it"];
    control_character_in_cdata: "<description><![CDATA[«\u{0}»]]></description>", &[
        "character U+0000 is not allowed; remove it",
    ];
    element_in_text: "<description>a <«b»>c</b></description>", &[
        "unknown element `<b>` in `<description>`; write `<` as `&lt;`, or put the text in CDATA or `<raw>`",
    ];
}

#[track_caller]
fn described(description: &str, expected: &str) {
    let directive = read(&metadata(&format!("<description>{description}</description>")));
    assert_eq!(
        directive.description.map(|description| description.value).as_deref(),
        Some(expected)
    );
}

rows! { described;
    entities: "&lt;a&gt; &amp; &quot;b&quot; &apos;", "<a> & \"b\" '";
    references: "&#65;&#x1F600;", "A😀";
    cdata: "<![CDATA[a < b && c]]>", "a < b && c";
    comment_splits_nothing: "a<!-- x -->b", "ab";
    raw: "<raw>a < b & <c></raw>", "a < b & <c>";
    example_holds_tags: "<example><example>a</example>", "<example>a";
    mixed: " see <template>{{#each}}</template> and &lt;this&gt; ", "see {{#each}} and <this>";
    byte_order_mark_behind_raw: "<raw>a</raw>\u{feff}b &amp; c", "a\u{feff}b & c";
}

#[test]
fn longer_fences_and_trailing_words_are_read() {
    let directive = read(
        "````xml title\n<directive name=\"a\"><process>\n```\ncode\n```\n</process></directive>\n````\nx\n",
    );
    assert_eq!(directive.body.value, "x\n<process>\n```\ncode\n```\n</process>");
}

#[test]
fn the_first_fence_with_a_directive_counts() {
    let directive = read(
        "~~~\n```xml\n<directive name=\"no\"/>\n~~~\n```xml\n<other/>\n```\n```xml\n\n <directive name=\"a\"/>\n```\nb\n```xml\n<directive name=\"c\"/>\n```\n",
    );
    assert_eq!(directive.name.value, "a");
    assert_eq!(directive.body.value, "b\n```xml\n<directive name=\"c\"/>\n```");
}

#[test]
fn line_ends_of_windows_are_kept_in_the_body() {
    let directive =
        read("# T\r\n\r\n```xml\r\n<directive name=\"a\"/>\r\n```\r\n\r\none\r\ntwo\r\n");
    assert_eq!(directive.title.map(|title| title.value).as_deref(), Some("T"));
    assert_eq!(directive.body.value, "one\r\ntwo");
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        file(&format!("<process>{}{}</process>", "<a>".repeat(depth), "</a>".repeat(depth)))
    };
    assert!(rye_parse::directive(&nested(62)).is_ok());
    let error = rye_parse::directive(&nested(63)).expect_err("one too many");
    assert_eq!(error.problems()[0].to_string(), "elements are nested deeper than 64");
}

#[test]
fn elements_are_counted() {
    let many = |count: usize| file(&format!("<process>{}</process>", "<a/>".repeat(count)));
    assert!(rye_parse::directive(&many(9_998)).is_ok());
    let error = rye_parse::directive(&many(9_999)).expect_err("one too many");
    assert_eq!(error.problems()[0].to_string(), "more than 10000 elements");
}

#[test]
fn fence_and_file_are_bounded() {
    let long = |bytes: usize| file(&format!("<process>{}</process>", "a".repeat(bytes)));
    let error = rye_parse::directive(&long(1024 * 1024)).expect_err("fence too long");
    assert_eq!(
        error.problems()[0].to_string(),
        "the fence is 1048628 bytes; at most 1048576 are read"
    );
    let error = rye_parse::directive(&long(4 * 1024 * 1024)).expect_err("file too long");
    assert_eq!(
        error.problems()[0].to_string(),
        "the file is 4194367 bytes; at most 4194304 are read"
    );
}

#[test]
fn problems_are_counted_beyond_two_hundred() {
    let error = rye_parse::directive(&metadata(&"<model/><limits b=\"1\"/>".repeat(150)))
        .expect_err("many problems");
    assert_eq!(error.problems().len(), 201);
    assert_eq!(error.problems()[200].to_string(), "more than 200 problems");
    assert_eq!(error.problems()[200].label, "99 more are not shown");
    assert_eq!(error.to_string(), "201 problems");
}
