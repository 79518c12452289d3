//! Sets `cfg(seeds)` if the founding documents are next to the checkout. Without them the tests that read
//! them are counted as ignored, with the reason.

use std::path::Path;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/seeds");
    println!("cargo::rustc-check-cfg=cfg(seeds)");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", folder.display());
    if folder.is_dir() {
        println!("cargo::rustc-cfg=seeds");
    }
}
