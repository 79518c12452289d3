//! The comment block that makes a script a tool (SPEC 5.2).

use std::ops::Range;

use crate::{
    Problem, ProblemKind,
    problem::Report,
    strict::Document,
    yaml::{self, LONGEST_BLOCK},
};

/// The longest allowed script.
const LONGEST: usize = 4 * 1024 * 1024;

/// Compares the language of the `#!` line with that of the extension. A signature covers the line but not the
/// extension, so without this check the same text would run as another language after a renaming.
fn interpreter(source: &str) -> Option<(&str, &'static [&'static str])> {
    let first = source.lines().next()?;
    let command = first.strip_prefix(yaml::MARK).unwrap_or(first).strip_prefix("#!")?;
    let words = command.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let is_program = |word: &&str| *word != "env" && !word.starts_with('-') && !word.contains('=');
    let interpreter = words.into_iter().find(is_program)?;
    let name = interpreter.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (extensions, _) = LANGUAGES.iter().find(|(_, names)| names.contains(&name))?;
    Some((interpreter, extensions))
}

/// Holds what the text says of its language, which a signature covers, against the extension, which none does: the same text would
/// run as another language under another name.
pub(super) fn check_language(report: &mut Report<'_>, document: &Document, extension: &str) {
    let language = document.text(report, "language");
    let extension = extension.to_owned();
    let problem = match language {
        Some(language) if language == extension => return,
        Some(language) => {
            let help = format!(
                "write `language: {extension}`, or give the file the extension `.{language}`"
            );
            let kind = ProblemKind::OtherLanguage { language, extension };
            Problem::new(kind, document.place(&["language"]), "another language").help(help)
        }
        None if interpreter(report.source).is_some() => return,
        None => {
            let help = format!(
                "begin it with a line such as `{}`, or add `language: {extension}` to the header",
                usual_line(&extension)
            );
            let kind = ProblemKind::NoLanguage { extension };
            Problem::new(kind, 0..0, "the signature does not cover the extension").help(help)
        }
    };
    report.error(problem);
}

/// The first line of most scripts of a language.
fn usual_line(extension: &str) -> &'static str {
    match extension {
        "py" => "#!/usr/bin/env python3",
        "rb" => "#!/usr/bin/env ruby",
        "js" | "ts" => "#!/usr/bin/env node",
        _ => "#!/bin/sh",
    }
}

/// Refuses a `#!` line of another language.
fn refuse_other_interpreter(report: &mut Report<'_>, extension: &str) {
    let first = report.source.lines().next().unwrap_or_default();
    let Some((interpreter, extensions)) = interpreter(report.source) else { return };
    if extensions.contains(&extension) {
        return;
    }
    let kind = ProblemKind::OtherInterpreter {
        interpreter: interpreter.to_owned(),
        extension: extension.to_owned(),
    };
    let problem = Problem::new(kind, 0..first.len(), "names another language");
    let names = extensions.iter().map(|extension| format!("`.{extension}`"));
    let names = names.collect::<Vec<_>>().join(" or ");
    report.error(problem.help(format!("give the file the extension {names}, or change the line")));
}

/// The extensions of each language, and the programs that run it.
const LANGUAGES: [(&[&str], &[&str]); 4] = [
    (&["py"], &["python", "pypy"]),
    (&["sh"], &["sh", "bash", "dash", "ash", "ksh", "zsh"]),
    (&["rb"], &["ruby", "jruby"]),
    (&["js", "ts"], &["node", "nodejs", "deno", "bun", "tsx", "ts-node"]),
];

/// Parses the block `# /// rye` … `# ///`, or the same with `//`.
pub(super) fn read(report: &mut Report<'_>, comment: &str, extension: &str) -> Option<Document> {
    report.check_size("file", report.source.len(), LONGEST, 0..0, "starts here")?;
    refuse_other_interpreter(report, extension);
    let mut header: Option<Header> = None;
    let mut next = 0;
    for line in report.source.split_inclusive('\n') {
        let place = next..next + line.trim_end().len();
        next += line.len();
        let line = if place.start == 0 { line.trim_start_matches(yaml::MARK) } else { line };
        match &mut header {
            None if line.trim_end() == format!("{comment} /// rye") => {
                header = Some(Header::new(place, next))
            }
            None => {}
            Some(_) if line.trim_end() == format!("{comment} ///") => break,
            Some(open) => {
                if !open.add(line, comment) {
                    report_unclosed(report, comment, place);
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
            report_unclosed(report, comment, header.place);
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

/// The part of the block that is parsed so far.
struct Header {
    /// The first line of the block.
    place: Range<usize>,
    /// The start of the YAML.
    base: usize,
    /// The end of the last parsed line.
    end: usize,
    /// The lines with blanks in place of comment signs, so that offsets do not change.
    yaml: String,
}

impl Header {
    fn new(place: Range<usize>, base: usize) -> Self {
        Self { place, base, end: base, yaml: String::new() }
    }

    /// Adds a line. Returns `false` if it is not a comment.
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

fn report_unclosed(report: &mut Report<'_>, comment: &str, place: Range<usize>) {
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

    /// The first line, what the header says, the extension, and the problem.
    #[test]
    fn a_script_says_its_language_in_the_text_that_is_signed() {
        for (first, language, extension, problem) in [
            ("#!/usr/bin/env own", "", "sh", "NoLanguage"),
            ("#!", "", "rb", "NoLanguage"),
            ("# python3", "", "py", "NoLanguage"),
            ("//", "", "js", "NoLanguage"),
            ("//", "", "ts", "NoLanguage"),
            ("#!/usr/bin/env own", "sh", "sh", ""),
            ("# python3", "py", "py", ""),
            ("//", "ts", "ts", ""),
            ("# python3", "py", "sh", "OtherLanguage"),
            ("#!/bin/sh", "py", "sh", "OtherLanguage"),
            ("#!/bin/sh", "sh", "py", "OtherInterpreter"),
            ("//", "ts", "js", "OtherLanguage"),
        ] {
            let comment = if matches!(extension, "js" | "ts") { "//" } else { "#" };
            let said = match language {
                "" => String::new(),
                language => format!("{comment} language: {language}\n"),
            };
            let text = format!(
                "{first}\n{comment} /// rye\n{said}{comment} description: A tool.\n{comment} input_schema: {{type: object}}\n{comment} ///\n"
            );
            let told = crate::tool(&text, extension).map_err(|error| format!("{error:?}"));
            assert_eq!(
                told.is_ok(),
                problem.is_empty(),
                "{first} {language} {extension}: {told:?}"
            );
            assert!(told.err().unwrap_or_default().contains(problem), "{first} {extension}");
        }
    }
}
