//! The messages that keys sign: the new form and the two old ones (SPEC 2.4).

use rye_types::Timestamp;

use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::item_name::ItemName;
use crate::key::PublicKey;

/// Returns the message that a new signature signs.
pub(crate) fn bound(item: &ItemName, at: Timestamp, digest: &Digest) -> String {
    format!("rye-sig-v2\n{}\n{}\n{at}\n{digest}", item.kind(), item.id())
}

/// Returns `true` if the key signed the digest for this item and the time in the envelope.
pub(crate) fn is_bound(key: &PublicKey, envelope: &Envelope, item: &ItemName) -> bool {
    let message = bound(item, envelope.at, &envelope.digest);
    key.verifies(message.as_bytes(), &envelope.signature)
}

/// Returns `true` if the key signed only the digest, either as hex digits or, rarely, as raw bytes.
pub(crate) fn is_content_only(key: &PublicKey, envelope: &Envelope) -> bool {
    let digits = envelope.digest.to_string();
    let messages = [digits.as_bytes(), envelope.digest.as_bytes().as_slice()];
    messages.into_iter().any(|message| key.verifies(message, &envelope.signature))
}

#[cfg(test)]
mod tests {
    use rye_types::Timestamp;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use super::{bound, is_bound, is_content_only};
    use crate::digest::Digest;
    use crate::envelope::Envelope;
    use crate::item_name::{ItemName, KINDS};
    use crate::key::PublicKey;
    use crate::signing_key::SigningKey;

    const AT: i64 = 1_790_000_000;
    const IDS: [&str; 8] =
        ["a", "b", "a/b", "a/b/c", "notes/index", "notes/index-style", "admin/index", "0.1_-"];

    /// Made once, because a signature costs more than the rest of a test case.
    static SIGNED: LazyLock<(PublicKey, Vec<(ItemName, Envelope)>)> = LazyLock::new(|| {
        let key = SigningKey::generate().expect("random bytes");
        let names = KINDS.into_iter().flat_map(|kind| IDS.map(|id| name(kind, id)));
        let signed = names.map(|item| (item.clone(), envelope(&item, &key))).collect();
        (key.public(), signed)
    });

    fn name(kind: &str, id: &str) -> ItemName {
        ItemName::new(kind, id).expect("a name literal")
    }

    fn envelope(item: &ItemName, key: &SigningKey) -> Envelope {
        let at = Timestamp::from_unix(AT);
        let digest = Digest::of(item.to_string().as_bytes());
        let signature = key.sign(bound(item, at, &digest).as_bytes());
        let key_id = key.public().key_id().clone();
        Envelope { at, digest, signature, key_id, claimed_owner: None }
    }

    /// Ids close to the signed ones: the same, with one letter more, and with the separators of a message.
    fn ids() -> impl Strategy<Value = String> {
        let near = prop::sample::select(IDS.to_vec());
        prop_oneof![
            near.clone().prop_map(str::to_owned),
            (near.clone(), "[ -~]{0,3}").prop_map(|(id, end)| format!("{id}{end}")),
            (near, prop::sample::select(KINDS.to_vec()))
                .prop_map(|(id, kind)| format!("{kind}/{id}")),
            "[ -~é]{1,12}",
        ]
    }

    /// Many cases for the promises of the message.
    ///
    /// The macro `proptest!` would take `PROPTEST_CASES` in the place of any other number.
    fn many_cases() -> ProptestConfig {
        let config = ProptestConfig { source_file: Some(file!()), ..ProptestConfig::default() };
        ProptestConfig { cases: (config.cases * 8).min(config.cases.max(10_000)), ..config }
    }

    fn kinds() -> impl Strategy<Value = &'static str> {
        prop::sample::select(KINDS.to_vec())
    }

    /// Together with [`is_content_only`], which is tested below, this covers every check that a verification makes.
    #[test]
    fn a_signature_for_one_name_is_none_for_another() {
        let (key, signed) = &*SIGNED;
        let names = (any::<prop::sample::Index>(), kinds(), ids());
        let tried = TestRunner::new(many_cases()).run(&names, |(index, kind, id)| {
            let (item, envelope) = index.get(signed);
            let other = name(kind, &id);
            let is_same = *item == other;
            prop_assert_eq!(is_bound(key, envelope, &other), is_same, "{} as {}", item, other);
            Ok(())
        });
        assert!(tried.is_ok(), "{}", tried.unwrap_err());
    }

    #[test]
    fn no_two_names_or_times_have_one_message() {
        let side = || {
            (kinds(), ids(), any::<i32>()).prop_map(|(kind, id, seconds)| {
                (name(kind, &id), Timestamp::from_unix(seconds.into()))
            })
        };
        let tried = TestRunner::new(many_cases()).run(&(side(), side()), |(one, other)| {
            let digest = Digest::of(b"");
            let message = |(item, at): &(ItemName, Timestamp)| bound(item, *at, &digest);
            prop_assert_eq!(message(&one) == message(&other), one == other);
            Ok(())
        });
        assert!(tried.is_ok(), "{}", tried.unwrap_err());
    }

    #[test]
    fn a_bound_signature_is_not_one_over_the_content_alone() {
        let (key, signed) = &*SIGNED;
        assert!(signed.iter().all(|(_, envelope)| !is_content_only(key, envelope)));
    }
}
