//! Coverage, binding and keys: reasons to refuse a signature that is well-formed.

use rye_sign::{
    Binding, CommentStyle, Coverage, Error, Note, Origin, Policy, TrustDocument, TrustStore,
    Unverified, Verified, sign,
};

use crate::{OldMessage, at, check_error, facts, item, key, now, old_fields, trusting, verify};

const DIRECTIVE: &str = "# Low\n```xml\n<directive name=\"low\" version=\"1.0.0\">\n<metadata>\n<category>team</category>\n</metadata>\n</directive>\n```\nSteps.\n";

#[test]
fn a_new_signature_is_bound_and_whole() {
    let directive = item("directive", "team/low");
    let text = sign(DIRECTIVE, CommentStyle::Html, &directive, &key(1), now());
    let verified = verify(
        &text,
        CommentStyle::Html,
        &directive,
        &trusting(&[&key(1)]),
        &Policy::default().strict(),
    );
    let verified = verified.expect("verified");
    let signature = facts(&verified);
    assert_eq!((signature.coverage(), signature.binding()), (Coverage::Whole, Binding::Bound));
    assert_eq!((signature.item(), signature.at()), (Some(&directive), now()));
    assert_eq!((signature.notes(), signature.owner()), ([].as_slice(), Some("owner")));
}

#[test]
fn an_item_moved_to_another_id() {
    let text = sign(DIRECTIVE, CommentStyle::Html, &item("directive", "team/low"), &key(1), now());
    check_error(
        verify(
            &text,
            CommentStyle::Html,
            &item("directive", "admin/high"),
            &trusting(&[&key(1)]),
            &Policy::default(),
        ),
        "bound to another item: signed as directive `team/low`, found as directive `admin/high`; move it back, or review it and sign it again with `rye sign`",
    );
}

#[test]
fn an_item_moved_to_another_kind() {
    let text = sign("text\n", CommentStyle::Hash, &item("knowledge", "a/b"), &key(1), now());
    check_error(
        verify(
            &text,
            CommentStyle::Hash,
            &item("config", "a/b"),
            &trusting(&[&key(1)]),
            &Policy::default(),
        ),
        "bound to another item: signed as knowledge `a/b`, found as config `a/b`; move it back, or review it and sign it again with `rye sign`",
    );
}

#[test]
fn a_signature_that_fits_no_name_known_here() {
    let text = sign("text\n", CommentStyle::Hash, &item("tool", "x/y"), &key(1), now());
    check_error(
        verify(
            &text,
            CommentStyle::Hash,
            &item("tool", "a/b"),
            &trusting(&[&key(1)]),
            &Policy::default(),
        ),
        "bad signature: the key `3d4c030534b1c1c6` did not sign this text as tool `a/b` at the time stated; restore the file, or review it and sign it again with `rye sign`",
    );
}

/// A declared name is tried up to the length of an id, and an empty one is none.
#[test]
fn a_declared_name_is_tried_if_it_may_be_an_id() {
    let [longest, longer] = [256, 257].map(|length| "a".repeat(length));
    for (name, signed_as, expected) in [
        ("low", "low", "bound-elsewhere"),
        (&longest, &longest, "bound-elsewhere"),
        (&longer, &longer, "bad-signature"),
        ("", "team/", "bad-signature"),
    ] {
        let text = format!("<directive name=\"{name}\">\n</directive>\n");
        let text = sign(&text, CommentStyle::Html, &item("directive", signed_as), &key(1), now());
        let found = item("directive", "team/x");
        let trust = trusting(&[&key(1)]);
        let refused = verify(&text, CommentStyle::Html, &found, &trust, &Policy::default());
        assert_eq!(refused.expect_err("another name").code(), expected, "{name}");
    }
}

#[test]
fn the_time_is_bound() {
    let tool = item("tool", "a/b");
    let text =
        sign("text\n", CommentStyle::Hash, &tool, &key(1), now()).replacen("2026", "2027", 1);
    let refused =
        verify(&text, CommentStyle::Hash, &tool, &trusting(&[&key(1)]), &Policy::default());
    assert!(matches!(refused, Err(Error::BadSignature { .. })));
}

#[test]
fn a_store_without_keys_trusts_no_signature() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(1), now());
    check_error(
        verify(&text, CommentStyle::Hash, &tool, &TrustStore::new(), &Policy::default()),
        "signed by the unknown key `3d4c030534b1c1c6`; no key is trusted; if you know its owner, `rye trust add FILE` accepts its trust document or public key, and `--trust FILE` a document for one command",
    );
}

