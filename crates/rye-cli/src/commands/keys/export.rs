//! `rye keys export`.

use std::io::{self, IsTerminal as _};
use std::path::PathBuf;

use clap::Args;
use serde_json::json;

use super::public_key;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, create_beside, signing_key};
use crate::output::{self, Answer};

/// Write the public key as PEM, for others to trust
#[derive(Debug, Args)]
#[command(
    after_help = "The private key leaves only with `--private`, into a new file that its owner alone can read, or into a \
                  pipe; never onto a terminal. Anyone with it can sign as you.\n\n\
                  Examples:\n  rye keys export --output ada.pem\n  rye keys export --private | gpg --symmetric --output key.pem.gpg"
)]
pub(crate) struct Arguments {
    /// Write the private key instead
    #[arg(long)]
    private: bool,
    /// The file to write, which must not be there yet; default: standard output
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(super) fn run(
    arguments: &Arguments,
    store: &KeyStore,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if arguments.private {
        return private(arguments, environment);
    }
    let key = public_key(store)?;
    if let Some(path) = &arguments.output {
        create_beside(path, &key.to_pem(), 0o644)?;
    }
    match &arguments.output {
        path if environment.json() => {
            let row = json!({
                "key_id": key.key_id().to_string(),
                "fingerprint": key.fingerprint().to_string(),
                "public_key": key.to_pem(),
                "path": path.as_deref().map(output::path),
            });
            Answer::one("keys", row).print();
        }
        Some(_) => {}
        None => print!("{}", key.to_pem()),
    }
    Ok(Exit::Fine)
}

fn private(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    if environment.json() {
        return Err(Failure::usage("a private key is written as PEM; leave out `--json`"));
    }
    if arguments.output.is_none() && io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a private key is not shown on a terminal; give `--output FILE`, or pipe it on",
        ));
    }
    let pem = signing_key(environment)?.to_pkcs8_pem();
    match &arguments.output {
        Some(path) => create_beside(path, pem.as_str(), 0o600)?,
        None => print!("{}", pem.as_str()),
    }
    Ok(Exit::Fine)
}
