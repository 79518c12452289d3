//! Placeholders of any text: apart from each other, in order, and each the same when it stands alone.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::check_span;

fuzz_target!(|text: &str| {
    let mut end = 0;
    for found in rye_parse::placeholders(text) {
        check_span(text, &found.span);
        assert!(end <= found.span.start, "two placeholders share text");
        end = found.span.end;
        let alone = rye_parse::placeholders(text.get(found.span).expect("checked"));
        let values: Vec<_> = alone.into_iter().map(|found| found.value).collect();
        assert_eq!(values, [found.value], "a placeholder means the same alone");
    }
});
