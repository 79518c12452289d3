//! The metadata of a knowledge entry in its Markdown file.

use std::ops::Range;

use crate::{Problem, ProblemKind, problem::Report, span::trim_range};

/// The longest allowed Markdown file.
const LONGEST: usize = 4 * 1024 * 1024;

/// The keys of which a run of `key: value` lines needs at least one to count as metadata.
const TELLING_KEYS: [&str; 3] = ["id", "name", "title"];

/// The beginnings of signature comments (SPEC 2.1, 2.2).
const SIGNATURES: [&str; 2] = ["rye:signed:", "rye:unsigned"];

/// The two parts of the file.
pub(super) struct Block {
    /// The YAML, without its fence.
    pub(super) metadata: Option<Range<usize>>,
    /// The text below the metadata.
    pub(super) body: Range<usize>,
}

/// Finds the metadata. If the result is `None`, the report contains the reason.
pub(super) fn find(report: &mut Report<'_>) -> Option<Block> {
    let source = report.source;
    report.check_size("file", source.len(), LONGEST, 0..0, "this file")?;
    let content = content_start(source);
    let start = metadata_start(source, content);
    let first = source.get(start..).and_then(|rest| rest.lines().next()).unwrap_or("").trim_end();
    match first {
        "```yaml" | "```yml" => find_fenced(report, start, &["```"], "yaml"),
        "---" => {
            old(report, "in front matter", start..start + 3);
            find_fenced(report, start, &["---", "..."], "---")
        }
        _ => Some(
            find_unfenced(report, start)
                .unwrap_or(Block { metadata: None, body: content..source.len() }),
        ),
    }
}

/// Returns the start of the content: after a byte order mark, a signature on line 1, and blank lines.
fn content_start(source: &str) -> usize {
    let mark = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    let first = lines_from(source, mark).next().unwrap_or(mark..mark);
    let signed = source.get(first.clone()).is_some_and(is_signature);
    behind(source, if signed { first.end } else { mark }, |line| line.trim().is_empty())
}

/// Returns the first possible start of the metadata. Older files have further signature lines above it.
fn metadata_start(source: &str, content: usize) -> usize {
    behind(source, content, |line| line.trim().is_empty() || is_signature(line))
}

/// Returns the start of the first line from `start` on that `is_passed` does not skip.
fn behind(source: &str, start: usize, is_passed: impl Fn(&str) -> bool) -> usize {
    let mut lines = lines_from(source, start);
    let stays = |line: &Range<usize>| !source.get(line.clone()).is_some_and(&is_passed);
    lines.find(stays).map_or(source.len(), |line| line.start)
}

/// Returns `true` if a line is a comment with a signature, or with its placeholder.
fn is_signature(line: &str) -> bool {
    let inside = line.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
    inside.is_some_and(|inside| {
        let inside = inside.trim_start();
        SIGNATURES.iter().any(|start| inside.starts_with(start))
    })
}

/// Finds the metadata between the line at `start` and the next line that closes it.
fn find_fenced(
    report: &mut Report<'_>,
    start: usize,
    ends: &[&str],
    language: &str,
) -> Option<Block> {
    let source = report.source;
    let mut lines = lines_from(source, start);
    let opening = lines.next().unwrap_or(start..start);
    let end = lines.find(|line| ends.contains(&report.text(line).trim_end()));
    let Some(end) = end else {
        let kind = ProblemKind::UnclosedFence { language: language.to_owned() };
        let problem = Problem::new(kind, trim_range(source, opening), "opened here");
        let end = ends.first().unwrap_or(&"");
        report.error(problem.help(format!("write {end} on the line after the metadata")));
        return None;
    };
    Some(Block { metadata: Some(opening.end..end.start), body: end.end..source.len() })
}

/// Finds the first run of at least two `key: value` lines above the first heading.
fn find_unfenced(report: &mut Report<'_>, start: usize) -> Option<Block> {
    let source = report.source;
    let mut run: Option<Range<usize>> = None;
    let mut telling = false;
    let mut count = 0;
    for line in lines_from(source, start) {
        let text = report.text(&line);
        match key_of(text) {
            Some(key) => {
                telling |= TELLING_KEYS.contains(&key);
                count += 1;
                run = Some(run.map_or(line.start, |run| run.start)..line.end);
            }
            None if telling && 1 < count => break,
            None if text.starts_with('#') || text.starts_with("```") => return None,
            None => (run, telling, count) = (None, false, 0),
        }
    }
    let run = run.filter(|_| telling && 1 < count)?;
    let above = trim_range(source, start..run.start);
    let form = if above.is_empty() {
        "in plain lines"
    } else {
        "in plain lines, and the text above them is left out"
    };
    old(report, form, trim_range(source, run.clone()));
    Some(Block { body: run.end..source.len(), metadata: Some(run) })
}

/// Returns the key of a line `key: value`.
fn key_of(line: &str) -> Option<&str> {
    let (key, value) = line.split_once(':')?;
    let is_key = key.starts_with(|c: char| c.is_ascii_lowercase())
        && key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    (is_key && value.starts_with(' ') && !value.trim().is_empty()).then_some(key)
}

fn lines_from(source: &str, start: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = start;
    source.get(start..).unwrap_or("").split_inclusive('\n').map(move |line| {
        let from = next;
        next += line.len();
        from..next
    })
}

fn old(report: &mut Report<'_>, form: &str, place: Range<usize>) {
    let problem =
        Problem::new(ProblemKind::OldMetadata { form: form.to_owned() }, place, "an older form");
    report.note(problem.help("put it into a ```yaml fence at the start of the file"));
}
