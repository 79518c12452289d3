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

/// Holds the `#!` line, which a signature covers, against the extension, which none does: the same text would run as another
/// language under another name.
fn refuse_other_interpreter(report: &mut Report<'_>, extension: &str) {
    let first = report.source.lines().next().unwrap_or_default();
    let Some(command) = first.strip_prefix("#!") else { return };
    let words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let is_program = |word: &&str| *word != "env" && !word.starts_with('-') && !word.contains('=');
    let Some(interpreter) = words.into_iter().find(is_program) else { return };
    let name = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let of_language = |(_, names): &&(_, &[&str])| names.contains(&name);
    let Some((extensions, _)) = LANGUAGES.iter().find(of_language) else { return };
    if extensions.contains(&extension) {
        return;
    }
    let (interpreter, extension) = (interpreter.to_owned(), extension.to_owned());
    let kind = ProblemKind::OtherInterpreter { interpreter, extension };
    let problem = Problem::new(kind, 0..first.len(), "names another language");
    let names = extensions.iter().map(|extension| format!("`.{extension}`"));
    let names = names.collect::<Vec<_>>().join(" or ");
    report.error(problem.help(format!("give the file the extension {names}, or change the line")));
}

/// The extensions of a language, and the programs that run it.
const LANGUAGES: [(&[&str], &[&str]); 4] = [
    (&["py"], &["python", "pypy"]),
    (&["sh"], &["sh", "bash", "dash", "ash", "ksh", "zsh"]),
    (&["rb"], &["ruby", "jruby"]),
    (&["js", "ts"], &["node", "nodejs", "deno", "bun", "tsx", "ts-node"]),
];

/// Reads the block `# /// rye` … `# ///`, or the same with `//`.
pub(super) fn read(report: &mut Report<'_>, comment: &str, extension: &str) -> Option<Document> {
    if !yaml::sized(report, report.source, 0, "file", LONGEST) {
        return None;
    }
    refuse_other_interpreter(report, extension);
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

#[cfg(test)]
mod tests {
    #[test]
    fn a_script_of_another_language_is_no_tool() {
        for (first, extension, is_tool) in [
            ("#!/usr/bin/env python3", "py", true),
            ("#!/usr/bin/python3.12 -I", "py", true),
            ("#!/usr/bin/env -S LANG=C python3", "py", true),
            ("#!/usr/bin/env python3", "sh", false),
            ("#!/usr/bin/env -S LANG=C python3", "rb", false),
            ("#!/bin/sh", "py", false),
            ("#!/bin/bash -eu", "sh", true),
            ("#!/usr/bin/env ruby", "sh", false),
            ("#!/usr/bin/env node", "js", true),
            ("#!/usr/bin/env node", "ts", true),
            ("#!/usr/bin/env own", "sh", true),
            ("#!", "sh", true),
            ("# python3", "sh", true),
        ] {
            let comment = if matches!(extension, "js" | "ts") { "//" } else { "#" };
            let text = format!(
                "{first}\n{comment} /// rye\n{comment} description: A tool.\n{comment} input_schema: {{type: object}}\n{comment} ///\n"
            );
            let tool = crate::tool(&text, extension);
            assert_eq!(tool.is_ok(), is_tool, "{first} {extension}: {tool:?}");
            let told = format!("{tool:?}");
            assert!(is_tool || told.contains("OtherInterpreter"), "{told}");
        }
    }
}
