//! `rye trust …` (SPEC 2.7, 2.8).

mod add;
mod change;
mod export;
mod listing;
mod policy;
mod project;

use std::path::Path;

use clap::Subcommand;
use rye::primary::Destination;
use rye::resolve::{RevocationEntry, Space, TrustEntry, TrustReading, trust_entries};
use rye::sign::{KeyId, TrustDocument, TrustStore};

use crate::environment::{Environment, NamedDocument};
use crate::exit::Exit;
use crate::failure::Failure;

/// Manage the keys whose signatures count
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Add(add::Arguments),
    Export(export::Arguments),
    /// List all trust documents and revocation lists, whether they count, and why not
    #[command(after_help = "Example:\n  rye trust list --json")]
    List,
    /// Show the trust documents of one key
    #[command(after_help = "Example:\n  rye trust show 56dbf7b2d9ce86ed")]
    Show(Named),
    Revoke(change::Revoke),
    Remove(change::Remove),
    Policy(policy::Arguments),
}

/// The argument of commands for one key.
#[derive(Debug, clap::Args)]
pub(crate) struct Named {
    /// The key's id of 16 digits, or its fingerprint of 64
    #[arg(value_name = "ID")]
    key_id: KeyId,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    environment.refuse_user_space_of_project()?;
    let known = || Known::read(environment);
    match command {
        Command::Add(arguments) => add::run(arguments, &known()?, environment),
        Command::Export(arguments) => export::run(arguments, &known()?, environment),
        Command::List => Ok(listing::list(&known()?, environment)),
        Command::Show(named) => {
            let known = known()?;
            listing::show(&named.key_id, &known.require(&named.key_id)?, &known, environment)
        }
        Command::Revoke(arguments) => change::revoke(arguments, &known()?, environment),
        Command::Remove(arguments) => change::remove(arguments, &known()?, environment),
        // Trust documents are not read, because a program may have changed them.
        Command::Policy(arguments) => policy::run(arguments, environment),
    }
}

/// All trust documents and revocation lists, and the keys that they make count.
struct Known {
    store: TrustStore,
    entries: Vec<TrustEntry>,
    lists: Vec<RevocationEntry>,
}

/// Returns the trust documents of these keys for others to add, as `rye trust export` writes them.
pub(crate) fn documents_to_hand_on(
    keys: &[KeyId],
    environment: &Environment,
) -> Result<Vec<String>, Failure> {
    let known = Known::read(environment)?;
    let document =
        |key_id| export::document_to_hand_on(key_id, &known).map(|(text, _)| text.to_owned());
    keys.iter().map(document).collect()
}

impl Known {
    fn read(environment: &Environment) -> Result<Self, Failure> {
        let documents = environment.trust_documents()?;
        let documents: Vec<_> = documents.iter().map(NamedDocument::for_run).collect();
        let reading = trust_entries(&environment.spaces(), &documents, Environment::now())?;
        let TrustReading { store, documents: entries, lists, .. } = reading;
        Ok(Self { store, entries, lists })
    }

    /// Returns the keys that decide about what is written into a space. The project's list concerns the project alone.
    fn store_for(&self, space: Destination) -> TrustStore {
        let outside = match space {
            Destination::Project => None,
            Destination::User => self.store.outside_project(),
        };
        outside.unwrap_or_else(|| self.store.clone())
    }

    /// Returns the documents of a key.
    fn of(&self, key_id: &KeyId) -> Vec<&TrustEntry> {
        self.entries.iter().filter(|entry| entry.is_for(key_id)).collect()
    }

    fn require(&self, key_id: &KeyId) -> Result<Vec<&TrustEntry>, Failure> {
        let entries = self.of(key_id);
        if entries.is_empty() {
            return Err(Failure::failed(format!(
                "no trust document for the key `{key_id}`; `rye trust list` shows those there are, and `rye trust add FILE` adds one"
            )));
        }
        Ok(entries)
    }

    /// Returns the document in the user space.
    fn of_user(&self, key_id: &KeyId) -> Option<&TrustEntry> {
        self.of(key_id).into_iter().find(|entry| space(entry) == Some(Space::User))
    }

    /// Returns the document to hand on: one that counts, if there is one, and the nearest to the operator.
    fn to_hand_on(&self, key_id: &KeyId) -> Option<&TrustEntry> {
        let entries = self.of(key_id);
        let counting = entries.iter().find(|entry| entry.counts());
        counting.or_else(|| entries.first()).copied()
    }
}

fn space(entry: &TrustEntry) -> Option<Space> {
    entry.location.as_ref().map(|location| location.space)
}

/// Returns `true` if the name of the file is an id of the document's key. Under another name, the document does not count.
fn is_named_for(document: &TrustDocument, path: &Path) -> bool {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    stem.and_then(|stem| stem.parse().ok()).is_some_and(|key_id| document.key().is_named(&key_id))
}
