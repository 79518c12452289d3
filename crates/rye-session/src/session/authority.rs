//! The authority of a thread once calls have added items to its conversation.

use rye_caps::Authority;
use rye_thread::AddedItem;

/// The authority under every one of these items.
pub(super) fn under(authority: &Authority, added: &[AddedItem]) -> Authority {
    added.iter().fold(authority.clone(), |authority, item| item.narrow(&authority))
}
