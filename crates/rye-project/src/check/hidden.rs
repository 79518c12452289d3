//! Characters that a model reads and a person does not see.

use std::ops::Range;

use rye_parse::hidden_characters;

use super::{Finding, Severity};

/// The number of places per file that are reported, so that other findings stay visible.
const MOST_PLACES: usize = 20;

/// The number of characters that are named per place.
const MOST_NAMED: usize = 4;

/// A note for each place of a file, whose neighbours are one; nothing of it bars signing, because it may be meant.
pub(super) fn findings(source: &str, others: &[Finding]) -> Vec<Finding> {
    let mut places = places(source);
    // The parser says of a character that XML forbids that it cannot stay.
    places.retain(|place| {
        !others.iter().any(|other| {
            other.code == "forbidden-character" && place.span.contains(&other.span.start)
        })
    });
    let more = places.split_off(places.len().min(MOST_PLACES));
    let mut findings: Vec<Finding> = places.iter().map(Place::note).collect();
    if let Some(next) = more.first() {
        let message = format!("{} more places hold characters that are not shown", more.len());
        findings.push(note(&message, "the first of them", next.span.clone()));
    }
    findings
}

/// Hidden characters that follow each other.
#[derive(Debug)]
struct Place {
    span: Range<usize>,
    characters: Vec<char>,
}

fn places(source: &str) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for (at, c) in hidden_characters(source) {
        // A mark of the byte order begins many files and says nothing.
        if (at, c) == (0, '\u{feff}') {
            continue;
        }
        let end = at + c.len_utf8();
        match places.last_mut().filter(|place| place.span.end == at) {
            Some(place) => {
                place.span.end = end;
                place.characters.push(c);
            }
            None => places.push(Place { span: at..end, characters: vec![c] }),
        }
    }
    places
}

impl Place {
    fn note(&self) -> Finding {
        let named: Vec<String> =
            self.characters.iter().take(MOST_NAMED).map(|&c| with_name(c)).collect();
        let more = match self.characters.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reorders = self.characters.iter().any(|&c| reorders(c));
        let (effect, label) = match (reorders, self.characters.len()) {
            (true, 1) => ("changes the order in which text is shown", "shown in another order"),
            (true, _) => ("change the order in which text is shown", "shown in another order"),
            (false, 1) => ("is not shown", "not shown"),
            (false, _) => ("are not shown", "not shown"),
        };
        note(&format!("{}{more} {effect}", named.join(", ")), label, self.span.clone())
    }
}

fn note(message: &str, label: &str, span: Range<usize>) -> Finding {
    Finding {
        severity: Severity::Note,
        bars_signing: false,
        label: label.to_owned(),
        help: Some(
            "remove what the text does not need: a model reads it, and a person does not see it"
                .to_owned(),
        ),
        ..Finding::error("hidden-character", message, span)
    }
}

/// The character as `U+202E`, with its name where people know it by one.
fn with_name(c: char) -> String {
    let code = format!("`U+{:04X}`", u32::from(c));
    match name(c) {
        Some(name) => format!("{code} ({name})"),
        None => code,
    }
}

fn reorders(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn name(c: char) -> Option<&'static str> {
    let name = match c {
        '\u{ad}' => "soft hyphen",
        '\u{61c}' => "arabic letter mark",
        '\u{200b}' => "zero width space",
        '\u{200c}' => "zero width non-joiner",
        '\u{200d}' => "zero width joiner",
        '\u{200e}' => "left-to-right mark",
        '\u{200f}' => "right-to-left mark",
        '\u{2028}' => "line separator",
        '\u{2029}' => "paragraph separator",
        '\u{202a}' => "left-to-right embedding",
        '\u{202b}' => "right-to-left embedding",
        '\u{202c}' => "pop directional formatting",
        '\u{202d}' => "left-to-right override",
        '\u{202e}' => "right-to-left override",
        '\u{2060}' => "word joiner",
        '\u{2066}' => "left-to-right isolate",
        '\u{2067}' => "right-to-left isolate",
        '\u{2068}' => "first strong isolate",
        '\u{2069}' => "pop directional isolate",
        '\u{feff}' => "zero width no-break space",
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => "variation selector",
        '\u{e0000}'..='\u{e007f}' => "tag",
        c if c.is_control() => "control character",
        _ => return None,
    };
    Some(name)
}

