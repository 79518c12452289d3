//! The guide in `docs/`: every command in it is run, in the order of its chapter, and prints what the chapter says. Unless a
//! sweep is whole, that is so in every second chapter.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use serde_json::json;

use crate::children::model::{Asked, Model, Says};
use crate::sweep::sweep;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// In a whole sweep each of them; else every second one.
#[test]
fn chapters() {
    let mut failures = String::new();
    for path in sweep(pages(), 0, 2) {
        let page = fs::read_to_string(&path).unwrap();
        if let Err(failure) = Reader::new().follow(&page) {
            write!(failures, "\n== {}\n{failure}", path.display()).unwrap();
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// A command that no test runs is one that may have stopped working: only what needs a network stands outside.
#[test]
fn no_command_is_left_out() {
    for path in pages() {
        let page = fs::read_to_string(&path).unwrap();
        let left_out = blocks(&page, "sh").into_iter().flat_map(str::lines);
        let installs = [
            "cargo binstall ",
            "cargo install ",
            "git clone ",
            "pip install ",
            "sudo apt install ",
        ];
        let is_installation = |line: &&str| installs.iter().any(|start| line.starts_with(start));
        let left_out: Vec<&str> = left_out.filter(|line| !is_installation(line)).collect();
        assert!(left_out.is_empty(), "{}: {left_out:?}", path.display());
    }
}

/// The guide shows the examples that are built and run, so that a reader of the plain file has them too.
#[test]
fn the_examples_of_the_embedding_page_are_those_that_run() {
    let page = fs::read_to_string(docs().join("embedding.md")).unwrap();
    let shown = blocks(&page, "rust");
    for example in ["run_directive.rs", "run_with_host.rs", "run_programs.rs", "own_tool.rs"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rye/examples").join(example);
        let text = fs::read_to_string(path).unwrap();
        assert!(shown.iter().any(|block| *block == text), "copy {example} into embedding.md");
    }
}

#[test]
fn every_page_is_in_the_summary() {
    let summary = fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    for path in pages() {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(summary.contains(&format!("({name})")), "{name} is not in SUMMARY.md");
    }
}

#[test]
fn what_may_differ_matches() {
    assert!(matches("a [..] c\n...\nz", "a b c\nx\ny\nz"));
    assert!(matches("a\n...", "a"));
    assert!(!matches("a [..] c", "a b d"));
    assert!(!matches("a", "a\nb"));
    assert!(!matches("a\n...\nz", "a\nb"));
}

/// Every page but the list of them.
fn pages() -> Vec<PathBuf> {
    let entries = fs::read_dir(docs()).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| {
        path.extension().is_some_and(|it| it == "md") && !path.ends_with("SUMMARY.md")
    };
    let mut pages: Vec<PathBuf> = entries.filter(is_page).collect();
    pages.sort();
    assert!(pages.len() > 5, "{pages:?}");
    pages
}

/// Somebody who follows a chapter in folders of their own.
pub(crate) struct Reader {
    folder: tempfile::TempDir,
    here: PathBuf,
    /// What answers at [`LOCAL`].
    model: Model,
}

/// Where a chapter says that a model's server of the reader's own is.
const LOCAL: &str = "base_url: http://localhost:8080";

/// One command of a chapter, and what it says about it.
struct Told {
    command: String,
    code: i32,
    output: String,
}

impl Reader {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let here = folder.path().join("work");
        fs::create_dir(folder.path().join("home")).unwrap();
        fs::create_dir(&here).unwrap();
        Self { folder, here, model: Model::new(reads_aloud) }
    }

    pub(crate) fn follow(mut self, page: &str) -> Result<(), String> {
        for line in page.lines() {
            let setup = line.strip_prefix("<!-- setup: ").and_then(|it| it.strip_suffix(" -->"));
            let done = setup.map(|command| self.type_in(command));
            if let Some((code @ 1.., output)) = done {
                return Err(format!("the setup exits with {code}:\n{output}"));
            }
        }
        blocks(page, "console").into_iter().flat_map(told).try_for_each(|told| self.hold(&told))
    }

    fn hold(&mut self, told: &Told) -> Result<(), String> {
        let (code, output) = self.type_in(&told.command);
        let (told_output, output) = (told.output.trim_end(), output.trim_end());
        if code == told.code && matches(told_output, output) {
            return Ok(());
        }
        Err(format!(
            "$ {}\ntold, with exit code {}:\n{told_output}\n\ncame, with exit code {code}:\n{output}\n",
            told.command, told.code
        ))
    }

    /// Exit code, and standard output with standard error, as a terminal shows them.
    fn type_in(&mut self, command: &str) -> (i32, String) {
        let place = self.folder.path().join("place");
        let command = command.replace(LOCAL, &format!("base_url: {}", self.model.url()));
        let program = Path::new(env!("CARGO_BIN_EXE_rye")).parent().unwrap();
        let output = Command::new("sh")
            .arg("-c")
            .arg(format!("exec 2>&1\n{command}\ncode=$?\npwd > '{}'\nexit $code", place.display()))
            .current_dir(&self.here)
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("PATH", format!("{}:/usr/bin:/bin", program.display()))
            .env("EXAMPLES", docs().join("../examples").canonicalize().unwrap())
            .output()
            .unwrap();
        if let Ok(here) = fs::read_to_string(&place) {
            self.here = PathBuf::from(here.trim_end());
        }
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    }
}

/// A model that does what a reader's own directive asks of it: it reads the file and returns what it says.
fn reads_aloud(asked: &Asked) -> Says {
    match asked.results().first() {
        None => Says::Calls("rye_file_system_read", json!({ "path": "HELLO.md" })),
        Some(read) => {
            assert!(read.contains("Hello, world."), "{read}");
            let outputs = json!({ "content": "Hello, world." });
            Says::Calls("rye_agent_threads_directive_return", outputs)
        }
    }
}

/// What stands between fences of this language.
pub(crate) fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let opening = format!("\n```{language}\n");
    let after = page.split(opening.as_str()).skip(1);
    after.map(|rest| &rest[..=rest.find("\n```").unwrap()]).collect()
}

fn told(block: &str) -> Vec<Told> {
    let mut all: Vec<Told> = Vec::new();
    for line in block.lines() {
        let is_more = all.last().is_some_and(|told| told.output.is_empty());
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(Told { command: command.to_owned(), code: 0, output: String::new() });
            continue;
        }
        let Some(told) = all.last_mut() else { panic!("no command before `{line}`") };
        match (line.strip_prefix('>'), line.strip_prefix("? ")) {
            (Some(more), _) if is_more => {
                told.command += &format!("\n{}", more.strip_prefix(' ').unwrap_or(more));
            }
            (_, Some(code)) if is_more => told.code = code.parse().unwrap(),
            _ => told.output += &format!("{line}\n"),
        }
    }
    all
}

/// Whether the output is the one told, where `[..]` stands for any text within a line and `...` for any lines.
fn matches(told: &str, output: &str) -> bool {
    let (told, output) = (lines(told), lines(output));
    lines_match(&told, &output)
}

/// Columns are as wide as what stands in them, which differs.
fn lines(text: &str) -> Vec<String> {
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

fn lines_match(told: &[String], output: &[String]) -> bool {
    match (told, output) {
        ([], output) => output.is_empty(),
        ([dots, rest @ ..], _) if dots == "..." => {
            (0..=output.len()).any(|skipped| lines_match(rest, &output[skipped..]))
        }
        ([first, rest @ ..], [line, lines @ ..]) => {
            line_matches(first, line) && lines_match(rest, lines)
        }
        _ => false,
    }
}

fn line_matches(told: &str, line: &str) -> bool {
    let mut parts = told.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}
