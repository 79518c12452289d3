//! Records of directives, made from their explanations. What reads a lock needs none of this.

use rye_resolve::Space;

use super::compare::{LockReport, report};
use super::{Lock, LockError, Locked, LockedItem, LockedTool};
use crate::explain::{Explained, ItemFacts, ToolFacts};

impl Lock {
    /// Records a directive as it is now, in place of its older record.
    ///
    /// # Errors
    ///
    /// The method fails with [`LockError::NoModel`] if no model can answer, because the provider decides on a
    /// part of the texts.
    pub fn insert(&mut self, explained: &Explained) -> Result<(), LockError> {
        if let Err(reason) = &explained.model {
            let id = explained.id.clone();
            let reason = reason.clone();
            return Err(LockError::NoModel { id, reason });
        }
        self.directives.insert(explained.id.clone(), Locked::of(explained));
        Ok(())
    }

    /// Compares a directive with its record; `None` for a directive without a record.
    #[must_use]
    pub fn check(&self, explained: &Explained) -> Option<LockReport> {
        let locked = self.directives.get(&explained.id)?;
        Some(report(locked, &Locked::of(explained), explained))
    }
}

impl Locked {
    fn of(explained: &Explained) -> Self {
        let mut items: Vec<LockedItem> = lockable(explained).map(LockedItem::of).collect();
        items.sort_unstable();
        Self {
            items,
            tools: explained.tools.iter().map(LockedTool::of).collect(),
            digest: explained.digest,
            system: explained.system.clone(),
            first_user_message: explained.first_user_message.clone(),
        }
    }
}

/// Every file that counts wherever the project is: the operator's own configuration is left out.
pub(super) fn lockable(explained: &Explained) -> impl Iterator<Item = &ItemFacts> {
    let is_everywhere =
        |item: &&ItemFacts| matches!(item.location.space, Space::Project | Space::Builtin);
    explained.items().into_iter().chain(explained.configs.iter().filter(is_everywhere))
}

impl LockedItem {
    pub(super) fn of(item: &ItemFacts) -> Self {
        Self {
            kind: item.kind.to_string(),
            id: item.id.to_string(),
            space: item.location.space.to_string(),
            digest: item.digest,
            signer: item.signer.as_str().to_owned(),
        }
    }
}

impl LockedTool {
    fn of(tool: &ToolFacts) -> Self {
        let id = tool.item.as_ref().map(|item| item.id.to_string());
        Self { name: tool.name.clone(), id, spec: tool.spec }
    }
}