#[test]
fn a_document_that_the_project_carries_is_offered() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(1), now());
    let mut trust = TrustStore::new();
    let document = TrustDocument::new("someone", key(1).public()).to_toml();
    trust.admit(&document, None, Origin::Project, now()).expect_err("nobody vouches for it");
    check_error(
        verify(&text, CommentStyle::Hash, &tool, &trust, &Policy::default()),
        "signed by the unknown key `3d4c030534b1c1c6`; no key is trusted; if you know its owner, `rye trust add FILE` accepts its trust document or public key, `rye trust add 3d4c030534b1c1c6` the document that the project carries, and `--trust FILE` a document for one command",
    );
}

#[test]
fn a_stranger_is_told_with_the_keys_that_are_trusted() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(3), now());
    let trust = trusting(&[&key(1), &key(2)]);
    let refused = verify(&text, CommentStyle::Hash, &tool, &trust, &Policy::default());
    let message = refused.expect_err("unknown").to_string();
    assert!(
        message.contains("; trusted are `07097e6443239d36`, `3d4c030534b1c1c6`; "),
        "{message}"
    );
}

#[test]
fn coverage_and_binding_are_shown_as_words() {
    let words = [Coverage::AfterShebang, Coverage::MetadataOnly, Coverage::Whole];
    assert_eq!(words.map(|it| it.to_string()), ["after-shebang", "metadata-only", "whole"]);
    let words = [Binding::Bound, Binding::ContentOnly];
    assert_eq!(words.map(|it| it.to_string()), ["bound", "content-only"]);
}

fn trusting_until(document: &TrustDocument) -> TrustStore {
    let mut trust = TrustStore::new();
    trust.admit(&document.to_toml(), None, Origin::Operator, now()).expect("a good document");
    trust
}

#[test]
fn a_revoked_key_is_refused_whatever_the_time() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(1), at("2020-01-01T00:00:00Z"));
    let trust = trusting_until(
        &TrustDocument::new("owner", key(1).public()).with_revoked(at("2026-01-01T00:00:00Z")),
    );
    check_error(
        verify(&text, CommentStyle::Hash, &tool, &trust, &Policy::default()),
        "the key `3d4c030534b1c1c6` was revoked at 2026-01-01T00:00:00Z; review the file and sign it again with another key and `rye sign`",
    );
}

#[test]
fn trust_ends_at_the_second() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(1), at("2020-01-01T00:00:00Z"));
    let document = TrustDocument::new("owner", key(1).public());
    let later = trusting_until(&document.clone().with_expires(at("2026-11-20T18:00:01Z")));
    assert!(verify(&text, CommentStyle::Hash, &tool, &later, &Policy::default()).is_ok());
    check_error(
        verify(
            &text,
            CommentStyle::Hash,
            &tool,
            &trusting_until(&document.with_expires(now())),
            &Policy::default(),
        ),
        "the trust in the key `3d4c030534b1c1c6` expired at 2026-11-20T18:00:00Z; ask its owner for a new trust document, or review the file and sign it again with `rye sign`",
    );
}

#[test]
fn a_signature_from_the_future_is_noted() {
    let tool = item("tool", "a/b");
    let text = sign("text\n", CommentStyle::Hash, &tool, &key(1), at("2027-01-01T00:00:00Z"));
    let verified =
        verify(&text, CommentStyle::Hash, &tool, &trusting(&[&key(1)]), &Policy::default());
    assert_eq!(facts(&verified.expect("verified")).notes(), [Note::FromTheFuture]);
}

#[track_caller]
fn check_old(text: &str, style: CommentStyle, kind: &str, coverage: Coverage) {
    let policy = Policy::default().allow_metadata_only();
    let verified = verify(text, style, &item(kind, "any/name"), &trusting(&[&key(1)]), &policy)
        .expect("verified");
    assert_eq!(
        (facts(&verified).coverage(), facts(&verified).binding()),
        (coverage, Binding::ContentOnly)
    );
    let strict = Policy::default().allow_metadata_only().deny_content_only();
    let refused = verify(text, style, &item(kind, "any/name"), &trusting(&[&key(1)]), &strict);
    assert!(matches!(refused, Err(Error::ContentOnlyDenied { .. })));
}

#[test]
fn old_signatures_over_the_whole_text() {
    for message in [OldMessage::Hex, OldMessage::Raw] {
        let text = format!("# {}\nname: x\n", old_fields("name: x\n", 1, message));
        check_old(&text, CommentStyle::Hash, "config", Coverage::Whole);
    }
}

