//! `rye check [PATH…]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::{Checked, Finding, Severity, github, sarif};
use serde_json::Value;

use super::lock::Held;
use crate::environment::Environment;
use crate::excerpt::{Excerpt, rendered};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::key_store::ending_soon;
use crate::output::{self, Answer};

/// Check a project and show every problem at its place: form, references, permissions, signatures, configuration
#[derive(Debug, Args)]
#[command(
    after_help = "Everything is checked that can be known without running: the form of files, what directives extend, the items \
                  that context, steps and hooks name, the permissions that these need, risk, signatures, and configuration \
                  against its schema. Nothing is started, but with --servers.\n\n\
                  Exits with 1 when something is an error. `rye sign` and `rye lock` refuse what is an error here, and \
                  `rye sign` also a name, category or version that contradicts the file's place. A missing signature is a note. A \
                  file that you changed since you signed it is a note, too, and an error with --strict, with --locked and where `CI` is set.\n\n\
                  Examples:\n  rye check\n  rye check notes/index --json\n  \
                  rye check .ai/directives/notes/index.md --ast\n  rye check --format github\n  \
                  rye check --strict --locked --format sarif > rye.sarif\n  rye check --locked --servers"
)]
pub(crate) struct Arguments {
    /// Files, folders, patterns or ids of items; default: the project's `.ai` folder, and the configuration of your user space
    paths: Vec<PathBuf>,
    /// Print each file with its problems and, for directives, all that was read of it, as JSON
    #[arg(long, conflicts_with = "format")]
    ast: bool,
    /// Print the problems for another program: workflow commands of GitHub Actions, or a SARIF 2.1.0 log
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    format: Option<Format>,
    /// Accept only signatures that bind kind and id over the whole file, and no directive that grants more than what it extends
    #[arg(long)]
    strict: bool,
    /// Fail as well when an item, a tool or a text of a locked directive differs from `.ai/rye.lock`
    #[arg(long)]
    locked: bool,
    /// Start each MCP server that is locked as well, and fail when it does not offer what `.ai/rye.lock` says
    #[cfg(feature = "mcp")]
    #[arg(long, requires = "locked")]
    servers: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Github,
    Sarif,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let files = match arguments.paths.as_slice() {
        [] => files::of_project(environment)?,
        paths => files::named(paths, environment)?,
    };
    let spaces = environment.to_check(arguments.strict, arguments.locked)?;
    let mut checked = spaces.checker().check_files(&files);
    let held = arguments.locked.then(|| Held::of(environment)).transpose()?;
    #[cfg(feature = "mcp")]
    let held = match held {
        Some(held) if arguments.servers => Some(held.with_servers(environment)?),
        held => held,
    };
    if arguments.format.is_some() {
        checked.extend(held.as_ref().map(Held::to_checked));
    }
    output::warnings(&ending_soon(environment));
    output::warnings(&spaces.warnings_of_lists());
    let broken = spaces.broken_lists();
    broken.iter().for_each(|list| eprintln!("error: {}", output::visible(list)));
    let is_ok = checked.iter().all(Checked::is_ok)
        && held.as_ref().is_none_or(Held::is_fine)
        && broken.is_empty();
    tell(&checked, held.as_ref(), is_ok, arguments, environment);
    Ok(if is_ok { Exit::Fine } else { Exit::Failed })
}

fn tell(
    checked: &[Checked],
    held: Option<&Held>,
    is_ok: bool,
    arguments: &Arguments,
    environment: &Environment,
) {
    let base = environment.absolute(Path::new(""));
    match arguments.format {
        Some(Format::Github) => print!("{}", github(checked, &base)),
        Some(Format::Sarif) => output::document(&sarif(checked, &base)),
        None if arguments.ast || environment.json() => {
            let row = if arguments.ast { with_ast } else { Checked::to_json };
            let mut answer = Answer::of("files", checked.iter().map(row));
            if let Some(held) = held {
                answer = answer.beside("locked", held.rows());
                #[cfg(feature = "mcp")]
                if let Some(rows) = held.rows_of_servers() {
                    answer = answer.beside("servers", rows);
                }
            }
            let counts = [
                ("errors", Severity::Error),
                ("warnings", Severity::Warning),
                ("notes", Severity::Note),
            ];
            let counted = counts.into_iter().fold(answer, |answer, (name, severity)| {
                answer.with(name, count(checked, severity))
            });
            counted.fine_if(is_ok).print();
        }
        None => {
            checked.iter().for_each(|checked| print(checked, environment));
            tell_unvouched(checked);
            println!("{}", summary(checked));
            held.iter().for_each(|held| held.print());
        }
    }
}

/// Files that nothing vouches for here in one sentence for each reason: a place is not worth showing for each.
fn tell_unvouched(checked: &[Checked]) {
    let mut reasons: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for checked in checked {
        let findings = checked.findings.iter().filter(|finding| finding.is_unvouched());
        for finding in findings {
            reasons.entry(&finding.message).or_default().push(&checked.path);
        }
    }
    for (reason, paths) in &reasons {
        let files = output::counted(paths.len(), "file");
        let first = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        let such =
            if paths.len() > 1 { format!("such as `{first}`") } else { format!("`{first}`") };
        println!("note: {files}, {such}: {reason}");
    }
}

fn print(checked: &Checked, environment: &Environment) {
    if checked.findings.iter().all(Finding::is_unvouched) {
        return;
    }
    let excerpt = Excerpt::of_checked(checked);
    output::painted(&rendered(&excerpt, environment.output_colors()));
}

const SEVERITIES: [Severity; 3] = [Severity::Error, Severity::Warning, Severity::Note];

fn count(checked: &[Checked], severity: Severity) -> usize {
    let findings = checked.iter().flat_map(|checked| &checked.findings);
    findings.filter(|finding| finding.severity == severity).count()
}

fn summary(checked: &[Checked]) -> String {
    let counted =
        SEVERITIES.map(|severity| output::counted(count(checked, severity), severity.as_str()));
    format!("{} checked: {}", checked.len(), counted.join(", "))
}

fn with_ast(checked: &Checked) -> Value {
    let mut row = checked.to_json();
    row["directive"] = checked.ast().into();
    row
}
