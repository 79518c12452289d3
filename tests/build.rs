//! Says to the tests whether the founding documents are beside the checkout, so that those that read them are counted as
//! ignored, with the reason, where they are not.

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
