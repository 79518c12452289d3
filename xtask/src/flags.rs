//! The arguments of `cargo xtask`.

use anyhow::anyhow;

use crate::{fuzz, generated::Mode, prompts, soak};

/// The text of `cargo xtask help`.
pub(crate) const HELP: &str = "\
Usage: cargo xtask TASK

  tidy                check the layer table, file and function lengths, and each crate's files
  codegen [--check]   write docs/cli.md, docs/format.md and schemas/ from the output of `rye`
  fixtures [--check]  sign the examples again with the checked-in example key
  prompts [DIR [TRUST…]]
                      render the directives of a project (the quick start) into snapshots to review
  fuzz [--seconds N] [TARGET…]
                      run the fuzz targets, each for N seconds (10)
  e2e exported        validate what `rye export` writes with packages of PyPI
  e2e exports         read exported trajectories and receipts with packages of PyPI
  e2e install         build the wheel and the Debian package in the profile `dist`, install them, run the quick start, the hooks
                      of pre-commit and the scripts of action.yml (not part of `ci`)
  e2e llama           run whole threads against llama.cpp's server, which is built first (not part of `ci`)
  e2e neighbours      import files of other programs, from packages of npm and PyPI (not part of `ci`)
  e2e restate         run threads on a Restate server, with workers and servers that are killed
  e2e view            open exported pages and those of `rye view` in Chromium
  sdk                 check every request body that the tests make with the types of the vendors' own SDKs
  mcp                 call `rye mcp` with third-party clients and with the conformance suite; call third-party servers
  transcript          read the threads that the tests made with the reader in `examples/read-transcript`
  bench               compare the whole program with a Python interpreter that imports a YAML parser
  bench thread        measure the overhead of a thread with a server that answers at once
  bench view          measure the pages and exports of a thread of 10,000 records, and the list of 10,000 threads
  soak [--kills N]    cut threads at every byte, simulate a power loss at every use of the store, and kill N programs (100)
                      in each of two tests (not part of `ci`)
  book                build the guide of docs/ into target/book
  ci                  run all checks, in order, with times";

/// A task of `cargo xtask`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Task {
    Bench,
    BenchThread,
    BenchView,
    Book,
    Ci,
    Codegen(Mode),
    E2eExported,
    E2eExports,
    E2eInstall,
    E2eLlama,
    E2eNeighbours,
    E2eRestate,
    E2eView,
    Fixtures(Mode),
    Fuzz(fuzz::Request),
    Help,
    Mcp,
    Prompts(prompts::Request),
    Sdk,
    Soak(soak::Request),
    Tidy,
    Transcript,
}

/// Parses the arguments. The error for unknown arguments contains the whole help.
pub(crate) fn parse(arguments: &[String]) -> anyhow::Result<Task> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["bench"] => Ok(Task::Bench),
        ["bench", "thread"] => Ok(Task::BenchThread),
        ["bench", "view"] => Ok(Task::BenchView),
        ["book"] => Ok(Task::Book),
        ["ci"] => Ok(Task::Ci),
        ["codegen"] => Ok(Task::Codegen(Mode::Write)),
        ["codegen", "--check"] => Ok(Task::Codegen(Mode::Check)),
        ["e2e", "exported"] => Ok(Task::E2eExported),
        ["e2e", "exports"] => Ok(Task::E2eExports),
        ["e2e", "install"] => Ok(Task::E2eInstall),
        ["e2e", "llama"] => Ok(Task::E2eLlama),
        ["e2e", "neighbours"] => Ok(Task::E2eNeighbours),
        ["e2e", "restate"] => Ok(Task::E2eRestate),
        ["e2e", "view"] => Ok(Task::E2eView),
        ["fixtures"] => Ok(Task::Fixtures(Mode::Write)),
        ["fixtures", "--check"] => Ok(Task::Fixtures(Mode::Check)),
        ["fuzz", words @ ..] => fuzz::Request::parse(words).map(Task::Fuzz),
        ["help" | "--help" | "-h"] => Ok(Task::Help),
        ["mcp"] => Ok(Task::Mcp),
        ["prompts", words @ ..] => Ok(Task::Prompts(prompts::Request::of(words))),
        ["sdk"] => Ok(Task::Sdk),
        ["soak", words @ ..] => soak::Request::parse(words).map(Task::Soak),
        ["tidy"] => Ok(Task::Tidy),
        ["transcript"] => Ok(Task::Transcript),
        other => Err(anyhow!("`{}` is not a task\n\n{HELP}", other.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::{HELP, Mode, Task, parse};

    #[track_caller]
    fn check(line: &str, expected: &Result<Task, String>) {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        assert_eq!(&parse(&arguments).map_err(|error| error.to_string()), expected);
    }

    #[test]
    fn a_check_flag_is_the_check_mode() {
        check("codegen --check", &Ok(Task::Codegen(Mode::Check)));
        check("fixtures", &Ok(Task::Fixtures(Mode::Write)));
    }

    #[test]
    fn a_flag_that_a_task_does_not_have_is_refused() {
        check("tidy --check", &Err(format!("`tidy --check` is not a task\n\n{HELP}")));
    }
}
