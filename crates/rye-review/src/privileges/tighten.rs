//! Tightening: the smallest block of permissions that covers the needs (SPEC 9.7).

use std::fmt;

use rye_caps::Grant;
use rye_caps::risk::Acknowledgement;
use rye_project::{block, least};
use rye_resolve::ItemId;

use super::Privileges;

/// The smaller block.
///
/// Its `Display` is the `<permissions>` element.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Tightened {
    /// The smaller grant. It holds all needed permissions and only declared ones.
    pub grant: Grant,
    /// The acknowledgements that are still called for.
    pub acknowledged: Vec<Acknowledgement>,
    /// Those that are not, because nothing that is left has such a risk.
    pub needless: Vec<Acknowledgement>,
}

impl fmt::Display for Tightened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&block(&self.grant, &self.acknowledged))
    }
}

/// There is nothing to judge permissions by.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "directive `{id}` has no structured steps to judge its permissions by; give threads that ran it with `--transcript`"
)]
#[non_exhaustive]
pub struct NothingToJudge {
    /// The directive.
    pub id: ItemId,
}

impl Privileges {
    /// The least that covers what is needed of the declared permissions.
    ///
    /// # Errors
    ///
    /// When neither a step nor a thread says anything.
    pub fn tighten(&self) -> Result<Tightened, NothingToJudge> {
        if self.needs.is_empty() {
            return Err(NothingToJudge { id: self.id.clone() });
        }
        let grant = least(&self.uses);
        let risks: Vec<_> = self
            .findings_of
            .0
            .assess(&grant, &self.invocations, &[])
            .iter()
            .map(|finding| finding.risk)
            .collect();
        let is_needed = |known: &Acknowledgement| risks.contains(&known.risk());
        let (acknowledged, needless) = self.acknowledged.iter().cloned().partition(is_needed);
        Ok(Tightened { grant, acknowledged, needless })
    }
}
