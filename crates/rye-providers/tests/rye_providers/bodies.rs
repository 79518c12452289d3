//! Bodies that tests make, kept to be checked with the vendors' own types (`cargo xtask sdk`).

use std::fs;
use std::path::Path;

use rye_providers::Protocol;

/// Writes a body to the folder that `cargo xtask sdk` reads.
pub(crate) fn keep(protocol: Protocol, name: &str, body: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bodies").join(protocol.as_str());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.json")), body).unwrap();
}
