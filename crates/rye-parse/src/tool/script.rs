//! The comment block that makes a script a tool (SPEC 5.2).

use std::ops::Range;

use crate::{
    Problem, ProblemKind,
    problem::Report,
    strict::Document,
    yaml::{self, LONGEST_BLOCK},
};

/// The longest script that is read.
const LONGEST: usize = 4 * 1024 * 1024;

/// Reads the block `# /// rye` … `# ///`, or the same with `//`.
pub(super) fn read(report: &mut Report<'_>, comment: &str) -> Option<Document> {
    if !yaml::sized(report, report.source, 0, "file", LONGEST) {
        return None;
    }
    let mut header: Option<Header> = None;
    let mut next = 0;
    for line in report.source.split_inclusive('\n') {
        let place = next..next + line.trim_end().len();
        next += line.len();
        match &mut header {
            None if line.trim_end() == format!("{comment} /// rye") => {
                header = Some(Header::new(place, next))
            }
            None => {}
            Some(_) if line.trim_end() == format!("{comment} ///") => break,
            Some(open) => {
                if !open.add(line, comment) {
                    unclosed(report, comment, place);
                    return None;
                }
                open.end = next;
            }
        }
    }
    match header {
        Some(header) if header.end < next => {
            yaml::read_text(report, &header.yaml, header.base, "header", LONGEST_BLOCK)
        }
        Some(header) => {
            unclosed(report, comment, header.place);
            None
        }
        None => {
            let problem = Problem::new(
                ProblemKind::NoToolHeader,
                0..0,
                "a script without a header is no tool",
            );
            report.error(problem.help(format!(
                "start it with the lines `{comment} /// rye`, YAML, `{comment} ///`"
            )));
            None
        }
    }
}

/// The block as far as it is read.
struct Header {
    /// Its first line.
    place: Range<usize>,
    /// Where the YAML starts.
    base: usize,
    /// Where the last line that was read ends.
    end: usize,
    /// The lines with blanks for their comment signs, so that offsets stay.
    yaml: String,
}

impl Header {
    fn new(place: Range<usize>, base: usize) -> Self {
        Self { place, base, end: base, yaml: String::new() }
    }

    /// Adds a line; false when it is not a comment.
    fn add(&mut self, line: &str, comment: &str) -> bool {
        let Some(text) = line.strip_prefix(comment) else { return false };
        if !(text.starts_with(' ') || text.trim().is_empty()) {
            return false;
        }
        self.yaml.extend(comment.chars().map(|_| ' '));
        self.yaml.push_str(text);
        true
    }
}

fn unclosed(report: &mut Report<'_>, comment: &str, place: Range<usize>) {
    let problem = Problem::new(ProblemKind::UnclosedHeader, place, "not a line of the header");
    report.error(problem.help(format!(
        "start each line with `{comment} ` and end the header with `{comment} ///`"
    )));
}
