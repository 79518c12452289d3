//! Ids within the folder of a kind that are no items.

use rye_types::ItemKind;

use crate::ItemId;

/// Returns `true` if `id` is in this kind's folder but is not an item. `config/keys` holds keys and trust documents, which have rules of
/// their own (SPEC 2.6, 2.7).
pub(crate) fn is_reserved(kind: ItemKind, id: &ItemId) -> bool {
    kind == ItemKind::Config && (id.as_str() == "keys" || id.as_str().starts_with("keys/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_configs_keys_are_reserved() {
        #[track_caller]
        fn check(kind: ItemKind, id: &str, expected: bool) {
            assert_eq!(is_reserved(kind, &id.parse().unwrap()), expected);
        }
        check(ItemKind::Config, "keys", true);
        check(ItemKind::Config, "keys/trusted/4b987fd4e40303ac", true);
        check(ItemKind::Config, "keyset", false);
        check(ItemKind::Config, "agent/keys", false);
        check(ItemKind::Knowledge, "keys/rotation", false);
    }
}
