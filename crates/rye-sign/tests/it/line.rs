//! Finding and parsing the signature line.

use rye_sign::{CommentStyle, Error, MalformedReason, Policy, Unverified, accept, sign};

use crate::{check_error, item, key, now, trusting};

const UNSIGNED: &str =
    "unsigned: there is no signature; review the file and sign it with `rye sign`";

fn signed(style: CommentStyle) -> String {
    sign("body\n", style, &item("tool", "a/b"), &key(1), now())
}

#[track_caller]
fn check_unsigned(text: &str, style: CommentStyle) {
    check_error(Unverified::locate(text, style), UNSIGNED);
}

#[track_caller]
fn check_malformed(text: &str, style: CommentStyle, line: usize, what: &str) {
    let fix = "review the file and sign it again with `rye sign`";
    check_error(
        Unverified::locate(text, style),
        &format!("malformed signature line: on line {line}, {what}; {fix}"),
    );
}

/// Asserts the error of a signed HTML text after a change.
#[track_caller]
fn check_html(what: &str, change: impl Fn(&str) -> String) {
    check_malformed(&change(&signed(CommentStyle::Html)), CommentStyle::Html, 1, what);
}

#[test]
fn text_without_a_line_is_unsigned() {
    for text in
        ["", "\n", "# Title\n", "#!/bin/sh\n", "#!/bin/sh", "\u{feff}", "<!-- a comment -->\n"]
    {
        check_unsigned(text, CommentStyle::Html);
        check_unsigned(text, CommentStyle::Hash);
    }
}

#[test]
fn the_marker_is_unsigned() {
    check_unsigned("<!-- rye:unsigned -->\n# Title\n", CommentStyle::Html);
    check_unsigned("# rye:unsigned\n", CommentStyle::Hash);
    check_unsigned("#!/usr/bin/env node\n// rye:unsigned\n", CommentStyle::Slash);
}

#[test]
fn placeholder_fields_are_unsigned() {
    let timed = "rye:signed:2026-02-10T02:00:00Z:placeholder:unsigned:unsigned";
    check_unsigned(&format!("<!-- {timed} -->\n# Title\n"), CommentStyle::Html);
    check_unsigned(&format!("# {timed}\n"), CommentStyle::Hash);
    check_unsigned("<!-- rye:signed:placeholder:unsigned:unsigned -->\n", CommentStyle::Html);
}

#[test]
fn a_signed_line_below_the_marker_is_content() {
    let text = format!("<!-- rye:unsigned -->\n{}", signed(CommentStyle::Html));
    check_unsigned(&text, CommentStyle::Html);
}

#[test]
fn a_signed_line_lower_down_is_content() {
    check_unsigned(&format!("# Title\n{}", signed(CommentStyle::Html)), CommentStyle::Html);
    check_unsigned(&format!("#!/bin/sh\n\n{}", signed(CommentStyle::Hash)), CommentStyle::Hash);
}

#[test]
fn the_line_names_its_key_and_time() {
    let text = signed(CommentStyle::Html);
    let unverified = Unverified::locate(&text, CommentStyle::Html).expect("a signature line");
    assert_eq!(unverified.key_id(), key(1).public().key_id());
    assert_eq!(unverified.stated_time(), now());
    assert_eq!(unverified.claimed_owner(), None);
}

#[test]
fn an_owner_may_be_claimed() {
    let text = signed(CommentStyle::Html).replacen(" -->", "|github@someone -->", 1);
    let unverified = Unverified::locate(&text, CommentStyle::Html).expect("a signature line");
    assert_eq!(unverified.claimed_owner(), Some("github@someone"));
    let verified =
        unverified.verify(&item("tool", "a/b"), &trusting(&[&key(1)]), &Policy::default(), now());
    assert!(verified.is_ok());
}

#[test]
fn a_missing_close() {
    check_html("its closing `-->` is missing", |text| text.replacen(" -->", "", 1));
}

#[test]
fn missing_fields() {
    check_html("it lacks fields; they are time, digest, signature and key id", |_| {
        "<!-- rye:signed:abc -->\n".to_owned()
    });
}

#[test]
fn an_odd_time() {
    let what = "its time `2026-11-20 18:00:00Z` is not a UTC time such as `2026-11-20T18:00:00Z`";
    check_malformed(
        &signed(CommentStyle::Hash).replacen("20T18", "20T1_8", 1),
        CommentStyle::Hash,
        1,
        &what.replace(" 18", "T1_8"),
    );
}

#[test]
fn an_uppercase_digest() {
    let text = signed(CommentStyle::Hash);
    let digest = text.split(':').nth(5).expect("the digest").to_owned();
    let what = format!("its digest `{}` is not 64 lowercase hex digits", digest.to_uppercase());
    check_malformed(&text.replace(&digest, &digest.to_uppercase()), CommentStyle::Hash, 1, &what);
}

#[test]
fn a_truncated_signature() {
    let text = signed(CommentStyle::Slash);
    let signature = text.split(':').nth(6).expect("the signature").to_owned();
    for changed in
        [signature[1..].to_owned(), format!("{signature}A"), format!("{signature}="), String::new()]
    {
        let what = "its signature is not 64 bytes of base64";
        check_malformed(&text.replace(&signature, &changed), CommentStyle::Slash, 1, what);
    }
}

