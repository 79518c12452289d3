//! Trusted keys. The operator's spaces name them; a project may only pass on documents that their keys
//! signed.

mod entry;
mod list;

use std::collections::BTreeMap;
use std::path::Path;

use rye_sign::{
    Admission, AdmissionNote, CommentStyle, Origin, TrustDocument, TrustStore, Unverified,
};
use rye_types::Timestamp;

pub use self::entry::{TrustEntry, TrustNote, TrustRemark, TrustSubject};
pub use self::list::{REVOCATION_LIST, RevocationEntry, is_revocation_list};
use crate::{
    Location, ResolveError, Space, Spaces, disk,
    root::{Root, Text},
};

/// Reads the trust documents and revocation lists of `spaces`, and the documents that the operator named for this run
/// (SPEC 2.7, 2.8).
///
/// The documents of the user space come first, then those of the system roots and of the program. The
/// project's follow; they count only if a key of the former signed them, because a project cannot vouch for
/// itself. The run's come last, so that they vouch only for themselves.
///
/// A document that does not count gives a note; a document of the run that does not count is an error. If one
/// of the operator's spaces has a refused document, no farther document for the same key counts either,
/// because the refused document may have revoked the key.
///
/// A revocation list, `.ai/config/keys/revoked.toml`, takes trust away from the keys that it names. The lists of the user
/// space and of system roots are read after all documents there, and hold for everything. The project's list counts
/// only if a key of the former signed it. It is read before the project's documents, and holds for the items of the
/// project alone (see [`Library::trust_in`](crate::Library::trust_in)). A list that does not count gives a note.
///
/// # Errors
///
/// A folder of documents cannot be read, or a document of the run does not count.
pub fn trust_store(
    spaces: &Spaces,
    run_documents: &[RunDocument<'_>],
    now: Timestamp,
) -> Result<(TrustStore, Vec<TrustNote>), ResolveError> {
    let TrustReading { store, documents, lists } = trust_entries(spaces, run_documents, now)?;
    let of_documents = documents.into_iter().flat_map(TrustEntry::into_notes);
    Ok((
        store,
        of_documents.chain(lists.into_iter().flat_map(RevocationEntry::into_notes)).collect(),
    ))
}

/// The trusted keys, and all files that were read for them.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustReading {
    /// The keys that count.
    pub store: TrustStore,
    /// The trust documents, in the order in which they were admitted.
    pub documents: Vec<TrustEntry>,
    /// The revocation lists, in the order in which they were admitted.
    pub lists: Vec<RevocationEntry>,
}

/// Reads the same files as [`trust_store`] and returns an entry for each, with or without remarks.
///
/// # Errors
///
/// Those of [`trust_store`].
pub fn trust_entries(
    spaces: &Spaces,
    run_documents: &[RunDocument<'_>],
    now: Timestamp,
) -> Result<TrustReading, ResolveError> {
    let mut admitting = Admitting::new(now);
    let (project, operator): (Vec<Root>, Vec<Root>) =
        spaces.roots().into_iter().partition(|root| root.space() == Space::Project);
    for root in &operator {
        admitting.root(root)?;
    }
    for root in operator.iter().chain(&project) {
        admitting.list(root)?;
    }
    for root in &project {
        admitting.root(root)?;
    }
    // A key that only this run trusts vouches for no document of the project.
    let numbered = || run_documents.iter().enumerate();
    let in_project = |document: &RunDocument<'_>| document.origin == Origin::Project;
    for (index, document) in numbered().filter(|(_, document)| in_project(document)) {
        admitting.run(index, document)?;
    }
    for (index, document) in numbered().filter(|(_, document)| !in_project(document)) {
        admitting.run(index, document)?;
    }
    let Admitting { store, entries: documents, lists, .. } = admitting;
    Ok(TrustReading { store, documents, lists })
}

/// A trust document that the operator named for this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunDocument<'a> {
    text: &'a str,
    origin: Origin,
}

impl<'a> RunDocument<'a> {
    /// Creates a document that lies outside of the project. It counts because the operator named it.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { text, origin: Origin::Run }
    }

    /// Creates a document that lies in the project. It counts only if a key of the operator's spaces signed it, because a
    /// project cannot vouch for itself by being named (SPEC 2.8).
    #[must_use]
    pub const fn in_project(text: &'a str) -> Self {
        Self { text, origin: Origin::Project }
    }
}

struct Document {
    location: Location,
    stem: String,
    text: String,
}

impl Document {
    /// Returns `true` if `store` can judge the signature: there is none, or its key is in `store` or is the
    /// document's own.
    fn is_judged_by(&self, store: &TrustStore) -> bool {
        match Unverified::locate(&self.text, CommentStyle::Hash) {
            Ok(signed) => {
                let signer = signed.key_id();
                store.find(signer).is_some() || names(&self.text).contains(&signer.to_string())
            }
            Err(_) => true,
        }
    }
}

/// The admission of documents in the order of precedence.
struct Admitting {
    store: TrustStore,
    entries: Vec<TrustEntry>,
    lists: Vec<RevocationEntry>,
    /// The refused documents, by the stem of the file name, which is an id of the key.
    refused: BTreeMap<String, Location>,
    now: Timestamp,
}

impl Admitting {
    fn new(now: Timestamp) -> Self {
        Self {
            store: TrustStore::new(),
            entries: Vec::new(),
            lists: Vec::new(),
            refused: BTreeMap::new(),
            now,
        }
    }

    /// Admits the revocation list of one root, if it has one.
    fn list(&mut self, root: &Root) -> Result<(), ResolveError> {
        if root.holds(REVOCATION_LIST)? {
            let origin = origin(root.space());
            self.lists.push(RevocationEntry::admit(root, &mut self.store, origin, self.now));
        }
        self.lists.extend(RevocationEntry::with_other_names(root)?);
        Ok(())
    }

