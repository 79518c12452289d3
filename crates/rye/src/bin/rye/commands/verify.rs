//! `rye verify PATH…`.

use std::path::PathBuf;

use clap::Args;
use rye::sign::{Policy, Provenance};
use rye::{Rye, Verification};
use serde_json::{Value, json};

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{files, output};

/// Verify the signatures of files and folders
#[derive(Debug, Args)]
#[command(after_help = "Exits with 3 when a file is refused.\n\n\
                        Examples:\n  rye verify\n  rye verify .ai/directives/notes/index.md --strict")]
pub(crate) struct Arguments {
    /// Files, folders or patterns; default: the project's `.ai` folder
    paths: Vec<PathBuf>,
    /// Accept only signatures that bind the item's kind, id and time, over the whole file
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    // What is covered is told here; that a body which is not covered does not run is for running to say.
    let policy = if arguments.strict {
        Policy::default().strict()
    } else {
        Policy::default().allow_metadata_only()
    };
    let rye = environment.rye_by(policy)?;
    let paths = match arguments.paths.as_slice() {
        [] => vec![environment.project()?.join(".ai")],
        paths => paths.to_vec(),
    };
    let files = files::named(&paths, environment)?;
    let verified = files.iter().map(|path| verify(&rye, path)).collect::<Result<Vec<_>, _>>()?;
    if environment.json() {
        output::json(&verified.iter().map(row).collect());
    } else {
        verified.iter().for_each(print);
        println!("{}", summary(&verified));
    }
    Ok(if verified.iter().all(|verification| verification.result.is_ok()) {
        Exit::Fine
    } else {
        Exit::Refused
    })
}

fn verify(rye: &Rye, path: &std::path::Path) -> Result<Verification, Failure> {
    Ok(rye.verify(path, &read_text(path)?))
}

fn print(verification: &Verification) {
    let path = verification.path.display();
    match &verification.result {
        Ok(Provenance::Signed(signature)) => {
            let owner = signature.owner().unwrap_or("unnamed");
            let (coverage, binding, key) =
                (signature.coverage(), signature.binding(), signature.key_id());
            println!("ok       {path}  {coverage}, {binding}, by {owner} ({key})");
            signature.notes().iter().for_each(|note| println!("         note: {note}"));
        }
        Ok(_) => println!("ok       {path}"),
        Err(error) => println!("refused  {path}\n         {error}"),
    }
}

fn summary(verified: &[Verification]) -> String {
    let fine = verified.iter().filter(|verification| verification.result.is_ok()).count();
    format!("{} verified, {} refused", fine, verified.len() - fine)
}

fn row(verification: &Verification) -> Value {
    let mut row = json!({
        "path": output::path(&verification.path),
        "kind": verification.kind.as_str(),
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
        Ok(_) => {}
        Err(error) => row["error"] = error.to_string().into(),
    }
    row
}
