//! Config files: whatever is read survives as JSON, and JSON is what another reader of JSON takes it for.
//!
//! The input's first line is the file's extension.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{checked, choice};
use serde_json::Value;

fuzz_target!(|input: &str| {
    let (extension, source) = choice(input);
    let Some(value) = checked(source, rye_parse::config(source, extension)) else { return };
    assert!(value.is_object(), "a config is a mapping");
    let text = value.to_string();
    assert_eq!(rye_parse::config(&text, "json").as_ref(), Ok(&value), "what was read survives");
    if extension == "json" {
        let other: Value = serde_json::from_str(source).expect("what was read is JSON");
        assert_eq!(other, value, "JSON means the same to every reader");
    }
});