#[cfg(test)]
mod tests {
    use rye_types::ItemKind;
    use std::path::Path;

    use rye_parse::position;

    use super::*;
    use crate::check::check as check_text;

    /// Line, column and message of each finding.
    #[track_caller]
    fn check(source: &str, expected: &[(usize, usize, &str)]) {
        let places = findings(source, &[]);
        let told: Vec<_> = places
            .iter()
            .map(|finding| {
                let place = position(source, finding.span.start);
                (place.line, place.column, finding.message.as_str())
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn each_place_is_told_with_its_characters() {
        check("\u{feff}# Title\n\nשלום 👩\u{200d}💻\n", &[]);
        check(
            "a\nb é\u{202e}c\u{202c}",
            &[
                (
                    2,
                    4,
                    "`U+202E` (right-to-left override) changes the order in which text is shown",
                ),
                (
                    2,
                    6,
                    "`U+202C` (pop directional formatting) changes the order in which text is shown",
                ),
            ],
        );
        check("a\u{200b}b", &[(1, 2, "`U+200B` (zero width space) is not shown")]);
        check("a\u{1b}[8mb", &[(1, 2, "`U+001B` (control character) is not shown")]);
        check("a\u{2063}", &[(1, 2, "`U+2063` is not shown")]);
        check(
            "a\u{200e}\u{feff}",
            &[(
                1,
                2,
                "`U+200E` (left-to-right mark), `U+FEFF` (zero width no-break space) change the order in which text is shown",
            )],
        );
        check(
            &"\u{e0041}".repeat(9),
            &[(
                1,
                1,
                "`U+E0041` (tag), `U+E0041` (tag), `U+E0041` (tag), `U+E0041` (tag) and 5 more are not shown",
            )],
        );
    }

    #[test]
    fn the_whole_note() {
        let source = "a\u{200b}\u{200b}b";
        let found = findings(source, &[]);
        let [note] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((note.code, note.span.clone()), ("hidden-character", 1..7));
        assert_eq!((note.label.as_str(), note.bars_signing), ("not shown", false));
        let help =
            "remove what the text does not need: a model reads it, and a person does not see it";
        assert_eq!((note.severity, note.help.as_deref()), (Severity::Note, Some(help)));
    }

    #[test]
    fn very_many_places_leave_room_for_what_else_is_wrong() {
        let found = findings(&"a\u{200b}".repeat(100), &[]);
        assert_eq!(found.len(), MOST_PLACES + 1);
        let last = found.last().map(|finding| (finding.message.as_str(), finding.span.clone()));
        assert_eq!(last, Some(("80 more places hold characters that are not shown", 81..84)));
    }

    #[test]
    fn every_kind_of_item_is_looked_through_and_may_be_signed() {
        let rows = [
            (
                ItemKind::Directive,
                "a.md",
                "```xml\n<directive name=\"a\"/>\n```\n\nSay \u{202e}.\n",
            ),
            (ItemKind::Knowledge, "a.md", "```yaml\nname: a\n```\n\nSay \u{202e}.\n"),
            (
                ItemKind::Tool,
                "a.sh",
                "#!/bin/sh\n# /// rye\n# description: Says \u{202e}.\n# input_schema: {type: object}\n# ///\n",
            ),
            (ItemKind::Config, "a.yaml", "text: Say \u{202e}.\n"),
        ];
        for (kind, path, source) in rows {
            let checked = check_text(Path::new(path), kind, None, source.to_owned());
            let codes: Vec<_> = checked.findings.iter().map(|finding| finding.code).collect();
            assert_eq!(
                (codes.as_slice(), checked.is_signable()),
                (&["hidden-character"][..], true),
                "{source}"
            );
        }
    }

    #[test]
    fn what_xml_forbids_is_told_once() {
        let source = "```xml\n<directive name=\"a\"><metadata><author>\u{1}</author></metadata></directive>\n```\n";
        let checked = check_text(Path::new("a.md"), ItemKind::Directive, None, source.to_owned());
        let codes: Vec<_> = checked.findings.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, ["forbidden-character"]);
    }
}
