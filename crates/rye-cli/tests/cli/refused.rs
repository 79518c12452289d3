//! Files as a person could have written them, each with something wrong, and what the program shows of it.

use std::fs;
use std::path::Path;

use crate::session::Session;

/// Each fixture is put where its folder says, and checked by its path.
#[test]
fn refused() {
    insta::glob!("refused/*/*", |path| {
        let session = Session::new();
        let file = place(path);
        session.put(&file, &fs::read_to_string(path).unwrap());
        let shown = session.rye(&format!("check {file}"));
        let is_told = shown.contains("× ") || shown.contains("⚠ ");
        assert!(is_told && shown.contains("╭─["), "{shown}");
        insta::assert_snapshot!(shown);
    });
}

/// Where in the project a fixture belongs: hooks files have one name only.
fn place(path: &Path) -> String {
    let name = path.file_name().unwrap().to_string_lossy();
    let folder = path.parent().unwrap().file_name().unwrap().to_string_lossy();
    match &*folder {
        "hooks" => {
            format!(".ai/config/agent/hooks.{}", path.extension().unwrap().to_string_lossy())
        }
        "agent" => format!(".ai/config/agent/{name}"),
        folder => format!(".ai/{folder}/{name}"),
    }
}
