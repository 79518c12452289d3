//! The position of the signature line, and the text that stays.

use rye_sign::{CommentStyle, further_signature_line, sign};

use crate::{item, key, now};

/// Asserts the text around the signature line, which `expected` writes as `LINE`.
#[track_caller]
fn check(text: &str, style: CommentStyle, expected: &str) {
    let signed = sign(text, style, &item("tool", "a/b"), &key(1), now());
    let lines: Vec<&str> =
        signed.lines().filter(|line| line.contains("rye:signed:2026-11-20T18")).collect();
    let lines: Vec<&str> =
        lines.into_iter().map(|line| line.trim_start_matches('\u{feff}')).collect();
    let [line] = lines.as_slice() else { panic!("one new line in {signed:?}") };
    assert_eq!(signed.replacen(line, "LINE", 1), expected);
    assert_eq!(
        sign(&signed, style, &item("tool", "a/b"), &key(1), now()),
        signed,
        "signing again changes nothing"
    );
}

#[test]
fn above_the_text() {
    check("# Title\n", CommentStyle::Html, "LINE\n# Title\n");
    check("", CommentStyle::Html, "LINE\n");
    check("no line end", CommentStyle::Hash, "LINE\nno line end");
    check("\n\n", CommentStyle::Slash, "LINE\n\n\n");
}

#[test]
fn below_a_shebang() {
    check("#!/bin/sh\nmake\n", CommentStyle::Hash, "#!/bin/sh\nLINE\nmake\n");
    check("#!/usr/bin/env node\n", CommentStyle::Slash, "#!/usr/bin/env node\nLINE\n");
    check("#!/bin/sh", CommentStyle::Hash, "#!/bin/sh\nLINE\n");
}

#[test]
fn with_the_line_ends_of_the_text() {
    check("# Title\r\ntext\r\n", CommentStyle::Html, "LINE\r\n# Title\r\ntext\r\n");
    check("#!/bin/sh\r\nmake\r\n", CommentStyle::Hash, "#!/bin/sh\r\nLINE\r\nmake\r\n");
    check("a\nb\r\n", CommentStyle::Hash, "LINE\na\nb\r\n");
    check("#!x\r", CommentStyle::Hash, "#!x\r\nLINE\r\n");
}

#[test]
fn below_a_byte_order_mark() {
    check("\u{feff}# Title\n", CommentStyle::Html, "\u{feff}LINE\n# Title\n");
    check("\u{feff}#!x\ny\n", CommentStyle::Hash, "\u{feff}#!x\nLINE\ny\n");
}

#[test]
fn in_place_of_what_is_there() {
    check("<!-- rye:unsigned -->\n# Title\n", CommentStyle::Html, "LINE\n# Title\n");
    check("# rye:unsigned \na\n", CommentStyle::Hash, "LINE\na\n");
    check(
        "# rye:signed:2026-02-10T02:00:00Z:placeholder:unsigned:unsigned\na\n",
        CommentStyle::Hash,
        "LINE\na\n",
    );
    check("#!/bin/sh\r\n# rye:unsigned\r\na\r\n", CommentStyle::Hash, "#!/bin/sh\r\nLINE\r\na\r\n");
    check(
        "<!-- rye:signed:2026-02-10T02:00:00Z:broken\n# Title\n",
        CommentStyle::Html,
        "LINE\n# Title\n",
    );
}

#[test]
fn from_above_the_shebang_to_below() {
    check("# rye:unsigned\n#!/bin/sh\nmake\n", CommentStyle::Hash, "#!/bin/sh\nLINE\nmake\n");
    // The line end is that of the first line after the old signature line is removed.
    check("# rye:unsigned\r\n#!/bin/sh\nmake\n", CommentStyle::Hash, "#!/bin/sh\nLINE\nmake\n");
    check("# rye:unsigned\r\n#!/bin/sh", CommentStyle::Hash, "#!/bin/sh\r\nLINE\r\n");
}

#[test]
fn keeping_text_on_the_line() {
    check("<!-- rye:unsigned --> # Title\ntext\n", CommentStyle::Html, "LINE\n# Title\ntext\n");
    check("<!-- rye:signed:x # Title\ntext\n", CommentStyle::Html, "LINE\n# Title\ntext\n");
    check("# rye:unsigned as yet\nx: 1\n", CommentStyle::Hash, "LINE\n# as yet\nx: 1\n");
}

#[test]
fn a_second_line_is_content() {
    check(
        "<!-- rye:unsigned -->\n<!-- rye:unsigned -->\n",
        CommentStyle::Html,
        "LINE\n<!-- rye:unsigned -->\n",
    );
}

/// Cases: a text, and the line of it that looks like a signature and is content.
#[test]
fn a_further_line_is_found() {
    for (text, expected) in [
        ("", None),
        ("a\nb\n", None),
        ("# rye:unsigned\na\n", None),
        ("#!/bin/sh\n# rye:unsigned\na\n", None),
        ("a\n\n# rye:unsigned\nb\n", Some("# rye:unsigned")),
        ("# rye:unsigned\na\r\n// rye:signed:x\r\nb\n", Some("// rye:signed:x")),
        ("# rye:unsigned\n#!/bin/sh\nb\n<!-- rye:unsigned -->", Some("<!-- rye:unsigned -->")),
        ("a\nb # rye:unsigned\n", None),
    ] {
        let place = expected.and_then(|line| text.rfind(line).map(|at| at..at + line.len()));
        assert_eq!(further_signature_line(text), place, "{text:?}");
    }
}

#[test]
fn styles_by_extension() {
    for (extension, style) in [
        ("md", Some(CommentStyle::Html)),
        ("yaml", Some(CommentStyle::Hash)),
        ("yml", Some(CommentStyle::Hash)),
        ("toml", Some(CommentStyle::Hash)),
        ("py", Some(CommentStyle::Hash)),
        ("sh", Some(CommentStyle::Hash)),
        ("rb", Some(CommentStyle::Hash)),
        ("js", Some(CommentStyle::Slash)),
        ("ts", Some(CommentStyle::Slash)),
        ("json", None),
        ("MD", None),
        ("", None),
    ] {
        assert_eq!(CommentStyle::of_extension(extension), style, "{extension}");
    }
}

/// The expected line was made with another implementation of Ed25519, in which a key and a message have one signature.
#[test]
fn the_line_is_what_another_implementation_writes() {
    check_line(
        "#!/bin/sh\nmake\n",
        "# rye:signed:2026-11-20T18:00:00Z:1b1f5c68cd5e6781b20ff468ba97fb722b3a8f2aa5c1662f2b00216ab92e5fc9:ZRlQQgexOZPXT2-tcxHLyUV3gNlc0PQSYHx_icxJH273TEK1CvIVxzxZnlnd1pzpBdDXVNQ39EQf06Km4i9mDA:3d4c030534b1c1c6",
    );
}

#[track_caller]
fn check_line(text: &str, line: &str) {
    let signed = sign(text, CommentStyle::Hash, &item("tool", "a/b"), &key(1), now());
    assert_eq!(signed.lines().nth(1), Some(line));
}
