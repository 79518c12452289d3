//! `rye keys …`.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use rye::sign::{PublicKey, SigningKey, TrustDocument};
use serde_json::json;
use zeroize::Zeroizing;

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Make and show signing keys
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
}

#[derive(Debug, Args)]
pub(crate) struct Generate {
    /// Who the trust document says the key belongs to
    #[arg(long, default_value = "me")]
    owner: String,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    let folders = Folders::of(environment.user()?);
    match command {
        Command::Generate(arguments) => generate(arguments, &folders, environment),
        Command::Show => show(&folders, environment),
    }
}

/// The operator's signing key, or a failure that says how to make one.
pub(crate) fn signing_key(environment: &Environment) -> Result<SigningKey, Failure> {
    let path = Folders::of(environment.user()?).private();
    if !path.exists() {
        let path = path.display();
        return Err(Failure::usage(format!(
            "no signing key at `{path}`; make one with `rye keys generate`, or give `--key FILE`"
        )));
    }
    read_signing_key(&path)
}

/// The operator's signing key, when there is one.
pub(crate) fn signing_key_if_any(environment: &Environment) -> Result<Option<SigningKey>, Failure> {
    let Ok(user) = environment.user() else { return Ok(None) };
    let path = Folders::of(user).private();
    if path.exists() { read_signing_key(&path).map(Some) } else { Ok(None) }
}

pub(crate) fn read_signing_key(path: &Path) -> Result<SigningKey, Failure> {
    let pem = Zeroizing::new(read_text(path)?);
    SigningKey::from_pkcs8_pem(&pem)
        .map_err(|error| Failure::failed(format!("`{}`: {error}", path.display())))
}

struct Folders {
    signing: PathBuf,
    trusted: PathBuf,
}

impl Folders {
    fn of(user: &Path) -> Self {
        let keys = user.join(".ai").join("config").join("keys");
        Self { signing: keys.join("signing"), trusted: keys.join("trusted") }
    }

    fn private(&self) -> PathBuf {
        self.signing.join("private_key.pem")
    }

    fn public(&self) -> PathBuf {
        self.signing.join("public_key.pem")
    }
}

fn generate(
    arguments: &Generate,
    folders: &Folders,
    environment: &Environment,
) -> Result<Exit, Failure> {
    for path in [folders.private(), folders.public()] {
        if path.exists() {
            return Err(Failure::failed(format!(
                "`{}` exists and is not replaced; move it away first",
                path.display()
            )));
        }
    }
    let key = SigningKey::generate().map_err(|error| Failure::of(&error, Exit::Failed))?;
    let document = TrustDocument::new(&arguments.owner, key.public());
    let trusted = folders.trusted.join(format!("{}.toml", key.public().key_id()));
    write(&trusted, &signed_document(&document, &key), 0o644)?;
    write(&folders.public(), &key.public().to_pem(), 0o644)?;
    write(&folders.private(), key.to_pkcs8_pem().as_str(), 0o600)?;
    tell(&key.public(), Some((&folders.private(), &trusted)), environment);
    Ok(Exit::Fine)
}

fn signed_document(document: &TrustDocument, key: &SigningKey) -> String {
    let style = rye::sign::CommentStyle::Hash;
    rye::sign::sign(&document.to_toml(), style, &document.item_name(), key, Environment::now())
}

fn show(folders: &Folders, environment: &Environment) -> Result<Exit, Failure> {
    let path = folders.public();
    if !path.exists() {
        return Err(Failure::failed(format!(
            "no key at `{}`; make one with `rye keys generate`",
            path.display()
        )));
    }
    let key = PublicKey::from_pem(&read_text(&path)?)
        .map_err(|error| Failure::of(&error, Exit::Failed))?;
    tell(&key, None, environment);
    Ok(Exit::Fine)
}

fn tell(key: &PublicKey, made: Option<(&Path, &Path)>, environment: &Environment) {
    if environment.json() {
        output::json(&json!({
            "key_id": key.key_id().to_string(),
            "fingerprint": key.fingerprint().to_string(),
            "public_key": key.to_pem(),
            "private_key_path": made.map(|(private, _)| output::path(private)),
            "trust_document_path": made.map(|(_, trusted)| output::path(trusted)),
        }));
        return;
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

/// Writes a file that is not there yet, in a folder that only its owner can open.
fn write(path: &Path, text: &str, mode: u32) -> Result<(), Failure> {
    let written = || {
        if let Some(folder) = path.parent() {
            private_folder(folder)?;
        }
        let mut file = new_file(path, mode)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    written().map_err(|source| Failure::io("write", path, &source))
}

#[cfg(unix)]
fn private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
fn private_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).create(folder)
}

#[cfg(unix)]
fn new_file(path: &Path, mode: u32) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn new_file(path: &Path, _mode: u32) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}
