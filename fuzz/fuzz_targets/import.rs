//! Files of other programs, which become drafts.
//!
//! The input's first line is the file's path.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::choice;
use rye_port::{ImportOptions, Source, SourceFile, import, recognise};

fuzz_target!(|input: &str| {
    let (path, text) = choice(input);
    let source = Source::new("source", [SourceFile::new(path, text)]);
    assert!(recognise(&source).len() <= 1, "one file is one part");
    let options = ImportOptions::new("Ada", "standard", vec![("turns", "15".to_owned())]);
    let Ok(imported) = import(&source, &options) else { return };
    for draft in &imported.drafts {
        let is_granting = draft.text.contains("<permissions></permissions>");
        assert!(is_granting || !draft.path.starts_with("directives/"), "no draft grants anything");
        assert!(imported.carried.iter().any(|row| row.file == path), "what became of it is told");
    }
});
