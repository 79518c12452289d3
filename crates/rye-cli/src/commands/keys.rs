//! `rye keys …`.

mod export;
mod import;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rye::sign::{PublicKey, SigningKey, TrustDocument};
use serde_json::json;

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, create, exists, signed_text, warn_of_end};
use crate::output::{self, Answer};

/// Make, show and move signing keys
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make a signing key in the user space, and trust it there
    #[command(
        after_help = "An existing key is never replaced.\n\nExample:\n  rye keys generate --owner ada@example.org"
    )]
    Generate(Generate),
    /// Show the public key, its id and its fingerprint
    #[command(after_help = "Example:\n  rye keys show --json")]
    Show,
    Import(import::Arguments),
    Export(export::Arguments),
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// The owner that the trust document names
    #[arg(long, default_value = "me")]
    owner: String,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    let store = KeyStore::of(environment)?;
    match command {
        Command::Generate(arguments) => {
            let (key, trusted) = generate(&arguments.owner, &store, environment)?;
            tell(&key.public(), Some((&store.private(), &trusted)), environment);
            warn_of_end(&key.public(), environment);
            Ok(Exit::Fine)
        }
        Command::Show => show(&store, environment),
        Command::Import(arguments) => import::run(arguments, &store, environment),
        Command::Export(arguments) => export::run(arguments, &store, environment),
    }
}

/// Makes a key in the user space and trusts it there. Returns the key and the path of its trust document.
pub(crate) fn generate(
    owner: &str,
    store: &KeyStore,
    environment: &Environment,
) -> Result<(SigningKey, PathBuf), Failure> {
    check_vacant(store)?;
    let key = SigningKey::generate().map_err(|error| Failure::of(&error, Exit::Failed))?;
    let trusted = settle(&key, owner, store, environment)?;
    Ok((key, trusted))
}

/// Fails if a key exists, because keys are never replaced (SPEC 2.6).
fn check_vacant(store: &KeyStore) -> Result<(), Failure> {
    let taken = [store.private(), store.public()].into_iter().find(|path| path.exists());
    taken.map_or(Ok(()), |path| Err(exists(&path)))
}

/// Writes the key to the user space and trusts it there: all files or none. Returns the path of the trust
/// document.
fn settle(
    key: &SigningKey,
    owner: &str,
    store: &KeyStore,
    environment: &Environment,
) -> Result<PathBuf, Failure> {
    if owner.trim().is_empty() {
        return Err(Failure::usage("the owner is empty; name the owner of the key"));
    }
    let document = TrustDocument::new(owner, key.public());
    let existing = store.existing(&document, environment)?;
    let trusted = existing.clone().unwrap_or_else(|| store.document(&document));
    let signed = signed_text(&document, key);
    let public = key.public().to_pem();
    let secret = key.to_pkcs8_pem();
    let mut files =
        vec![(store.private(), secret.as_str(), 0o600), (store.public(), public.as_str(), 0o644)];
    // An existing document for this key stays, because it may limit the key.
    if existing.is_none() {
        files.push((trusted.clone(), signed.as_str(), 0o644));
    }
    create_all(&files)?;
    Ok(trusted)
}

/// Trusts a key that is there already, if no document trusts it. Returns the path of a new document.
fn trust(
    key: &SigningKey,
    owner: &str,
    store: &KeyStore,
    environment: &Environment,
) -> Result<Option<PathBuf>, Failure> {
    let document = TrustDocument::new(owner, key.public());
    if store.existing(&document, environment)?.is_some() {
        return Ok(None);
    }
    let path = store.document(&document);
    create_all(&[(path.clone(), &signed_text(&document, key), 0o644)])?;
    Ok(Some(path))
}

fn create_all(files: &[(PathBuf, &str, u32)]) -> Result<(), Failure> {
    for (index, (path, text, mode)) in files.iter().enumerate() {
        if let Err(failure) = create(path, text, *mode) {
            // If a file cannot be removed, the next attempt finds it and reports it.
            files.iter().take(index).for_each(|(path, ..)| drop(fs::remove_file(path)));
            return Err(failure);
        }
    }
    Ok(())
}

fn show(store: &KeyStore, environment: &Environment) -> Result<Exit, Failure> {
    tell(&public_key(store)?, None, environment);
    Ok(Exit::Fine)
}

fn public_key(store: &KeyStore) -> Result<PublicKey, Failure> {
    let path = store.public();
    if !path.exists() {
        return Err(Failure::failed(format!(
            "no key at `{}`; make one with `rye keys generate`",
            path.display()
        )));
    }
    PublicKey::from_pem(&read_text(&path)?)
        .map_err(|error| Failure::failed(format!("`{}`: {error}", path.display())))
}

fn tell(key: &PublicKey, made: Option<(&Path, &Path)>, environment: &Environment) {
    if environment.json() {
        let row = json!({
            "key_id": key.key_id().to_string(),
            "fingerprint": key.fingerprint().to_string(),
            "public_key": key.to_pem(),
            "private_key_path": made.map(|(private, _)| output::path(private)),
            "trust_document_path": made.map(|(_, trusted)| output::path(trusted)),
        });
        return Answer::one("keys", row).print();
    }
    println!("key id       {}", key.key_id());
    println!("fingerprint  {}", key.fingerprint());
    match made {
        Some((private, trusted)) => {
            println!("private key  {}", private.display());
            println!("trusted by   {}", trusted.display());
        }
        None => print!("{}", key.to_pem()),
    }
}
