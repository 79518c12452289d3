//! The keys that count here: the operator's spaces say which, a project may only pass on.

use std::{collections::BTreeMap, fmt};

use rye_sign::{
    AdmissionNote, CommentStyle, Origin, Timestamp, TrustDocument, TrustError, TrustStore,
    Unverified,
};

use crate::{
    Location, ResolveError, Space, Spaces, disk,
    error::with_causes,
    root::{Root, Text},
};

/// Reads the trust documents of `spaces`, and `run_documents`, the texts that the operator named
/// for this run (SPEC 2.7, 2.8).
///
/// The user's documents come first, then those of the system roots and of the program, then the
/// project's, which count only when a key of the former signed them: a project cannot vouch for
/// itself. The run's come last, so that they vouch for nothing but themselves.
///
/// A document that does not count is a note, as long as it is not one of the run's. Where it is
/// refused in one of the operator's spaces, no farther document for that key counts either: it
/// might have been the one that revokes it.
///
/// # Errors
///
/// A folder of documents cannot be listed, or a document of the run does not count.
pub fn trust_store(
    spaces: &Spaces,
    run_documents: &[&str],
    now: Timestamp,
) -> Result<(TrustStore, Vec<TrustNote>), ResolveError> {
    let mut admitting = Admitting::new(now);
    let (project, operator): (Vec<Root>, Vec<Root>) =
        spaces.roots().into_iter().partition(|root| root.space() == Space::Project);
    for root in operator.iter().chain(&project) {
        admitting.root(root)?;
    }
    for (index, text) in run_documents.iter().enumerate() {
        admitting.run(index, text)?;
    }
    Ok((admitting.store, admitting.notes))
}

/// Something that the operator should know of a trust document; `Display` is the whole message.
#[non_exhaustive]
#[derive(Debug)]
pub struct TrustNote {
    /// The document, or `None` for one that was named for this run.
    pub location: Option<Location>,
    /// What there is to know.
    pub remark: TrustRemark,
}

/// What there is to know of a trust document.
#[non_exhaustive]
#[derive(Debug)]
pub enum TrustRemark {
    /// It counts, with this reservation.
    Admitted(AdmissionNote),
    /// It does not count.
    Refused(TrustError),
    /// It cannot be read, and so does not count.
    Unreadable(ResolveError),
    /// It does not count, because a nearer document for the same key was refused.
    Hidden {
        /// The nearer document.
        by: Location,
    },
}

impl fmt::Display for TrustNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.location {
            Some(location) => write!(f, "trust document `{location}`: ")?,
            None => f.write_str("trust document of this run: ")?,
        }
        match &self.remark {
            TrustRemark::Admitted(note) => note.fmt(f),
            TrustRemark::Refused(error) => f.write_str(&with_causes(error)),
            TrustRemark::Unreadable(error) => f.write_str(&with_causes(error)),
            TrustRemark::Hidden { by } => {
                write!(
                    f,
                    "it does not count, because `{by}` for the same key was refused; repair that one"
                )
            }
        }
    }
}

struct Document {
    location: Location,
    stem: String,
    text: String,
}

impl Document {
    /// Whether `store` can judge the signature: it has none, or one by its own or a known key.
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

/// Admission in the order of precedence.
struct Admitting {
    store: TrustStore,
    notes: Vec<TrustNote>,
    /// By the name of the file, which is an id of the key that the document was meant for.
    refused: BTreeMap<String, Location>,
    now: Timestamp,
}

impl Admitting {
    fn new(now: Timestamp) -> Self {
        Self { store: TrustStore::new(), notes: Vec::new(), refused: BTreeMap::new(), now }
    }

    /// Admits the documents of one root, signers before what they signed whatever the file names.
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
                Err(error) => self.refuse(location, stem, TrustRemark::Unreadable(error)),
            }
        }
        Ok(documents)
    }

    fn admit(&mut self, document: Document) {
        let Document { location, stem, text } = document;
        if let Some(by) = names(&text).iter().find_map(|name| self.refused.get(name)) {
            let remark = TrustRemark::Hidden { by: by.clone() };
            self.note(location, remark);
            return;
        }
        let origin = match location.space {
            Space::Project => Origin::Project,
            Space::User | Space::System | Space::Builtin => Origin::Operator,
        };
        match self.store.admit(&text, Some(&stem), origin, self.now) {
            Ok(admission) => {
                for note in admission.notes {
                    self.note(location.clone(), TrustRemark::Admitted(note));
                }
            }
            Err(error) => self.refuse(location, stem, TrustRemark::Refused(error)),
        }
    }

    fn run(&mut self, index: usize, text: &str) -> Result<(), ResolveError> {
        let admission = self.store.admit(text, None, Origin::Run, self.now);
        let admission = admission.map_err(|source| ResolveError::RunTrust {
            number: index + 1,
            source: Box::new(source),
        })?;
        let note = |note| TrustNote { location: None, remark: TrustRemark::Admitted(note) };
        self.notes.extend(admission.notes.into_iter().map(note));
        Ok(())
    }

    fn refuse(&mut self, location: Location, stem: String, remark: TrustRemark) {
        self.refused.entry(stem).or_insert_with(|| location.clone());
        self.note(location, remark);
    }

    fn note(&mut self, location: Location, remark: TrustRemark) {
        self.notes.push(TrustNote { location: Some(location), remark });
    }
}

/// The document files of a root with their names' stems.
fn files(root: &Root) -> Result<Vec<(Location, String)>, ResolveError> {
    let names: Vec<String> = match root {
        Root::Disk { ai, .. } => disk::names(&ai.join(FOLDER))?.unwrap_or_default(),
        Root::Shipped(files) => {
            let below =
                |path: &str| path.strip_prefix(FOLDER)?.strip_prefix('/').map(str::to_owned);
            files.iter().filter_map(|file| below(file.path)).collect()
        }
    };
    let file = |name: &String| {
        let stem = name.strip_suffix(".toml")?.to_owned();
        Some((root.location(&format!("{FOLDER}/{name}")), stem))
    };
    Ok(names.iter().filter_map(file).collect())
}

/// The ids of the key in a document, by which a file for it can be named; none if it is unreadable.
fn names(text: &str) -> Vec<String> {
    let Ok(document) = TrustDocument::parse(text) else { return Vec::new() };
    let key = document.key();
    vec![key.key_id().to_string(), key.fingerprint().to_string()]
}

const FOLDER: &str = "config/keys/trusted";
