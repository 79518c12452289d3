//! `cargo xtask transcript`: reads the threads that the tests made with `examples/read-transcript`, which was
//! written from `docs/transcript.md` alone.
//!
//! Its verdicts and costs must equal those of `rye`.

use std::path::Path;

use crate::{files, packages, process};

const PACKAGES: &str = "cryptography==48.0.0";

/// The script that compares the reader with `rye` on every thread, and checks that the reader refuses changed
/// threads.
const CHECK: &str = "xtask/src/transcript/check.py";

/// The tests that export their threads; a whole sweep exports all of them.
const TESTS: &str = "cargo test --quiet --workspace --test cli -- --exact children::a_tree_as_data \
    resuming::an_approved_call_runs killing::a_killed_tree_is_resumed \
    hooking::rule_09_a_conversation_goes_on_in_a_new_thread_of_its_tree";

pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let python = packages::python(root, "transcript", PACKAGES)?;
    let folder = process::target_folder(root)?.join("tmp/threads");
    files::remove_folder(&folder)?;
    process::run(root, &[("RYE_SWEEP", "all")], TESTS)?;
    process::run(root, &[], &format!("{} {CHECK} {}", python.display(), folder.display()))
}
