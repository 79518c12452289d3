//! Exports as files.

use rye_view::export;

use crate::recording::Recording;

#[test]
fn the_lines_of_the_verified_records_are_exported_as_they_are() {
    let mut recording = Recording::begin();
    let text = recording.turn(1).end().lines.clone();
    let reading = recording.reading();
    assert_eq!(export::jsonl(text.as_bytes(), &reading).unwrap(), text.as_bytes());
    // Half a record at the end is none.
    let torn = format!("{text}{{\"seq\":");
    assert_eq!(export::jsonl(torn.as_bytes(), &reading).unwrap(), text.as_bytes());
}

/// Between the verification and the export another process may have written.
#[test]
fn other_lines_than_the_verified_ones_are_refused() {
    let mut recording = Recording::begin();
    let text = recording.turn(1).end().lines.clone();
    let reading = recording.reading();
    for changed in
        [text.replace("scripted-1", "scripted-2"), String::new(), text[..text.len() - 1].to_owned()]
    {
        assert!(export::jsonl(changed.as_bytes(), &reading).is_err(), "{changed}");
    }
}

/// The page alone is enough: it asks for nothing.
#[test]
fn a_page_names_no_other_place() {
    let page = Recording::begin().end().page();
    for attribute in [
        "src=",
        "href=\"http",
        "href=\"//",
        "url(http",
        "@import",
        "srcset",
        "<link",
        "<iframe",
        "<base",
    ] {
        assert!(!page.contains(attribute), "{attribute}");
    }
    assert!(page.contains("default-src 'none'"));
}
