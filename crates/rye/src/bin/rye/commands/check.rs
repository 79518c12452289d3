//! `rye check [PATH…]`.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::thread::read_plain;
use rye::{Checked, Finding, Severity, check_bytes, github, sarif};
use serde_json::{Value, json};

use crate::environment::{Environment, MOST};
use crate::excerpt::{Excerpt, rendered};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{files, output};

/// Check the form of items and show every problem at its place
#[derive(Debug, Args)]
#[command(
    after_help = "Signatures are not looked at; `rye verify` does that. With --locked nothing is checked but that everything \
                  is as `rye lock` wrote it down; no program is started for that, but with --servers.\n\n\
                  Examples:\n  rye check\n  rye check .ai/directives/notes/index.md --json\n  \
                  rye check .ai/directives/notes/index.md --ast\n  rye check --format github\n  \
                  rye check --format sarif > rye.sarif\n  rye check --locked\n  rye check --locked --servers"
)]
pub(crate) struct Arguments {
    /// Files, folders or patterns; default: the project's `.ai` folder
    paths: Vec<PathBuf>,
    /// Print each file with its problems and, for directives, all that was read of it, as JSON
    #[arg(long, conflicts_with_all = ["format", "locked"])]
    ast: bool,
    /// Print the problems for another program: workflow commands of GitHub Actions, or a SARIF 2.1.0 log
    #[arg(long, value_name = "FORMAT", conflicts_with_all = ["json", "locked"])]
    format: Option<Format>,
    /// Fail when an item, a tool or a text of a locked directive differs from `.ai/rye.lock`
    #[arg(long, conflicts_with = "paths")]
    locked: bool,
    /// Start each MCP server that is locked instead, and fail when it does not offer what `.ai/rye.lock` says
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
    #[cfg(feature = "mcp")]
    if arguments.servers {
        return super::lock::check_servers(environment);
    }
    if arguments.locked {
        return super::lock::check(environment);
    }
    let paths = match arguments.paths.as_slice() {
        [] => vec![environment.project()?.join(".ai")],
        paths => paths.to_vec(),
    };
    let checked = files::named(&paths, environment)?
        .iter()
        .map(|path| check_file(path))
        .collect::<Result<Vec<_>, _>>()?;
    tell(&checked, arguments, environment);
    Ok(if checked.iter().all(Checked::is_ok) { Exit::Fine } else { Exit::Failed })
}

fn tell(checked: &[Checked], arguments: &Arguments, environment: &Environment) {
    let base = environment.absolute(Path::new(""));
    match arguments.format {
        Some(Format::Github) => print!("{}", github(checked, &base)),
        Some(Format::Sarif) => output::json(&sarif(checked, &base)),
        None if arguments.ast => output::json(&checked.iter().map(with_ast).collect()),
        None if environment.json() => output::json(&checked.iter().map(row).collect()),
        None => {
            checked.iter().for_each(|checked| print(checked, environment));
            println!("{}", summary(checked));
        }
    }
}

fn check_file(path: &Path) -> Result<Checked, Failure> {
    let bytes = read_plain(path, MOST).map_err(|source| Failure::io("read", path, &source))?;
    Ok(check_bytes(path, bytes))
}

fn print(checked: &Checked, environment: &Environment) {
    if checked.findings.is_empty() {
        return;
    }
    let excerpt = Excerpt::of_checked(checked);
    output::painted(&rendered(&excerpt, environment.output_colors()));
}

fn summary(checked: &[Checked]) -> String {
    let count = |severity| {
        let findings = checked.iter().flat_map(|checked| &checked.findings);
        findings.filter(|finding| finding.severity == severity).count()
    };
    let (errors, warnings, notes) =
        (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    let counted = [(errors, "error"), (warnings, "warning"), (notes, "note")]
        .map(|(count, noun)| output::counted(count, noun));
    format!("{} checked: {}", checked.len(), counted.join(", "))
}

fn row(checked: &Checked) -> Value {
    json!({
        "path": output::path(&checked.path),
        "kind": checked.kind.as_str(),
        "id": checked.id.as_ref().map(ToString::to_string),
        "ok": checked.is_ok(),
        "problems": checked.findings.iter().map(|finding| problem(finding, &checked.source)).collect::<Value>(),
    })
}

fn with_ast(checked: &Checked) -> Value {
    let mut row = row(checked);
    row["directive"] = checked.ast().into();
    row
}

fn problem(finding: &Finding, source: &str) -> Value {
    let position = rye::parse::position(source, finding.span.start);
    json!({
        "severity": finding.severity.as_str(),
        "code": finding.code,
        "message": finding.message,
        "label": finding.label,
        "help": finding.help,
        "line": position.line,
        "column": position.column,
        "span": [finding.span.start, finding.span.end],
    })
}