#[test]
fn a_key_id_of_another_length() {
    check_html("its key id `3d4c030534b1c1c60` is not 16 or 64 lowercase hex digits", |text| {
        text.replacen("3d4c030534b1c1c6", "3d4c030534b1c1c60", 1)
    });
}

#[test]
fn an_owner_that_is_none() {
    for claim in [
        "",
        "someone",
        "github@",
        "@someone",
        "github@someone|x",
        &format!("github@{}", "x".repeat(65)),
    ] {
        check_html(&format!("the part after `|`, `{claim}`, is not `provider@user`"), |text| {
            text.replacen(" -->", &format!("|{claim} -->"), 1)
        });
    }
}

#[test]
fn text_around_the_fields() {
    let what = "it has other text or white space around its fields; the whole line is `<!-- rye:signed:<time>:<digest>:<signature>:<key id> -->`";
    check_html(what, |text| format!(" {text}"));
    check_html(what, |text| text.replacen(" -->", "  -->", 1));
    check_html(what, |text| text.replacen(" -->", "-->", 1));
    check_html(what, |text| text.replacen(" -->", " --> # Title", 1));
    check_html(what, |text| text.replacen(" -->", " ignore this -->", 1));
    check_html(what, |text| text.replacen("-->\n", "-->\r\r\n", 1));
}

#[test]
fn the_comment_of_another_file_type() {
    let what = "it is in a `#` comment; this file type uses `<!--`";
    check_malformed(&signed(CommentStyle::Hash), CommentStyle::Html, 1, what);
    let what = "it is in a `<!--` comment; this file type uses `//`";
    check_malformed(&signed(CommentStyle::Html), CommentStyle::Slash, 1, what);
}

#[test]
fn the_number_of_the_line_counts_the_shebang() {
    let text = sign("#!/bin/sh\n", CommentStyle::Hash, &item("tool", "a/b"), &key(1), now());
    let what = "its key id `3d4c030534b1c1c6X` is not 16 or 64 lowercase hex digits";
    check_malformed(
        &text.replacen("3d4c030534b1c1c6", "3d4c030534b1c1c6X", 1),
        CommentStyle::Hash,
        2,
        what,
    );
}

#[test]
fn a_line_above_the_shebang() {
    let text =
        format!("{}\n#!/bin/sh\n", signed(CommentStyle::Hash).lines().next().expect("a line"));
    check_malformed(
        &text,
        CommentStyle::Hash,
        1,
        "it stands above the `#!` line and belongs below it",
    );
}

#[test]
fn both_alphabets_are_read() {
    let (tool, trust) = (item("tool", "a/b"), trusting(&[&key(1)]));
    let text = signed(CommentStyle::Hash);
    let signature = text.split(':').nth(6).expect("the signature").to_owned();
    let standard = signature.replace('-', "+").replace('_', "/");
    for spelling in [standard.clone(), format!("{standard}=="), format!("{signature}==")] {
        let text = text.replace(&signature, &spelling);
        assert!(
            crate::verify(&text, CommentStyle::Hash, &tool, &trust, &Policy::default()).is_ok(),
            "{spelling}"
        );
    }
}

#[test]
fn both_notations_of_the_key_are_read() {
    let public = key(1).public();
    let text =
        signed(CommentStyle::Hash).replace(public.key_id().as_str(), public.fingerprint().as_str());
    let (tool, trust) = (item("tool", "a/b"), trusting(&[&key(1)]));
    let verified = crate::verify(&text, CommentStyle::Hash, &tool, &trust, &Policy::default())
        .expect("verified");
    assert_eq!(crate::facts(&verified).key_id(), public.key_id());
}

#[test]
fn allowing_unsigned_text_allows_nothing_else() {
    let (tool, trust) = (item("tool", "a/b"), trusting(&[&key(1)]));
    let policy = Policy::default().dangerous_allow_unsigned();
    let accept =
        |text: &'static str| accept(text, CommentStyle::Hash, &tool, &trust, &policy, now());
    assert_eq!(
        accept("text\n").map(|verified| verified.provenance().clone()),
        Ok(rye_sign::Provenance::Unsigned)
    );
    let reason = MalformedReason::TooFewFields;
    assert_eq!(accept("# rye:signed:x\n").map(|_| ()), Err(Error::Malformed { line: 1, reason }));
}

#[test]
fn tampered_text_stays_refused_when_unsigned_is_allowed() {
    let policy = Policy::default().dangerous_allow_unsigned();
    for (text, trust) in [
        (signed(CommentStyle::Hash) + "more\n", trusting(&[&key(1)])),
        (signed(CommentStyle::Hash), trusting(&[&key(2)])),
        (signed(CommentStyle::Hash).replacen("T18", "T17", 1), trusting(&[&key(1)])),
    ] {
        assert!(
            accept(&text, CommentStyle::Hash, &item("tool", "a/b"), &trust, &policy, now())
                .is_err()
        );
    }
    let strict = Policy::default().dangerous_allow_unsigned().strict();
    let refused =
        accept("text", CommentStyle::Hash, &item("tool", "a/b"), &trusting(&[]), &strict, now());
    check_error(refused, UNSIGNED);
}
