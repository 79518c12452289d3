//! Tool manifests and the headers of scripts.
//!
//! The input's first line is the file's extension.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{check_problems, checked, choice};

fuzz_target!(|input: &str| {
    let (extension, source) = choice(input);
    let result = rye_parse::tool(source, extension);
    assert_eq!(result, rye_parse::tool(source, extension), "equal text gives equal results");
    let Some(manifest) = checked(source, result) else { return };
    check_problems(source, &manifest.notes);
    assert!(manifest.input_schema.is_object(), "a schema of arguments is an object");
    assert!(manifest.output_schema.is_none_or(|schema| schema.is_object()));
});