#[test]
fn old_signatures_over_the_metadata() {
    let start = DIRECTIVE.find("<directive").expect("the element");
    let end = DIRECTIVE.find("</directive>").expect("its end") + "</directive>".len();
    for message in [OldMessage::Hex, OldMessage::Raw] {
        let text =
            format!("<!-- {} -->\n{DIRECTIVE}", old_fields(&DIRECTIVE[start..end], 1, message));
        check_old(&text, CommentStyle::Html, "directive", Coverage::MetadataOnly);
        // Under such a signature the text that the model follows can be replaced, so it is refused by default.
        check_old(
            &text.replace("Steps.", "Evil."),
            CommentStyle::Html,
            "directive",
            Coverage::MetadataOnly,
        );
    }
}

#[test]
fn old_signatures_without_the_shebang() {
    for message in [OldMessage::Hex, OldMessage::Raw] {
        let text = format!("#!/bin/sh\n# {}\nmake\n", old_fields("make\n", 1, message));
        check_old(&text, CommentStyle::Hash, "tool", Coverage::AfterShebang);
        let verified = verify(
            &text,
            CommentStyle::Hash,
            &item("tool", "a"),
            &trusting(&[&key(1)]),
            &Policy::default(),
        );
        assert_eq!(
            facts(&verified.expect("verified")).notes(),
            [Note::AfterShebang, Note::ContentOnly]
        );
    }
}

/// Cases: the policy, and what comes of old signatures over the whole text, over the metadata and without the `#!` line.
#[test]
fn the_policy_decides_on_old_signatures() {
    let whole = format!("# {}\nname: x\n", old_fields("name: x\n", 1, OldMessage::Hex));
    let element = "<directive name=\"low\">\n</directive>";
    let metadata =
        format!("<!-- {} -->\n{element}\nSteps.\n", old_fields(element, 1, OldMessage::Hex));
    let shebang = format!("#!/bin/sh\n# {}\nmake\n", old_fields("make\n", 1, OldMessage::Hex));
    let texts = [
        (&whole, CommentStyle::Hash, "config"),
        (&metadata, CommentStyle::Html, "directive"),
        (&shebang, CommentStyle::Hash, "tool"),
    ];
    let default = Policy::default;
    let [denied, uncovered] = ["content-only-denied", "not-covered"];
    for (name, policy, expected) in [
        ("default", default(), ["", uncovered, ""]),
        ("lax", default().allow_metadata_only(), [""; 3]),
        ("bound", default().deny_content_only(), [denied, uncovered, denied]),
        ("both", default().allow_metadata_only().deny_content_only(), [denied; 3]),
        ("reversed", default().deny_content_only().allow_metadata_only(), [denied; 3]),
        ("strict", default().allow_metadata_only().strict(), [denied, uncovered, denied]),
        ("unsigned", default().dangerous_allow_unsigned(), ["", uncovered, ""]),
    ] {
        let found = texts.map(|(text, style, kind)| {
            let found = verify(text, style, &item(kind, "a"), &trusting(&[&key(1)]), &policy);
            found.err().map_or("", |error| error.code())
        });
        assert_eq!(found, expected, "{name}");
    }
    check_error(
        verify(
            &metadata,
            CommentStyle::Html,
            &item("directive", "a"),
            &trusting(&[&key(1)]),
            &default(),
        ),
        "not covered: the signature of the key `3d4c030534b1c1c6` covers only the `<directive>` element, not the text around it that the model follows; review the file and sign it again with `rye sign`, or set `trust.metadata_only: allow`",
    );
}

/// Cases: the text that was signed, the text that is found, its style and its kind. No old signature covers what is found.
#[test]
fn an_old_signature_covers_nothing_else() {
    let element = "<directive name=\"low\">\n</directive>";
    let changed = "<directive name=\"high\">\n</directive>";
    let around = format!("{element}\nSteps.\n");
    let [hash, html] = [CommentStyle::Hash, CommentStyle::Html];
    for (signed, found, style, kind) in [
        (element, changed, html, "directive"),
        (element, &around, html, "knowledge"),
        (element, &around, hash, "directive"),
        ("make\n", "make all\n", hash, "tool"),
        ("make\n", "make all\n", html, "directive"),
    ] {
        let fields = old_fields(signed, 1, OldMessage::Hex);
        for shebang in ["", "#!/bin/sh\n"] {
            let line = match style {
                CommentStyle::Html => format!("<!-- {fields} -->"),
                _ => format!("# {fields}"),
            };
            let text = format!("{shebang}{line}\n{found}");
            let policy = Policy::default().allow_metadata_only();
            let refused = verify(&text, style, &item(kind, "a"), &trusting(&[&key(1)]), &policy);
            assert!(matches!(refused, Err(Error::Tampered { .. })), "{kind}: {text}");
        }
    }
}

