//! Trust documents and the revocation list of a project, which the operator's key vouches for (SPEC 2.8).

use std::fs;
use std::path::{Path, PathBuf};

use rye::caps::{Grant, Pattern};
use rye::resolve::{
    REVOCATION_LIST, RevocationEntry, Space, TRUST_DOCUMENTS, TrustEntry, is_revocation_list,
};
use rye::sign::{
    CommentStyle, KeyId, Origin, RevocationList, RevokedKey, SigningKey, TrustDocument, TrustedKey,
    sign,
};

use super::listing::grants_text;
use super::{Known, is_named_for, space};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::files;
use crate::key_store::{create_beside, end_of_trust, signed_text, signing_key_if_any};

/// A document that the operator's key may vouch for in the project.
pub(super) struct ProjectDocument<'a> {
    path: PathBuf,
    text: String,
    /// The file that is there already, and whether it stays.
    existing: Option<Existing<'a>>,
    /// The id of the operator's key, if the project has a document for that key, too.
    carried_signer: Option<KeyId>,
}

enum Existing<'a> {
    /// It says the same and counts.
    Stays,
    /// Nobody vouches for this text, which was offered for that.
    Unvouched(&'a str),
}

impl<'a> ProjectDocument<'a> {
    /// Checks everything that prevents the document from counting in the project. `source` is the text that was offered.
    pub(super) fn of(
        document: &TrustDocument,
        source: &str,
        known: &'a Known,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let folder = ai_folder(environment)?;
        let (key, trusted) = vouching_key(known, environment)?;
        check_bound(document, trusted)?;
        let key_id = document.key().key_id();
        let (path, existing) = match existing(document, known) {
            None => (folder.join(TRUST_DOCUMENTS).join(format!("{key_id}.toml")), None),
            Some((path, entry)) => {
                let is_same = entry.document().as_ref() == Some(document);
                let text = entry.text().unwrap_or_default();
                let existing = match entry.counts() {
                    true if is_same => Existing::Stays,
                    false if is_same || text == source => Existing::Unvouched(text),
                    _ => return Err(other_document(key_id, path)),
                };
                (path.to_owned(), Some(existing))
            }
        };
        let own = key.public().key_id().clone();
        let is_carried = known.of(&own).iter().any(|entry| space(entry) == Some(Space::Project));
        let carried_signer = is_carried.then_some(own);
        Ok(Self { path, text: signed_text(document, &key), existing, carried_signer })
    }

    /// Returns a warning if others may trust the operator's key by the project alone. For them, it vouches for no key.
    pub(super) fn warning(&self) -> Option<String> {
        let signer = self.carried_signer.as_ref()?;
        Some(format!(
            "the document counts only for those who trust your key `{signer}` themselves, in their user space or a system root: \
             the project has a document for your key, and a key that only a project's document trusts vouches for no other"
        ))
    }

    /// Writes the document, and returns its path.
    pub(super) fn write(self) -> Result<PathBuf, Failure> {
        match self.existing {
            Some(Existing::Stays) => {}
            Some(Existing::Unvouched(old)) => replace(&self.path, old, &self.text)?,
            None => create(&self.path, &self.text)?,
        }
        Ok(self.path)
    }
}

/// Returns the `.ai` folder of the project. A link in its place would lead to another project, or to the user space.
fn ai_folder(environment: &Environment) -> Result<PathBuf, Failure> {
    let folder = environment.project()?.join(".ai");
    refuse_link(&folder)?;
    Ok(folder)
}

fn refuse_link(path: &Path) -> Result<(), Failure> {
    if path.is_symlink() {
        return Err(Failure::refused(format!(
            "`{}` is a link, through which nothing is written; remove it first",
            path.display()
        )));
    }
    Ok(())
}

/// The project's document for the key of `document`: one that counts, if there is one. A copy under another name never counts.
fn existing<'k>(document: &TrustDocument, known: &'k Known) -> Option<(&'k Path, &'k TrustEntry)> {
    let entries = known.of(document.key().key_id()).into_iter();
    let of_project = entries.filter(|entry| space(entry) == Some(Space::Project));
    let placed =
        of_project.filter_map(|entry| Some((entry.location.as_ref()?.path.as_path(), entry)));
    let named: Vec<_> = placed.filter(|(path, _)| is_named_for(document, path)).collect();
    let counting = named.iter().find(|(_, entry)| entry.counts());
    counting.or_else(|| named.first()).copied()
}

fn other_document(key_id: &KeyId, path: &Path) -> Failure {
    Failure::failed(format!(
        "the project has another trust document for the key `{key_id}`, `{}`; `rye trust show {key_id}` shows it; to replace it, remove that file first",
        path.display()
    ))
}

