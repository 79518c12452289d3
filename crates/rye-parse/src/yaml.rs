//! YAML from people who are not trusted: everything that bounds it, and the one place that knows its parser.

use std::ops::Range;

use crate::{
    Problem, ProblemKind,
    problem::Report,
    strict::{Collector, Document},
};

mod flow;
mod tags;

/// The longest metadata block of a Markdown file or script (SPEC 4.2).
pub(crate) const LONGEST_BLOCK: usize = 16 * 1024;

/// The longest YAML, TOML or JSON file (SPEC 4.2).
pub(crate) const LONGEST_FILE: usize = 256 * 1024;

/// The most nested entries (`- - -`, `? ? ?`) on one line.
const LINE_ENTRIES: usize = 64;

/// Reads the mapping that `range` of the file holds, which is called `what` in messages.
pub(crate) fn read(
    report: &mut Report<'_>,
    range: Range<usize>,
    what: &str,
    longest: usize,
) -> Option<Document> {
    let text = report.text(&range);
    read_text(report, text, range.start, what, longest)
}

/// Reads a mapping from a text of which every byte stands `base` further on in the file.
pub(crate) fn read_text(
    report: &mut Report<'_>,
    text: &str,
    base: usize,
    what: &str,
    longest: usize,
) -> Option<Document> {
    if !sized(report, text, base, what, longest) || !shallow(report, text, base) {
        return None;
    }
    if let Some(shown) = tags::shown(text) {
        let collector = Collector::new(&shown, base, "YAML");
        let result = parsed(&collector, &shown);
        if collector.met_a_tag() {
            return collector.finish(report, result);
        }
    }
    let collector = Collector::new(text, base, "YAML");
    let result = parsed(&collector, text);
    collector.finish(report, result)
}

/// The value, or the parser's message and where it stopped.
fn parsed(
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

/// A parser's message up to where it names a line, which would be counted from the start of the block.
pub(crate) fn without_place(message: &str) -> String {
    message.split_once(" at line ").map_or(message, |(before, _)| before).to_owned()
}

/// Reports a text that is too long; true when it is not.
pub(crate) fn sized(
    report: &mut Report<'_>,
    text: &str,
    base: usize,
    what: &str,
    limit: usize,
) -> bool {
    let bytes = text.len();
    if limit < bytes {
        let kind = ProblemKind::TooLarge { what: what.to_owned(), bytes, limit };
        report.error(Problem::new(kind, base..base, "starts here"));
    }
    bytes <= limit
}

/// Reports what is nested deeper than the parser can read in a short time; true when nothing is.
fn shallow(report: &mut Report<'_>, text: &str, base: usize) -> bool {
    let Some((at, kind)) = flow::too_deep(text).or_else(|| too_many_entries(text)) else {
        return true;
    };
    report.error(Problem::new(kind, base + at..base + at + 1, "one too many"));
    false
}

/// The place of the first entry that is nested too deep in its line.
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

/// Whether the dash or question mark at `at` begins an entry: white space on both sides.
fn is_entry(text: &str, at: usize) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + 1..).and_then(|after| after.chars().next());
    before.is_none_or(char::is_whitespace) && after.is_none_or(char::is_whitespace)
}
