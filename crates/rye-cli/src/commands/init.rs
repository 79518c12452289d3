//! `rye init`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use rye::resolve::trust_store;
use rye::sandbox::TemporaryFolder;
use rye::sign::{PublicKey, SigningKey, TrustedKey};
use rye::{DEFAULT_PROVIDER, DefaultProvider, Draft, starter, with_signature};
use serde_json::json;

use super::keys;
use crate::confirm;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::{KeyStore, signing_key_if_any, warn_of_end};
use crate::output::{self, Answer};

/// Begin a project: a first directive that runs, what it extends and what agents should know, all signed
#[derive(Debug, Args)]
#[command(
    after_help = "The folder gets an `.ai` folder, whole or not at all; one that has it is left as it is. The items are signed \
                  with your key. Without a key, the command asks whether to make one; `--new-key` makes it without asking. The answer \
                  says which provider answers runs that name none.\n\n\
                  Examples:\n  rye init\n  rye init notes --new-key --owner ada@example.org"
)]
pub(crate) struct Arguments {
    /// The folder that becomes a project, made where it is missing; default: where you are
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Make a signing key in the user space, and trust it there, unless you have one
    #[arg(long)]
    new_key: bool,
    /// The owner that the trust document of a new key names, `me` by default; a key that you have keeps its owner
    #[arg(long)]
    owner: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let folder = whole(arguments.folder.as_deref().unwrap_or(Path::new(".")), environment);
    refuse_taken(&folder, environment)?;
    let (key, is_new) = key(arguments, environment)?;
    let target = folder.join(".ai");
    let items = starter();
    let texts = items.iter().map(|item| sign_draft(item, &target, &key));
    let texts = texts.collect::<Result<Vec<_>, _>>()?;
    place(&folder, &texts).map_err(|source| Failure::io("make", &target, &source))?;
    tell(arguments, &folder, &texts, (&key, is_new), environment);
    warn_of_end(&key.public(), environment);
    if let Some(owner) = arguments.owner.as_ref().filter(|_| !is_new) {
        warn_of_owner(owner, &key.public(), environment);
    }
    Ok(Exit::Fine)
}

/// Warns if the key that was there belongs to another owner than the one that was named for a new key.
fn warn_of_owner(named: &str, key: &PublicKey, environment: &Environment) {
    let store = trust_store(&environment.spaces(), &[], Environment::now());
    let store = store.map(|(store, _)| store).unwrap_or_default();
    let owner = store.find(key.key_id()).and_then(TrustedKey::owner);
    if owner == Some(named) {
        return;
    }
    let owner = owner.map(|owner| format!(" of `{}`", output::line(owner))).unwrap_or_default();
    output::warnings(&[format!(
        "your key{owner} is used, so that `--owner` names nobody; it is for a new key"
    )]);
}

/// Returns the absolute path of the folder, without `.` parts.
fn whole(folder: &Path, environment: &Environment) -> PathBuf {
    environment.absolute(folder).components().collect()
}

/// Refuses a folder that has a project already, and the user space.
fn refuse_taken(folder: &Path, environment: &Environment) -> Result<(), Failure> {
    let target = folder.join(".ai");
    let is_user = environment.user().is_ok_and(|user| {
        user == folder
            || user.canonicalize().ok().is_some_and(|user| folder.canonicalize().ok() == Some(user))
    });
    if is_user {
        let folder = folder.display();
        return Err(Failure::usage(format!(
            "`{folder}` is the user space, which counts in every project; name a folder for this one, such as `rye init notes`"
        )));
    }
    match target.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Failure::io("look at", &target, &source)),
        Ok(_) => Err(Failure::failed(format!(
            "`{}` exists and is not replaced; `rye new directive ID` adds an item to a project",
            target.display()
        ))),
    }
}

/// Returns the operator's key, or makes one if the operator agrees. The flag is `true` for a new key.
fn key(arguments: &Arguments, environment: &Environment) -> Result<(SigningKey, bool), Failure> {
    if let Some(key) = signing_key_if_any(environment)? {
        return Ok((key, false));
    }
    let store = KeyStore::of(environment)?;
    let private = store.private();
    let path = private.display();
    let question = format!("There is no signing key at `{path}`. Make one, and trust it?");
    let is_wanted = arguments.new_key || confirm::ask(&question)?.unwrap_or(false);
    if !is_wanted {
        return Err(Failure::usage(format!(
            "no signing key at `{path}`, and nothing is made without one; `rye init --new-key` makes it, and \
             `rye keys import FILE` takes over one that you have"
        )));
    }
    let owner = arguments.owner.as_deref().unwrap_or("me");
    match keys::generate(owner, &store, environment) {
        Ok((key, _)) => Ok((key, true)),
        // Another program has made the key at the same time.
        Err(failure) => signing_key_if_any(environment)?.map(|key| (key, false)).ok_or(failure),
    }
}

/// Returns the path of the item below `.ai`, and its text with a signature for that path.
fn sign_draft(item: &Draft, target: &Path, key: &SigningKey) -> Result<(String, String), Failure> {
    let text = with_signature(&target.join(&item.path), &item.text, key, Environment::now())
        .map_err(|error| Failure::of(&error, Exit::Failed))?;
    Ok((item.path.clone(), text))
}

/// Writes the files to a temporary folder, and renames it.
fn place(folder: &Path, files: &[(String, String)]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let temporary = TemporaryFolder::new_in(folder)?;
    let made = temporary.path().join("ai");
    let files = files.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    for (path, text) in files.chain([(".gitignore", IGNORED)]) {
        let path = made.join(path);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    fs::rename(made, folder.join(".ai"))
}

/// The records of runs and the private keys do not belong in a repository.
const IGNORED: &str = "/threads/\n/cache/\n/config/keys/signing/\n";

fn tell(
    arguments: &Arguments,
    folder: &Path,
    files: &[(String, String)],
    (key, is_new): (&SigningKey, bool),
    environment: &Environment,
) {
    let public = key.public();
    let key = public.key_id();
    let next = next(arguments, folder, environment);
    let default = default_provider(folder, environment);
    if environment.json() {
        let made = files.iter().map(|(path, _)| json!({ "path": format!(".ai/{path}") }));
        let answer = Answer::of("items", made).with("project", output::path(folder));
        let answer = answer.with("key_id", key.to_string()).with("new_key", is_new);
        let default = default.map_or(DEFAULT_PROVIDER.to_owned(), |default| default.name);
        return answer.with("default_provider", default).with("next", next).print();
    }
    println!("project  {}", folder.display());
    files.iter().for_each(|(path, _)| println!("signed   .ai/{path}"));
    println!("key      {key}{}", if is_new { ", which is new" } else { "" });
    match default {
        Some(DefaultProvider { name, location, .. }) => {
            println!("provider {name}, says `{location}`");
        }
        None => println!(
            "provider {DEFAULT_PROVIDER}, until `default` in `config/agent/providers.yaml` of your user space names another"
        ),
    }
    println!("next     {next}");
}

/// Returns the provider that the user's configuration makes the default. If it cannot be read, the first run says why.
fn default_provider(folder: &Path, environment: &Environment) -> Option<DefaultProvider> {
    environment.preview_in(folder).ok()?.default_provider().ok()?
}

/// Returns the next command for the user.
fn next(arguments: &Arguments, folder: &Path, environment: &Environment) -> String {
    let run = "rye run project/hello --provider steps";
    match &arguments.folder {
        Some(named) if whole(Path::new("."), environment) != folder => {
            format!("cd '{}' && {run}", named.display())
        }
        _ => run.to_owned(),
    }
}