/// Returns the operator's key and the trust in it, if what it signs in a project counts.
fn vouching_key<'k>(
    known: &'k Known,
    environment: &Environment,
) -> Result<(SigningKey, &'k TrustedKey), Failure> {
    let Some(key) = signing_key_if_any(environment)? else {
        return Err(Failure::usage(
            "a project vouches for nothing by itself, so your key has to sign this, and there is none; make one with `rye keys generate`",
        ));
    };
    let id = key.public().key_id().clone();
    let trusted = known.store.find(&id).filter(|trusted| *trusted.key() == key.public());
    let Some(trusted) = trusted.filter(|trusted| trusted.origin() == Origin::Operator) else {
        return Err(Failure::refused(format!(
            "neither your user space nor a system root trusts your key `{id}`, so that it vouches for nothing; `rye keys export --output me.pem` and `rye trust add me.pem --owner NAME` trust it"
        )));
    };
    match end_of_trust(trusted) {
        Some(how) => Err(Failure::refused(format!(
            "your key `{id}` {how}, so that it vouches for nothing; make another with `rye keys generate`"
        ))),
        None => Ok((key, trusted)),
    }
}

/// Refuses a document that states more than the operator's key may grant, because less would count than it says.
fn check_bound(document: &TrustDocument, own: &TrustedKey) -> Result<(), Failure> {
    let id = own.key().key_id();
    for list in own.grants() {
        let problem = match document.grants() {
            None => Some("the document has no limit".to_owned()),
            Some(grants) => {
                let problem = grant(list)?.covers(&grant(grants)?).err();
                problem.map(|problem| problem.to_string())
            }
        };
        if let Some(problem) = problem {
            let told = grants_text(std::slice::from_ref(list));
            return Err(Failure::refused(format!(
                "your key `{id}` may grant {told}, and vouches for no more: {problem}; narrow the document with `--grants '{}'`",
                list.join(",")
            )));
        }
    }
    Ok(())
}

fn grant(patterns: &[String]) -> Result<Grant, Failure> {
    let parsed: Result<Vec<Pattern>, _> = patterns.iter().map(|text| text.parse()).collect();
    let parsed = parsed.map_err(|error| Failure::failed(error.to_string()))?;
    Ok(parsed.into_iter().collect())
}

/// Adds a key to the revocation list of the project, and returns the path of the list.
///
/// # Errors
///
/// The operator's key cannot sign the list, the present list does not count, or it names the key already.
pub(super) fn revoke(
    entry: &RevokedKey,
    known: &Known,
    environment: &Environment,
) -> Result<PathBuf, Failure> {
    let path = ai_folder(environment)?.join(REVOCATION_LIST);
    refuse_link(&path)?;
    let (key, _) = vouching_key(known, environment)?;
    let is_of_project = |list: &&RevocationEntry| {
        list.location.space == Space::Project && is_revocation_list(&list.location.path)
    };
    let present = known.lists.iter().find(is_of_project);
    let Some(present) = present else {
        let text = RevocationList::default().with(entry.clone()).to_toml();
        create(&path, &signed_list(&text, &key))?;
        return Ok(path);
    };
    let path = &present.location.path;
    let (true, Some(list), Some(old)) = (present.counts(), present.list(), present.text()) else {
        let reasons: Vec<String> = present.remarks.iter().map(ToString::to_string).collect();
        // A new signature would vouch for entries that nobody vouches for.
        return Err(Failure::refused(format!(
            "the list `{}` does not count, so that nothing is added to it: {}",
            path.display(),
            reasons.join("; ")
        )));
    };
    let is_of_key = |other: &&RevokedKey| is_same(&other.key_id, &entry.key_id, known);
    if let Some(before) = list.entries().iter().find(is_of_key) {
        return Err(Failure::failed(format!(
            "the key `{}` is revoked since {} by `{}`",
            entry.key_id,
            before.at,
            path.display()
        )));
    }
    let list = list.with(entry.clone());
    // What the file says besides stays, unless its form does not allow to add an entry at its end.
    let longer = format!("{}\n{}", old.trim_end(), entry.to_toml());
    let is_fine = RevocationList::parse(&longer).is_ok_and(|read| read == list);
    let text = if is_fine { longer } else { list.to_toml() };
    replace(path, old, &signed_list(&text, &key))?;
    Ok(path.clone())
}

/// Returns `true` if both ids name one key, in either notation.
fn is_same(one: &KeyId, other: &KeyId, known: &Known) -> bool {
    let key = known.store.find(other);
    one == other || key.is_some_and(|key| key.key().is_named(one))
}

fn signed_list(text: &str, key: &SigningKey) -> String {
    sign(text, CommentStyle::Hash, &RevocationList::item_name(), key, Environment::now())
}

/// Writes a new file of the project.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    files::refuse_links(path)?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|source| Failure::io("make", folder, &source))?;
    }
    create_beside(path, text, 0o644)
}

fn replace(path: &Path, old: &str, text: &str) -> Result<(), Failure> {
    files::refuse_links(path)?;
    files::replace(path, old, text)
}
