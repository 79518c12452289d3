//! How dangerous a grant is that no directive declares.

use rye_caps::Grant;
use rye_caps::risk::{Acknowledgement, Finding, Verdict};

use crate::config::risk_table;
use crate::rye::Rye;
use crate::session::PrepareError;

/// What is dangerous about a grant, each as a sentence.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Risks {
    /// What may be granted, though somebody should know.
    pub warned: Vec<String>,
    /// What may not be granted unless somebody acknowledges it.
    pub blocked: Vec<String>,
}

impl Rye {
    /// Holds a grant against the risk table of the spaces, as the grant of a directive is (SPEC 9.6).
    ///
    /// It is for grants whose layer [judges functions](rye_caps::LayerName::judges_functions), as that of a server's clients
    /// does: a second name for a function then allows nothing that the grant does not cover by the function's own name.
    ///
    /// # Errors
    ///
    /// When the table is refused or broken.
    pub fn risks(
        &self,
        grant: &Grant,
        acknowledged: &[Acknowledgement],
    ) -> Result<Risks, PrepareError> {
        let config = self.library.config("agent/capability_risk")?;
        let findings = risk_table(config.as_ref())?.assess(grant, &[], acknowledged);
        let of = |verdict: Verdict| {
            let those =
                findings.iter().filter(move |finding: &&Finding| finding.verdict == verdict);
            those.map(Finding::statement).collect()
        };
        Ok(Risks { warned: of(Verdict::Warn), blocked: of(Verdict::Block) })
    }
}
