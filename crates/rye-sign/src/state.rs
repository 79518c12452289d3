//! A digest of everything that a verification depends on besides the text and its name.

use rye_types::Timestamp;

use crate::digest::Digest;
use crate::origin::Origin;
use crate::policy::Policy;
use crate::trust::{TrustStore, TrustedKey};

/// Returns a digest over the policy, over every trusted key with its limits, and over which keys are revoked or expired
/// at `now`.
///
/// With the same state, the same text under the same name has the same outcome. A key that was added, revoked, expired
/// or given other grants changes the state.
pub fn verification_state(trust: &TrustStore, policy: &Policy, now: Timestamp) -> Digest {
    // The policy's `Debug` is derived, so a setting that is added to the policy enters the state without a change here.
    let mut parts = vec![format!("{policy:?}")];
    parts.extend(trust.keys().map(|key| key_state(key, now)));
    // Each part is preceded by its length, so that the text of an owner cannot imitate the start of another part.
    let framed: String = parts.iter().map(|part| format!("{}:{part}", part.len())).collect();
    Digest::of(framed.as_bytes())
}

fn key_state(key: &TrustedKey, now: Timestamp) -> String {
    let origin = match key.origin() {
        Origin::Operator => "operator",
        Origin::Project => "project",
        Origin::Run => "run",
    };
    format!(
        "{} {} {origin} {:?} {:?} {:?} {:?} {:?} {}",
        key.key().fingerprint(),
        key.key().key_id(),
        key.owner(),
        key.grants(),
        key.expires(),
        key.revoked(),
        key.list_entries(),
        key.check_standing(now).is_ok(),
    )
}
