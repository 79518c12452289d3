//! `rye check [PATH…]`.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::{Checked, Finding, Severity, check_bytes};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::excerpt::{Excerpt, rendered};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{files, output};

/// Check the form of items and show every problem at its place
#[derive(Debug, Args)]
#[command(after_help = "Signatures are not looked at; `rye verify` does that.\n\n\
                        Examples:\n  rye check\n  rye check .ai/directives/notes/index.md --json")]
pub(crate) struct Arguments {
    /// Files, folders or patterns; default: the project's `.ai` folder
    paths: Vec<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let paths = match arguments.paths.as_slice() {
        [] => vec![environment.project()?.join(".ai")],
        paths => paths.to_vec(),
    };
    let checked = files::named(&paths, environment)?
        .iter()
        .map(|path| check_file(path))
        .collect::<Result<Vec<_>, _>>()?;
    if environment.json() {
        output::json(&checked.iter().map(row).collect());
    } else {
        checked.iter().for_each(|checked| print(checked, environment));
        println!("{}", summary(&checked));
    }
    Ok(if checked.iter().all(Checked::is_ok) { Exit::Fine } else { Exit::Failed })
}

fn check_file(path: &Path) -> Result<Checked, Failure> {
    let bytes = std::fs::read(path).map_err(|source| Failure::io("read", path, &source))?;
    Ok(check_bytes(path, bytes))
}

fn print(checked: &Checked, environment: &Environment) {
    if checked.findings.is_empty() {
        return;
    }
    let name = checked.path.display().to_string();
    let excerpt = Excerpt::of_findings(&name, &checked.source, checked.findings.iter());
    print!("{}", rendered(&excerpt, environment.output_colors()));
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
