//! `rye verify PATH…`.

mod receipt;

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rye::sign::{Policy, Provenance};
use rye::{Subject, Verification, VerificationSummary, VerifyError, place};
use rye_view::receipt::PAYLOAD_TYPE;
use serde_json::{Value, json};

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::output::{self, Answer};

/// Verify the signatures of files and folders
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Exits with 3 when a file is refused. One is refused for use when its signature holds and leaves out \
                        what `rye run` needs covered, by `config/trust.yaml` or --strict.\n\n\
                        Examples:\n  rye verify\n  rye verify .ai/directives/notes/index.md --strict\n  \
                        rye verify receipt receipt.json --trust operator.toml"
)]
pub(crate) struct Arguments {
    /// Files, folders or patterns; default: the project's `.ai` folder
    paths: Vec<PathBuf>,
    /// Accept only signatures that bind the item's kind, id and time, over the whole file
    #[arg(long)]
    strict: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Verifications of other files than items.
#[derive(Debug, Subcommand)]
enum Command {
    Receipt(receipt::Arguments),
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    if let Some(Command::Receipt(arguments)) = &arguments.command {
        return receipt::run(arguments, environment);
    }
    let policy = Policy::default();
    let policy = if arguments.strict { policy.strict() } else { policy };
    let rye = environment.rye_by(policy)?;
    let paths = match arguments.paths.as_slice() {
        [] => vec![environment.items_folder()?.join(".ai")],
        paths => paths.to_vec(),
    };
    let verified = rye.verify_files(&files::named_with_trust(&paths, environment)?);
    let summary = VerificationSummary::of(&verified);
    if environment.json() {
        answer(&verified, &summary).fine_if(summary.refused.is_empty()).print();
    } else {
        // Printed at once, because ten thousand lines would need as many system calls.
        print!("{}{}", verified.iter().map(verdict_text).collect::<String>(), totals(&summary));
    }
    Ok(if summary.refused.is_empty() { Exit::Fine } else { Exit::Refused })
}

fn verdict_text(verification: &Verification) -> String {
    let path = output::line(&verification.path.display().to_string());
    match &verification.result {
        Ok(Provenance::Signed(signature)) => {
            let owner = output::line(signature.owner().unwrap_or("unnamed"));
            let coverage = signature.coverage();
            let binding = signature.binding();
            let key = signature.key_id();
            let notes = signature.notes().iter().map(|note| format!("         note: {note}\n"));
            let notes: String = notes.collect();
            format!("ok       {path}  {coverage}, {binding}, by {owner} ({key})\n{notes}")
        }
        Ok(_) => format!("ok       {path}  {}\n", counting_by_place(verification)),
        Err(error) => {
            let verdict = if is_broken(error) { "refused" } else { "refused for use" };
            let mut text = format!("{verdict:<8} {path}\n         {}\n", reason(error));
            if is_receipt(&verification.path) {
                let told =
                    "it is the receipt of a thread, which `rye verify receipt FILE` verifies";
                text.push_str(&format!("         note: {told}\n"));
            }
            text
        }
    }
}

/// Returns `true` for a file that is no item and has the form of a receipt.
fn is_receipt(path: &Path) -> bool {
    let is_json = path.extension().is_some_and(|extension| extension == "json");
    let text = Some(path).filter(|path| is_json && place(path).is_none()).map(read_text);
    let read = text.and_then(|text| serde_json::from_str::<Value>(&text.ok()?).ok());
    read.is_some_and(|read| read["payloadType"] == PAYLOAD_TYPE)
}

/// Returns `false` if the signature itself is valid, and `rye run` refuses the item because the signature
/// does not cover enough.
fn is_broken(error: &VerifyError) -> bool {
    use rye::sign::Error;
    let is_weak = matches!(
        error,
        VerifyError::Signature(Error::NotCovered { .. } | Error::ContentOnlyDenied { .. })
    );
    !is_weak
}

/// Returns the reason why a file counts without a signature of a known key.
fn counting_by_place(verification: &Verification) -> &'static str {
    match verification.subject {
        Subject::RevocationList => "a revocation list that counts because you put it there",
        _ => "a trust document that counts because you put it there",
    }
}

/// Returns the error with its causes. Text of the file in it cannot control the terminal.
fn reason(error: &VerifyError) -> String {
    output::line(&Failure::of(error, Exit::Refused).to_string())
}

/// Returns `3 files: 2 verified, 1 refused`, with the totals behind these numbers.
fn totals(summary: &VerificationSummary) -> String {
    let files = output::counted(summary.files, "file");
    let verified = summary.verified;
    let mut text = format!("{files}: {verified} verified, {} refused\n", summary.files - verified);
    let mut signed = vec![list_counts(&summary.coverage), list_counts(&summary.binding)];
    if summary.unsigned_trust > 0 {
        signed.push(format!(
            "{} unsigned",
            output::counted(summary.unsigned_trust, "trust document")
        ));
    }
    for (name, counts) in [("verified", signed), ("refused", vec![list_counts(&summary.refused)])] {
        let counts: Vec<String> = counts.into_iter().filter(|text| !text.is_empty()).collect();
        if !counts.is_empty() {
            text += &format!("{name:<8} {}\n", counts.join("; "));
        }
    }
    text
}

fn list_counts<K: Display>(counts: &BTreeMap<K, usize>) -> String {
    let counts = counts.iter().map(|(name, count)| format!("{count} {name}"));
    counts.collect::<Vec<_>>().join(", ")
}

/// Returns the verdicts as JSON.
fn answer(verified: &[Verification], summary: &VerificationSummary) -> Answer {
    Answer::of("files", verified.iter().map(row))
        .with("verified", summary.verified)
        .with("coverage", json!(summary.coverage))
        .with("binding", json!(summary.binding))
        .with("unsigned_trust_documents", summary.unsigned_trust)
        .with("refused", json!(summary.refused))
}

fn row(verification: &Verification) -> Value {
    let mut row = json!({
        "path": output::path(&verification.path),
        "kind": verification.subject.as_str(),
        "id": verification.id.as_ref().map(ToString::to_string),
        "ok": verification.result.is_ok(),
    });
    match &verification.result {
        Ok(Provenance::Signed(signature)) => {
            row["key_id"] = signature.key_id().to_string().into();
            row["owner"] = signature.owner().into();
            row["signed_at"] = signature.at().to_string().into();
            row["coverage"] = signature.coverage().to_string().into();
            row["binding"] = signature.binding().to_string().into();
            row["notes"] = signature.notes().iter().map(ToString::to_string).collect::<Value>();
        }
        Ok(_) => row["notes"] = json!([counting_by_place(verification)]),
        Err(error) => {
            row["outcome"] = error.code().into();
            row["error"] = Failure::of(error, Exit::Refused).to_string().into();
        }
    }
    row
}