#[test]
fn only_a_tool_may_have_an_uncovered_shebang() {
    let text = format!("#!x\n# {}\nname: x\n", old_fields("name: x\n", 1, OldMessage::Hex));
    let refused = verify(
        &text,
        CommentStyle::Hash,
        &item("config", "a"),
        &trusting(&[&key(1)]),
        &Policy::default(),
    );
    assert!(matches!(refused, Err(Error::Tampered { .. })));
}

#[test]
fn a_new_signature_does_not_cover_a_part() {
    let element = "<directive name=\"low\">\n</directive>";
    let directive = item("directive", "team/low");
    let signed = sign(element, CommentStyle::Html, &directive, &key(1), now());
    let padded = format!("{signed}\nEvil steps.\n");
    let policy = Policy::default().allow_metadata_only();
    let refused = verify(&padded, CommentStyle::Html, &directive, &trusting(&[&key(1)]), &policy);
    assert!(matches!(refused, Err(Error::Tampered { .. })));

    let tool = item("tool", "a/b");
    let signed = sign("make\n", CommentStyle::Hash, &tool, &key(1), now());
    let refused = format!("#!/bin/evil\n{signed}");
    let refused =
        verify(&refused, CommentStyle::Hash, &tool, &trusting(&[&key(1)]), &Policy::default());
    assert!(matches!(refused, Err(Error::Tampered { .. })));
}

#[test]
fn the_shebang_of_a_new_signature_is_covered() {
    let tool = item("tool", "a/b");
    let text = sign("#!/bin/sh\nmake\n", CommentStyle::Hash, &tool, &key(1), now());
    assert!(
        verify(&text, CommentStyle::Hash, &tool, &trusting(&[&key(1)]), &Policy::default()).is_ok()
    );
    let changed = text.replacen("/bin/sh", "/bin/ed", 1);
    let refused =
        verify(&changed, CommentStyle::Hash, &tool, &trusting(&[&key(1)]), &Policy::default());
    assert!(matches!(refused, Err(Error::Tampered { .. })));
}

fn detached<'a>(text: &'a str, kind: &str) -> Result<Verified<&'a str>, Error> {
    let unverified = Unverified::locate(text, CommentStyle::Html)?;
    unverified.verify_detached_name(kind, &trusting(&[&key(1)]), &Policy::default(), now())
}

#[test]
fn outside_a_tree_an_old_signature_verifies() {
    let text = format!("<!-- {} -->\ntext\n", old_fields("text\n", 1, OldMessage::Hex));
    assert_eq!(
        facts(&detached(&text, "knowledge").expect("verified")).binding(),
        Binding::ContentOnly
    );
}

#[test]
fn outside_a_tree_a_bound_signature_says_that_the_id_is_unknown() {
    let text = sign("text\n", CommentStyle::Html, &item("knowledge", "a/b"), &key(1), now());
    check_error(
        detached(&text, "knowledge"),
        "the id cannot be checked: the text agrees with its digest, but the signature of the key `3d4c030534b1c1c6` binds an id, which a file outside an `.ai` folder does not have; verify it at its place in an `.ai` folder",
    );
    assert!(matches!(detached(&(text + "!"), "knowledge"), Err(Error::Tampered { .. })));
}

#[test]
fn outside_a_tree_the_name_that_the_text_declares_is_tried() {
    let directive = item("directive", "team/low");
    let text = sign(DIRECTIVE, CommentStyle::Html, &directive, &key(1), now());
    assert_eq!(facts(&detached(&text, "directive").expect("verified")).item(), Some(&directive));
    assert!(matches!(detached(&text, "knowledge"), Err(Error::IdUnchecked { .. })));
    check_error(
        detached(&text, "folder"),
        "unknown kind `folder`; valid are `config`, `directive`, `knowledge`, `tool`, `trust`",
    );
}

#[test]
fn text_of_the_program_is_builtin() {
    let verified = Verified::builtin("text").map(str::len);
    assert_eq!((*verified.value(), verified.provenance()), (4, &rye_sign::Provenance::Builtin));
    assert_eq!(verified.try_map(u8::try_from).map(Verified::into_value), Ok(4));
}
