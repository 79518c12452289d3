//! Properties that hold for every text.

use std::sync::LazyLock;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rye_sign::{Binding, CommentStyle, Coverage, ItemName, Policy, SigningKey, TrustStore, sign};

use crate::{OldMessage, facts, item, key, many_cases, now, old_fields, trusting, verify};

static KEY: LazyLock<SigningKey> = LazyLock::new(|| key(1));
static OTHER_KEY: LazyLock<SigningKey> = LazyLock::new(|| key(2));
static TRUST: LazyLock<TrustStore> = LazyLock::new(|| trusting(&[&KEY]));

fn styles() -> impl Strategy<Value = CommentStyle> {
    prop_oneof![Just(CommentStyle::Html), Just(CommentStyle::Hash), Just(CommentStyle::Slash)]
}

/// Texts of short lines with every kind of start and line end. Some lines imitate signatures.
fn texts() -> impl Strategy<Value = String> {
    let start =
        prop_oneof![Just(""), Just("\u{feff}"), Just("#!/bin/sh\n"), Just("#!x\r\n"), Just("#!x")];
    let line = prop_oneof![
        3 => "[ -~é]{0,20}",
        1 => Just("<!-- rye:unsigned -->".to_owned()),
        1 => Just("# rye:signed:x".to_owned()),
        1 => Just("<directive>".to_owned()),
        1 => Just("</directive>".to_owned()),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("")];
    let lines = proptest::collection::vec((line, end), 0..6);
    (start, lines).prop_map(|(start, lines)| {
        lines.into_iter().fold(start.to_owned(), |text, (line, end)| text + &line + end)
    })
}

fn items() -> impl Strategy<Value = ItemName> {
    let kind = prop_oneof![
        Just("config"),
        Just("directive"),
        Just("knowledge"),
        Just("tool"),
        Just("trust")
    ];
    (kind, "[a-c]{1,2}(/[a-c]{1,2})?").prop_map(|(kind, id)| item(kind, &id))
}

fn is_accepted(text: &str, style: CommentStyle, item: &ItemName) -> bool {
    let policy = Policy::default().allow_metadata_only();
    verify(text, style, item, &TRUST, &policy).is_ok()
}

/// The two alphabets of base64 spell the same signature, and either line end is allowed. Neither changes the signed
/// content.
fn is_same_meaning(old: u8, new: u8) -> bool {
    matches!((old, new), (b'-', b'+') | (b'_', b'/'))
}

#[test]
fn any_single_byte_change_is_refused() {
    let changes = (texts(), styles(), items(), any::<prop::sample::Index>(), any::<u8>());
    let tried = TestRunner::new(many_cases()).run(&changes, |(text, style, item, place, new)| {
        let signed = sign(&text, style, &item, &KEY, now());
        let mut bytes = signed.into_bytes();
        let place = place.index(bytes.len());
        let old = std::mem::replace(&mut bytes[place], new);
        if let Ok(changed) = std::str::from_utf8(&bytes)
            && new != old
            && !is_same_meaning(old, new)
        {
            let is_refused = !is_accepted(changed, style, &item);
            prop_assert!(is_refused, "{old:?} to {new:?} at {place} of {changed:?}");
        }
        Ok(())
    });
    assert!(tried.is_ok(), "{}", tried.unwrap_err());
}

proptest! {
    #[test]
    fn any_cut_is_refused(text in texts(), style in styles(), item in items(), place in any::<prop::sample::Index>()) {
        let signed = sign(&text, style, &item, &KEY, now());
        let place = place.index(signed.len());
        if let (Some(head), Some(tail)) = (signed.get(..place), signed.get(place..)) {
            // A line end at the end of the signature line itself is not content.
            let is_end_of_line = tail.trim_matches(['\r', '\n']).is_empty() && head.lines().count() <= 2;
            prop_assert!(is_end_of_line || !is_accepted(head, style, &item), "{head:?}");
        }
    }

    #[test]
    fn no_text_panics(text in ".*", line in "(<!-- |# |// )?rye:(un)?signed.{0,40}( -->)?", style in styles()) {
        for text in [text.clone(), format!("{line}\n{text}"), format!("#!{text}\n{line}")] {
            is_accepted(&text, style, &item("directive", "a"));
            sign(&text, style, &item("directive", "a"), &KEY, now());
        }
    }
}

proptest! {
    #[test]
    fn signing_then_verifying(text in texts(), style in styles(), item in items()) {
        let signed = sign(&text, style, &item, &KEY, now());
        let verified = verify(&signed, style, &item, &TRUST, &Policy::default().strict());
        let verified = verified.map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(facts(&verified).coverage(), Coverage::Whole);
        prop_assert_eq!(facts(&verified).binding(), Binding::Bound);
        prop_assert_eq!(*verified.value(), signed.as_str());
        prop_assert_eq!(sign(&signed, style, &item, &KEY, now()), signed.clone());
    }

    #[test]
    fn line_ends_do_not_matter(text in texts(), style in styles(), item in items()) {
        let signed = sign(&text.replace('\r', ""), style, &item, &KEY, now());
        prop_assert!(is_accepted(&signed.replace('\n', "\r\n"), style, &item));
    }

    #[test]
    fn no_other_name_is_accepted(text in texts(), style in styles(), item in items(), other in items()) {
        let signed = sign(&text, style, &item, &KEY, now());
        prop_assert_eq!(is_accepted(&signed, style, &other), item == other);
    }

    #[test]
    fn a_changed_byte_under_an_old_signature_is_refused(
        text in "[ -~\n]{1,60}", place in any::<prop::sample::Index>(), new in any::<u8>()
    ) {
        let line = format!("# {}\n", old_fields(&text, 1, OldMessage::Hex));
        let mut bytes = text.clone().into_bytes();
        let place = place.index(bytes.len());
        let old = std::mem::replace(&mut bytes[place], new);
        let knowledge = item("knowledge", "a");
        let whole = line.clone() + &text;
        prop_assert!(text.starts_with("#!") || is_accepted(&whole, CommentStyle::Hash, &knowledge));
        if let Ok(changed) = std::str::from_utf8(&bytes) && new != old {
            let whole = line + changed;
            prop_assert!(!is_accepted(&whole, CommentStyle::Hash, &knowledge));
        }
    }

    #[test]
    fn no_other_key_is_accepted(text in texts(), style in styles(), item in items()) {
        let signed = sign(&text, style, &item, &OTHER_KEY, now());
        let claimed = signed.replace(OTHER_KEY.public().key_id().as_str(), KEY.public().key_id().as_str());
        prop_assert!(!is_accepted(&signed, style, &item));
        prop_assert!(!is_accepted(&claimed, style, &item));
    }
}
