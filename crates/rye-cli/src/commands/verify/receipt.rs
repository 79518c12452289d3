//! `rye verify receipt`.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::files::read_plain;
use rye::resolve::trust_store;
use rye::types::Nanos;
use rye_view::receipt::Receipt;
use serde_json::{Value, json};

use crate::commands::threads::export::MOST_BYTES;
use crate::environment::{Environment, NamedDocument, read_named};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Verify the receipt of a thread, without the thread
#[derive(Debug, Args)]
#[command(
    after_help = "The receipt's key has to be trusted: in your user space, or by `--trust FILE` for this command. Neither a project nor \
                  a network is needed. Exits with 3 when anything is refused.\n\n\
                  With the transcript, all that the receipt says is derived from it again and compared. An output is compared as \
                  its text, or as canonical JSON when it is no text.\n\n\
                  Examples:\n  rye verify receipt receipt.json --trust operator.toml\n  \
                  rye verify receipt receipt.json --transcript transcript.jsonl --output summary=summary.txt"
)]
pub(super) struct Arguments {
    /// The receipt, as `rye threads export --format receipt` writes it
    file: PathBuf,
    /// The transcript that the receipt is of
    #[arg(long, value_name = "FILE")]
    transcript: Option<PathBuf>,
    /// The file with an output (may be given many times)
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file)]
    output: Vec<NamedFile>,
}

/// An output and the file that holds it.
#[derive(Clone, Debug)]
struct NamedFile {
    name: String,
    path: PathBuf,
}

fn named_file(text: &str) -> Result<NamedFile, String> {
    let (name, path) = text.split_once('=').ok_or("write it as NAME=FILE")?;
    Ok(NamedFile { name: name.to_owned(), path: PathBuf::from(path) })
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let documents = environment.trust_documents()?;
    let documents: Vec<_> = documents.iter().map(NamedDocument::for_run).collect();
    let (trust, _) = trust_store(&environment.spaces(), &documents, Environment::now())?;
    let text = read_named(&arguments.file)?;
    let refused = |error: rye_view::receipt::ReceiptError| Failure::of(&error, Exit::Refused);
    let receipt = Receipt::verify(&text, &trust).map_err(refused)?;
    let mut checked = Vec::new();
    if let Some(path) = &arguments.transcript {
        receipt.verify_transcript(&read(path)?).map_err(refused)?;
        checked.push("transcript.jsonl".to_owned());
    }
    for NamedFile { name, path } in &arguments.output {
        receipt.verify_output(name, &read(path)?).map_err(refused)?;
        checked.push(format!("outputs/{name}"));
    }
    if environment.json() {
        Answer::one("receipts", row(&receipt, &checked)).print();
    } else {
        print(&receipt, &arguments.file, &checked);
    }
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    read_plain(path, MOST_BYTES).map_err(|error| Failure::io("read", path, &error))
}

fn row(receipt: &Receipt, checked: &[String]) -> Value {
    json!({
        "verified": true,
        "key_id": receipt.key_id.to_string(),
        "owner": receipt.owner,
        "at": receipt.at.to_string(),
        "used_unsigned": used_unsigned(&receipt.statement["predicate"]),
        "checked_subjects": checked,
        "statement": receipt.statement,
    })
}

fn print(receipt: &Receipt, path: &Path, checked: &[String]) {
    let owner = receipt.owner.as_deref().unwrap_or("unnamed");
    let key_id = &receipt.key_id;
    println!("ok         {}  signed by {owner} ({key_id}) at {}", path.display(), receipt.at);
    let predicate = &receipt.statement["predicate"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let directive = &predicate["directive"];
    println!("thread     {}", text(&predicate["thread"]["id"]));
    println!("directive  {} {}", text(&directive["id"]), text(&directive["version"]));
    println!("outcome    {}", outcome(predicate));
    match used_unsigned(predicate) {
        Some(true) => println!("unverified it used items that nobody signed"),
        Some(false) => {}
        None => println!("unverified? it does not say whether all items were signed"),
    }
    for subject in receipt.statement["subject"].as_array().into_iter().flatten() {
        let name = text(&subject["name"]);
        let is_checked = if checked.contains(&name) {
            "the file is the one"
        } else {
            "not compared with a file"
        };
        println!("subject    {name}  {} {is_checked}", text(&subject["digest"]["sha256"]));
    }
    let claims = predicate["claimed"].as_array().into_iter().flatten();
    let claims: Vec<String> = claims.map(|claim| text(&claim["claim"])).collect();
    println!(
        "claimed    {}; the receipt shows that they were stated, and not that they are true",
        claims.join(", ")
    );
}

/// Returns `true` if the thread used unsigned items, which `--allow-unsigned` allowed, or `None` if the predicate does not say so
/// or deny it.
fn used_unsigned(predicate: &Value) -> Option<bool> {
    predicate["verified_items"].as_bool().map(|verified| !verified)
}

fn outcome(predicate: &Value) -> String {
    let state = predicate["outcome"]["state"].as_str().unwrap_or_default();
    let turns = output::turns(predicate["turns"].as_u64().unwrap_or(0));
    let cost = Nanos::new(predicate["cost"]["nanos"].as_u64().unwrap_or(0));
    format!("{state} after {turns}, cost {cost}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_receipt_that_says_so_has_verified_items() {
        for (predicate, expected) in [
            (json!({ "verified_items": true }), Some(false)),
            (json!({ "verified_items": false }), Some(true)),
            (json!({ "verified_items": null }), None),
            (json!({ "verified_items": "true" }), None),
            (json!({}), None),
        ] {
            assert_eq!(used_unsigned(&predicate), expected, "{predicate}");
        }
    }
}
