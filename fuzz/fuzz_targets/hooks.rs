//! Hooks files: conditions decide on any data, and everything is at its place.
//!
//! The input's first line is the file's extension.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{check_span, checked, choice};
use serde_json::json;

fuzz_target!(|input: &str| {
    let (extension, source) = choice(input);
    let result = rye_parse::hooks(source, extension);
    assert_eq!(result, rye_parse::hooks(source, extension), "equal text gives equal results");
    let Some(hooks) = checked(source, result) else { return };
    let data = json!({ "a": { "b": 1, "c": "text", "d": [1, "x", null] }, "e": true, "f": 0.5 });
    for hook in hooks {
        check_span(source, &hook.span);
        let hook = &hook.value.hook;
        hook.actions.iter().for_each(|action| check_span(source, &action.span));
        if let Some(condition) = &hook.condition {
            check_span(source, &condition.span);
            let holds = condition.value.holds(&data);
            assert_eq!(condition.value.holds(&data), holds, "equal data gives equal answers");
        }
    }
});
