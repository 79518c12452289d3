//! Signatures that are kept beside a text (SPEC 17.3).

use rye_sign::{
    CommentStyle, Digest, Error, Policy, Provenance, Shown, Unverified, accept_detached, sign,
    sign_detached,
};

use crate::{OldMessage, at, facts, item, key, now, old_fields, trusting};

const TEXT: &str = "# Rules\n\nUse tabs.\n";

fn verdict(text: &str, signature: Option<&str>, policy: &Policy) -> String {
    let trust = trusting(&[&key(1)]);
    let name = item("knowledge", "file:AGENTS.md");
    match accept_detached(text, signature, &name, &trust, policy, now()) {
        Ok(verified) => {
            assert_eq!(*verified.value(), text);
            match verified.provenance() {
                Provenance::Signed(signature) => {
                    format!("{}, {}", signature.coverage(), signature.binding())
                }
                Provenance::Unsigned => "unsigned".to_owned(),
                other => format!("{other:?}"),
            }
        }
        Err(Error::Malformed { line, reason }) => format!("malformed: line {line}, {reason}"),
        Err(error) => format!("refused: {}", error.code()),
    }
}

#[test]
fn verdicts() {
    let name = item("knowledge", "file:AGENTS.md");
    let signed = sign_detached(TEXT, &name, &key(1), now());
    let windows = TEXT.replace('\n', "\r\n");
    let shebang = "#!/bin/sh\n# rye:unsigned\ntrue\n";
    let inline = sign(TEXT, CommentStyle::Html, &item("knowledge", "k"), &key(1), now());
    let of = |text: &str| sign_detached(text, &name, &key(1), now());
    let old = |message| format!("# {}\n", old_fields(TEXT, 1, message));
    let default = Policy::default;
    let rows: Vec<(&str, &str, Option<String>, Policy, &str)> = vec![
        ("as it was signed", TEXT, Some(signed.clone()), default(), "whole, bound"),
        ("strictly", TEXT, Some(signed.clone()), default().strict(), "whole, bound"),
        ("with CRLF", &windows, Some(signed.clone()), default(), "whole, bound"),
        ("a line with CRLF", TEXT, Some(signed.replace('\n', "\r\n")), default(), "whole, bound"),
        (
            "a line without an end",
            TEXT,
            Some(signed.trim_end().to_owned()),
            default(),
            "whole, bound",
        ),
        ("a script", shebang, Some(of(shebang)), default(), "whole, bound"),
        ("a text that carries a signature", &inline, Some(of(&inline)), default(), "whole, bound"),
        ("nothing", "", Some(of("")), default(), "whole, bound"),
        ("another text", "Use spaces.\n", Some(signed.clone()), default(), "refused: tampered"),
        (
            "without the line that looks like a signature",
            TEXT,
            Some(of(&inline)),
            default(),
            "refused: tampered",
        ),
        ("no file", TEXT, None, default(), "refused: unsigned"),
        ("an empty file", TEXT, Some(String::new()), default(), "refused: unsigned"),
        ("no file, allowed", TEXT, None, default().dangerous_allow_unsigned(), "unsigned"),
        (
            "another text, unsigned allowed",
            "x",
            Some(signed.clone()),
            default().dangerous_allow_unsigned(),
            "refused: tampered",
        ),
        (
            "another name",
            TEXT,
            Some(sign_detached(TEXT, &item("knowledge", "file:docs/AGENTS.md"), &key(1), now())),
            default(),
            "refused: bad-signature",
        ),
        (
            "another kind",
            TEXT,
            Some(sign_detached(TEXT, &item("directive", "file:AGENTS.md"), &key(1), now())),
            default(),
            "refused: bound-elsewhere",
        ),
        (
            "a stranger",
            TEXT,
            Some(sign_detached(TEXT, &name, &key(2), now())),
            default(),
            "refused: unknown-key",
        ),
        ("the old form", TEXT, Some(old(OldMessage::Hex)), default(), "refused: bad-signature"),
        (
            "the rare old form",
            TEXT,
            Some(old(OldMessage::Raw)),
            default(),
            "refused: bad-signature",
        ),
        (
            "more than a line",
            TEXT,
            Some(format!("{signed}more\n")),
            default(),
            "malformed: line 1, it is alone in its file, and there is other text",
        ),
        (
            "two lines",
            TEXT,
            Some(format!("{signed}{signed}")),
            default(),
            "malformed: line 1, it is alone in its file, and there is other text",
        ),
        (
            "another comment",
            TEXT,
            Some(format!("<!-- {} -->\n", signed.trim_start_matches("# ").trim_end())),
            default(),
            "malformed: line 1, it is in a `<!--` comment; this file type uses `#`",
        ),
    ];
    for (case, text, signature, policy, expected) in rows {
        assert_eq!(verdict(text, signature.as_deref(), &policy), expected, "{case}");
    }
}

#[test]
fn the_line_states_the_digest_of_all_of_the_text() {
    let name = item("knowledge", "file:AGENTS.md");
    let inline = sign(TEXT, CommentStyle::Html, &item("knowledge", "k"), &key(1), now());
    let line = sign_detached(&inline, &name, &key(1), now());
    assert!(line.starts_with("# rye:signed:2026-11-20T18:00:00Z:") && line.ends_with('\n'));
    assert_eq!(line.lines().count(), 1);
    assert!(line.contains(&Digest::of_text(&inline).to_string()));
    assert_ne!(Digest::of_text(&inline), Digest::of_content(&inline));
    let trust = trusting(&[&key(1)]);
    let unverified = Unverified::detached(&inline, &line).expect("a line");
    let verified = unverified.verify(&name, &trust, &Policy::default(), now()).expect("signed");
    assert_eq!(facts(&verified).item(), Some(&name));
}

#[test]
fn a_changed_text_is_a_draft_of_its_signer() {
    let name = item("knowledge", "file:AGENTS.md");
    let line = sign_detached(TEXT, &name, &key(1), at("2026-11-20T17:00:00Z"));
    let trust = trusting(&[&key(1), &key(2)]);
    let draft = |text: &str, name: &str, seed: u8| {
        let unverified = Unverified::detached(text, &line).expect("a line");
        let draft = unverified.draft(&item("knowledge", name), &key(seed).public(), &trust, now());
        draft.map(|draft| Shown::from(draft).value().clone())
    };
    assert_eq!(draft("Use\r\nspaces.\n", "file:AGENTS.md", 1), Some("Use\nspaces.\n".to_owned()));
    assert_eq!(draft(TEXT, "file:AGENTS.md", 1), None);
    assert_eq!(draft("Use spaces.\n", "file:RULES.md", 1), None);
    assert_eq!(draft("Use spaces.\n", "file:AGENTS.md", 2), None);
}