    /// Admits the documents of one root. Whatever the file names, the document of a signer comes before those
    /// that it signed.
    fn root(&mut self, root: &Root) -> Result<(), ResolveError> {
        let mut waiting = self.documents(root)?;
        while !waiting.is_empty() {
            let ready = waiting.iter().position(|document| document.is_judged_by(&self.store));
            let document = waiting.remove(ready.unwrap_or(0));
            self.admit(document);
        }
        Ok(())
    }

    fn documents(&mut self, root: &Root) -> Result<Vec<Document>, ResolveError> {
        let mut documents = Vec::new();
        for (location, stem) in files(root)? {
            match root.read(&location) {
                Ok(Text::Disk(text)) => documents.push(Document { location, stem, text }),
                Ok(Text::Shipped(text)) => {
                    documents.push(Document { location, stem, text: text.to_owned() });
                }
                Err(error) => self.unreadable(location, stem, error),
            }
        }
        Ok(documents)
    }

    fn admit(&mut self, document: Document) {
        let Document { location, stem, text } = document;
        let hiding = names(&text).iter().find_map(|name| self.refused.get(name)).cloned();
        let admitted = match hiding {
            Some(by) => Err(TrustRemark::Hidden { by }),
            None => {
                let origin = origin(location.space);
                let admitted = self.store.admit(&text, Some(&stem), origin, self.now);
                admitted.map_err(TrustRemark::Refused)
            }
        };
        if let Err(TrustRemark::Refused(_)) = admitted {
            self.hide(&stem, &location);
        }
        let location = Some(location);
        let remarks = match admitted {
            Ok(admission) => self.remarks(admission, &text, location.as_ref()),
            Err(remark) => vec![remark],
        };
        let stem = Some(stem);
        let text = Some(text);
        self.entries.push(TrustEntry { location, remarks, stem, text });
    }

    /// Returns the remarks on a document that counts. A document that another space has, too, is worth one only if it
    /// says something else there.
    fn remarks(
        &self,
        admission: Admission,
        text: &str,
        location: Option<&Location>,
    ) -> Vec<TrustRemark> {
        let document = TrustDocument::parse(text).ok();
        let folder = |location: Option<&Location>| {
            location.map(|it| (it.space, it.path.parent().map(Path::to_owned)))
        };
        let is_repeated = |entry: &TrustEntry| {
            folder(entry.location.as_ref()) != folder(location)
                && entry
                    .document()
                    .zip(document.as_ref())
                    .is_some_and(|(it, document)| it.says_the_same_as(document))
        };
        let mut earlier =
            self.entries.iter().filter(|entry| entry.counts() && entry.is_for(&admission.key_id));
        let is_news = !earlier.all(is_repeated);
        let is_told =
            |note: &AdmissionNote| is_news || !matches!(note, AdmissionNote::AlreadyTrusted { .. });
        let notes = admission.notes.into_iter().filter(is_told);
        notes.map(TrustRemark::Admitted).collect()
    }

    fn run(&mut self, index: usize, document: &RunDocument<'_>) -> Result<(), ResolveError> {
        let RunDocument { text, origin } = *document;
        let admission = self.store.admit(text, None, origin, self.now);
        let admission = admission.map_err(|source| ResolveError::RunTrust {
            number: index + 1,
            source: Box::new(source),
        })?;
        let remarks = self.remarks(admission, text, None);
        let text = Some(text.to_owned());
        self.entries.push(TrustEntry { location: None, remarks, stem: None, text });
        Ok(())
    }

    fn unreadable(&mut self, location: Location, stem: String, error: ResolveError) {
        self.hide(&stem, &location);
        let remarks = vec![TrustRemark::Unreadable(error)];
        let location = Some(location);
        let stem = Some(stem);
        self.entries.push(TrustEntry { location, remarks, stem, text: None });
    }

    /// Makes every farther document for the key of `stem` not count.
    fn hide(&mut self, stem: &str, by: &Location) {
        self.refused.entry(stem.to_owned()).or_insert_with(|| by.clone());
    }
}

fn origin(space: Space) -> Origin {
    match space {
        Space::Project => Origin::Project,
        Space::User | Space::System | Space::Builtin => Origin::Operator,
    }
}

/// The document files of a root, each with the stem of its name.
fn files(root: &Root) -> Result<Vec<(Location, String)>, ResolveError> {
    let names: Vec<String> = match root {
        Root::Disk { ai, .. } => disk::names(&ai.join(TRUST_DOCUMENTS))?.unwrap_or_default(),
        Root::Shipped(files) => {
            let below = |path: &str| {
                path.strip_prefix(TRUST_DOCUMENTS)?.strip_prefix('/').map(str::to_owned)
            };
            files.iter().filter_map(|file| below(file.path)).collect()
        }
    };
    let file = |name: &String| {
        let stem = name.strip_suffix(".toml")?.to_owned();
        Some((root.location(&format!("{TRUST_DOCUMENTS}/{name}")), stem))
    };
    Ok(names.iter().filter_map(file).collect())
}

/// The ids of the key in a document, by which a file for it can be named. An unreadable document has none.
fn names(text: &str) -> Vec<String> {
    let Ok(document) = TrustDocument::parse(text) else { return Vec::new() };
    let key = document.key();
    vec![key.key_id().to_string(), key.fingerprint().to_string()]
}

/// The folder of trust documents of a space, below its `.ai` folder.
pub const TRUST_DOCUMENTS: &str = "config/keys/trusted";
