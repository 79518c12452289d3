//! Every body that a test makes, kept for the vendors' own types to judge (`cargo xtask sdk`).

use std::fs;
use std::path::Path;

use rye_providers::Protocol;

/// Writes a body to where `cargo xtask sdk` finds it.
pub(crate) fn keep(protocol: Protocol, name: &str, body: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bodies").join(protocol.as_str());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.json")), body).unwrap();
}
