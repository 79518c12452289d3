//! The digest of the texts that a thread begins with.

use rye_sign::Digest;

/// Returns the digest that stands for the two texts of an opening.
#[must_use]
pub fn opening_digest(system: Option<&str>, first_user_message: &str) -> Digest {
    let system = system.unwrap_or_default();
    Digest::of(format!("{system}\0{first_user_message}").as_bytes())
}
