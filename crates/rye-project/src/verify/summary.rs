//! Counts of verified files by their results.

use std::collections::BTreeMap;

use rye_sign::Provenance;

use super::{Subject, Verification};

/// Counts of files by their results. The words are those of coverage and binding, and of
/// [`VerifyError::code`](crate::VerifyError::code).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerificationSummary {
    /// All of them.
    pub files: usize,
    /// The files with a provenance.
    pub verified: usize,
    /// The coverage of their signatures.
    pub coverage: BTreeMap<String, usize>,
    /// The binding of their signatures.
    pub binding: BTreeMap<String, usize>,
    /// Trust documents that count without a signature of a known key.
    pub unsigned_trust: usize,
    /// The reason why the others are refused.
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
                } else if verification.subject == Subject::TrustDocument {
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
