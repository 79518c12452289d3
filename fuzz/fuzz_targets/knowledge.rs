//! Knowledge in Markdown and in YAML.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_fuzz::{check_problems, checked};

fuzz_target!(|source: &str| {
    let result = rye_parse::knowledge(source);
    assert_eq!(result, rye_parse::knowledge(source), "equal text gives equal results");
    if let Some(knowledge) = checked(source, result) {
        check_problems(source, &knowledge.notes);
        assert_eq!(
            source.get(knowledge.body.span.clone()),
            Some(knowledge.body.value.as_str()),
            "the body is kept byte for byte"
        );
        assert_eq!(knowledge.body.value, knowledge.body.value.trim());
    }
    if let Some(knowledge) = checked(source, rye_parse::knowledge_yaml(source)) {
        check_problems(source, &knowledge.notes);
        assert!(knowledge.body.value.is_empty(), "a YAML file is metadata alone");
    }
});
