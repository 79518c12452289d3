//! Renders every directive of a project into snapshots: `cargo run --example prompts -- PROJECT TRUST_DOCUMENT…`.
//!
//! With `INSTA_UPDATE=new INSTA_FORCE_PASS=1`, what differs is written beside `PROJECT/snapshots` for
//! `cargo insta review --workspace-root PROJECT`. The same loop in a `#[test]` of their own is how a team pins its prompts.

use std::path::Path;

use rye::resolve::Spaces;
use rye::{Rye, Setup, shipped_files};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let project = arguments.next().ok_or("which project?")?;
    let project = Path::new(&project).canonicalize()?;
    let spaces = Spaces::new().with_project(&project).with_shipped(shipped_files());
    let mut setup = Setup::new(spaces, "2026-11-20T18:00:00Z".parse()?);
    for document in arguments {
        setup.trust_documents.push(std::fs::read_to_string(document)?);
    }

    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(project.join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (id, prompt) in Rye::open(&setup)?.prompts()? {
        settings.bind(|| insta::assert_snapshot!(id.as_str(), prompt));
    }
    Ok(())
}
