//! The steps of a thread tree that a durable engine keeps, each signed together with those before it.
//!
//! Records after the last checkpoint of a transcript are only chained, which needs no key. The signature of the step keeps the engine
//! from adding some, and from inventing an end.

use rye_sign::{Digest, JsonError, PublicKey, SigningKey, canonical_json, sign_json, verify_json};
use rye_types::Timestamp;
use serde_json::{Value, json};

const PURPOSE: &str = "rye-engine-step";
const SIGNATURE: &str = "_signature";

/// The steps of a tree, from the first one on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepChain {
    tree: String,
    steps: u64,
    digest: Option<String>,
}

impl StepChain {
    /// Creates the chain of no step. `tree` is the id of the root.
    #[must_use]
    pub fn new(tree: &str) -> Self {
        Self::at(tree, 0, None)
    }

    /// Creates the chain of so many steps, of which the last one has this digest.
    #[must_use]
    pub fn at(tree: &str, steps: u64, digest: Option<String>) -> Self {
        Self { tree: tree.to_owned(), steps, digest }
    }

    /// Adds a step with these changes of transcripts and this end, which is null for a tree that goes on.
    pub fn add(&mut self, changes: &Value, end: &Value) {
        self.digest = Some(step_digest(self.digest.as_deref(), changes, end));
        self.steps += 1;
    }

    /// Returns the number of steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Returns the digest of the last step; `None` if there is no step.
    #[must_use]
    pub fn digest(&self) -> Option<&str> {
        self.digest.as_deref()
    }

    /// Returns the signature of the last step.
    ///
    /// # Errors
    ///
    /// None that happens: the signed value is an object.
    pub fn sign(&self, key: &SigningKey, at: Timestamp) -> Result<String, JsonError> {
        let signed = sign_json(&self.statement(), key, at)?;
        Ok(signed[SIGNATURE].as_str().unwrap_or_default().to_owned())
    }

    /// Verifies the signature of the last step, which vouches for all steps up to it.
    ///
    /// # Errors
    ///
    /// When another key made it, or for other steps. A chain of no step needs none.
    pub fn verify(&self, signature: &str, key: &PublicKey) -> Result<(), JsonError> {
        if self.steps == 0 {
            return Ok(());
        }
        let mut statement = self.statement();
        statement[SIGNATURE] = signature.into();
        verify_json(&statement, std::slice::from_ref(key)).map(drop)
    }

    fn statement(&self) -> Value {
        json!({ "purpose": PURPOSE, "tree": self.tree, "steps": self.steps, "digest": self.digest })
    }
}

/// Returns the digest of a step with these changes and this end, behind a step with the digest `last`.
#[must_use]
pub fn step_digest(last: Option<&str>, changes: &Value, end: &Value) -> String {
    Digest::of(canonical_json(&json!([last, changes, end])).as_bytes()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(texts: &[&str]) -> StepChain {
        let mut chain = StepChain::new("root");
        texts.iter().for_each(|text| chain.add(&json!([{ "text": text }]), &Value::Null));
        chain
    }

    #[test]
    fn a_signature_fits_its_steps_alone() {
        let (key, other) = (SigningKey::generate().unwrap(), SigningKey::generate().unwrap());
        let at = Timestamp::from_unix(1_770_000_000);
        let signed = chain(&["one", "two"]);
        let signature = signed.sign(&key, at).unwrap();
        signed.verify(&signature, &key.public()).unwrap();
        signed.verify(&signature, &other.public()).unwrap_err();
        for wrong in [
            &["one"][..],
            &["two"],
            &["one", "two", "three"],
            &["other", "two"],
            &["one", "other"],
            &["two", "one"],
        ] {
            chain(wrong).verify(&signature, &key.public()).unwrap_err();
        }
        let mut ended = chain(&["one"]);
        ended.add(&json!([{ "text": "two" }]), &json!({ "state": "completed" }));
        ended.verify(&signature, &key.public()).unwrap_err();
        let elsewhere = StepChain::at("another", 2, signed.digest().map(str::to_owned));
        elsewhere.verify(&signature, &key.public()).unwrap_err();
        signed.verify("", &key.public()).unwrap_err();
        StepChain::new("root").verify("", &key.public()).unwrap();
    }

    #[test]
    fn a_chain_goes_on_from_the_digest_of_its_last_step() {
        let mut chain_on = StepChain::at("root", 1, chain(&["one"]).digest().map(str::to_owned));
        chain_on.add(&json!([{ "text": "two" }]), &Value::Null);
        assert_eq!(chain_on, chain(&["one", "two"]));
        assert_eq!(chain_on.steps(), 2);
    }
}
