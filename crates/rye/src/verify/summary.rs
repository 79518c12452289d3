//! How many files came to what.

use std::collections::BTreeMap;

use rye_sign::Provenance;

use super::Verification;

/// How many files came to what; the words are those of coverage and binding, and of [`VerifyError::code`].
///
/// [`VerifyError::code`]: crate::VerifyError::code
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerificationSummary {
    /// All of them.
    pub files: usize,
    /// Those that somebody vouches for.
    pub verified: usize,
    /// What the signatures of those cover.
    pub coverage: BTreeMap<String, usize>,
    /// What they bind besides.
    pub binding: BTreeMap<String, usize>,
    /// Trust documents that count without a signature of a known key.
    pub unsigned_trust: usize,
    /// Why the others are refused.
    pub refused: BTreeMap<&'static str, usize>,
}

impl VerificationSummary {
    /// Counts the outcomes.
    #[must_use]
    pub fn of(verifications: &[Verification]) -> Self {
        let mut summary = Self { files: verifications.len(), ..Self::default() };
        verifications.iter().for_each(|verification| summary.add(verification));
        summary
    }

    fn add(&mut self, verification: &Verification) {
        match &verification.result {
            Ok(provenance) => {
                self.verified += 1;
                if let Provenance::Signed(signature) = provenance {
                    count(&mut self.coverage, signature.coverage().to_string());
                    count(&mut self.binding, signature.binding().to_string());
                } else {
                    self.unsigned_trust += 1;
                }
            }
            Err(error) => count(&mut self.refused, error.code()),
        }
    }
}

fn count<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    *counts.entry(key).or_default() += 1;
}
