//! What a verification depends on besides the text and its name.

use crate::digest::Digest;
use crate::policy::Policy;
use crate::timestamp::Timestamp;
use crate::trust::{Origin, TrustStore, TrustedKey};

/// A digest over every trusted key with its limits, which of them no longer count at `now`, and the policy.
///
/// Under an equal state an equal text verifies, or is refused, as it was before: that a key was added, revoked, given
/// other grants or expired since gives another state.
pub fn verification_state(trust: &TrustStore, policy: &Policy, now: Timestamp) -> Digest {
    // The policy's `Debug` is derived, so that a switch that is added to it takes part by itself.
    let mut parts = vec![format!("{policy:?}")];
    parts.extend(trust.keys().map(|key| told(key, now)));
    // Each part with its length, so that no text of an owner can pass for the start of another part.
    let framed: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Digest::of(framed.as_bytes())
}

fn told(key: &TrustedKey, now: Timestamp) -> String {
    let origin = match key.origin() {
        Origin::Operator => "operator",
        Origin::Project => "project",
        Origin::Run => "run",
    };
    format!(
        "{} {} {origin} {:?} {:?} {:?} {:?} {}",
        key.key().fingerprint(),
        key.key().key_id(),
        key.owner(),
        key.grants(),
        key.expires(),
        key.revoked(),
        key.check_standing(now).is_ok(),
    )
}
