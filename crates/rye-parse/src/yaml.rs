//! YAML from untrusted authors. This module contains all limits, and alone uses the parser.

use std::ops::Range;

use crate::{
    Problem, ProblemKind,
    problem::Report,
    strict::{Collector, Document},
};

mod flow;
mod tags;

/// The longest allowed metadata block of a Markdown file or script (SPEC 4.2).
pub(crate) const LONGEST_BLOCK: usize = 16 * 1024;

/// The longest allowed YAML, TOML or JSON file (SPEC 4.2).
pub(crate) const LONGEST_FILE: usize = 256 * 1024;

/// The byte order mark, which some editors write at the start of a file.
pub(crate) const MARK: char = '\u{feff}';

/// The most nested entries (`- - -`, `? ? ?`) on one line.
const LINE_ENTRIES: usize = 64;

/// Parses the mapping in `range` of the file, which messages call `what`.
pub(crate) fn read(
    report: &mut Report<'_>,
    range: Range<usize>,
    what: &str,
    longest: usize,
) -> Option<Document> {
    let mark = report.text(&range).strip_prefix(MARK).map_or(0, |_| MARK.len_utf8());
    let range = range.start + mark..range.end;
    let text = report.text(&range);
    read_text(report, text, range.start, what, longest)
}

/// Parses a mapping from a text whose bytes are at `base` in the file.
pub(crate) fn read_text(
    report: &mut Report<'_>,
    text: &str,
    base: usize,
    what: &str,
    longest: usize,
) -> Option<Document> {
    report.check_size(what, text.len(), longest, base..base, "starts here")?;
    check_depth(report, text, base)?;
    if let Some(shown) = tags::reveal_tags(text) {
        let collector = Collector::new(&shown, base, "YAML");
        let result = parse_value(&collector, &shown);
        if collector.met_a_tag() {
            return collector.finish(report, result);
        }
    }
    let collector = Collector::new(text, base, "YAML");
    let result = parse_value(&collector, text);
    collector.finish(report, result)
}

/// Returns the value, or the parser's message and its place.
fn parse_value(
    collector: &Collector<'_>,
    text: &str,
) -> Result<serde_json::Value, (String, Option<Range<usize>>)> {
    let document = serde_yaml::Deserializer::from_str(text);
    let result = serde::de::DeserializeSeed::deserialize(collector.seed(), document);
    result.map_err(|error| {
        let place = error.location().map(|location| {
            let at = crate::span::char_at(text, location.index());
            at.start..at.end
        });
        (without_place(&error.to_string()), place)
    })
}

/// Returns a parser's message without its line number, which would be counted from the start of the block.
pub(crate) fn without_place(message: &str) -> String {
    message.split_once(" at line ").map_or(message, |(before, _)| before).to_owned()
}

/// Reports nesting that is too deep to be parsed in a short time, and returns `None` for it.
fn check_depth(report: &mut Report<'_>, text: &str, base: usize) -> Option<()> {
    let Some((at, kind)) = flow::too_deep(text).or_else(|| too_many_entries(text)) else {
        return Some(());
    };
    report.error(Problem::new(kind, base + at..base + at + 1, "one too many"));
    None
}

/// Returns the place of the first entry that is nested too deeply in its line.
fn too_many_entries(text: &str) -> Option<(usize, ProblemKind)> {
    let mut entries = 0;
    for (at, c) in text.char_indices() {
        match c {
            '\n' => entries = 0,
            '-' | '?' if is_entry(text, at) => entries += 1,
            _ => {}
        }
        if LINE_ENTRIES < entries {
            let what = "entries of one line".to_owned();
            return Some((at, ProblemKind::TooDeep { what, limit: LINE_ENTRIES }));
        }
    }
    None
}

/// Returns `true` if the dash or question mark at `at` begins an entry: white space is on both sides.
fn is_entry(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + 1..).and_then(|after| after.chars().next());
    before.is_none_or(char::is_whitespace) && after.is_none_or(char::is_whitespace)
}
