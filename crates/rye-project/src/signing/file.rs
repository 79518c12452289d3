//! Signing a file where it lies, whole or not at all (SPEC 2.12).

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye_files::read_plain;
use rye_resolve::{FilePathError, ItemId, fault_of_place};
use rye_sandbox::temporary_file;
use rye_sign::{CommentStyle, Digest, KeyId, PublicKey, SigningKey, Unverified};
use rye_types::{ItemKind, Timestamp};
use serde_json::{Value, json};
use strum::IntoStaticStr;

use super::{OtherSignature, SignError, with_signature};
use crate::outcome::Class;
use crate::place::{LONGEST_FILE, place};
use crate::project::Project;

/// A file that is signed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignedFile {
    /// The status: a new signature, or an older one that a new one would equal.
    pub status: SigningStatus,
    /// The file.
    pub path: PathBuf,
    /// The item; `None` for a trust document.
    pub item: Option<(ItemKind, ItemId)>,
    /// The key that signed it.
    pub key_id: KeyId,
    /// The time that the signature states.
    pub at: Timestamp,
    /// The digest that the signature covers: the SHA-256 over all but the signature line, with LF as line
    /// ends.
    pub digest: Digest,
    /// The file with the signature of a plain file; `None` for a file that carries its signature (SPEC 17.3).
    pub signature_path: Option<PathBuf>,
    /// The signature of another key that was there before.
    pub replaced: Option<OtherSignature>,
    /// The time of the signature that was there before over another content (SPEC D20).
    pub changed_since: Option<Timestamp>,
}

/// The ways in which files are signed that differ from the usual one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "callers write its literals")]
pub struct SignOptions {
    /// Sign a file also when it is signed already as it would be.
    pub anew: bool,
    /// Write nothing.
    pub dry_run: bool,
    /// Leave a file alone that another key signed.
    pub keep_others: bool,
}

/// The result of signing a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum SigningStatus {
    /// It has a new signature.
    Signed,
    /// Its signature is the one that the key would make here, of an earlier time; the file was left alone.
    Unchanged,
}

impl SigningStatus {
    /// `signed` or `unchanged`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl SignedFile {
    /// `{"path", "kind", "id", "status", "signature": {"key_id", "timestamp", "hash"}, "replaced",
    /// "changed_since"}`; the status is `signed` or `unchanged`. `replaced` is that of [`OtherSignature::to_json`]. The signature of a
    /// plain file has the `path` of its own file, too.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let (kind, id) = self.item.as_ref().map(|(kind, id)| (kind.as_str(), id.as_str())).unzip();
        let mut row = json!({
            "path": self.path.to_string_lossy(),
            "kind": kind,
            "id": id,
            "status": self.status.as_str(),
            "signature": {
                "key_id": self.key_id.as_str(),
                "timestamp": self.at.to_string(),
                "hash": self.digest.to_string(),
            },
            "replaced": self.replaced.as_ref().map(OtherSignature::to_json),
            "changed_since": self.changed_since.map(|at| at.to_string()),
        });
        if let Some(path) = &self.signature_path {
            row["signature"]["path"] = path.to_string_lossy().into();
        }
        row
    }
}

/// The reason why a file was not signed where it lies.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignFileError {
    /// Another process wrote the file between reading and writing.
    #[error(
        "`{}` was changed by somebody else in the meantime and is left as it is; look at it, and try again",
        .path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// Another key signed the file, whose signature is not replaced unasked.
    #[error(
        "`{}` is signed by the key {}; the operator alone takes its place, by the file's own path: `rye sign {}`",
        .path.display(), .signature.signer(), .path.display()
    )]
    OfOtherKey {
        /// The file.
        path: PathBuf,
        /// The signature.
        signature: Box<OtherSignature>,
    },
    /// The file is reached by a link inside of its space.
    #[error("`{}` is reached by a link, and a signature holds for one name; {}", .path.display(), instead_of_link(target))]
    Link {
        /// The path of the file, as it was named.
        path: PathBuf,
        /// The file that it leads to.
        target: PathBuf,
    },
    /// The item is in no space that can be written.
    #[error(
        "{kind} `{id}` is in the {space} space, which is read only; copy it with `rye load --to project`, then sign that"
    )]
    ReadOnly {
        /// The sort of item.
        kind: ItemKind,
        /// The item.
        id: ItemId,
        /// The space.
        space: rye_resolve::Space,
    },
    /// A plain file whose path no directive can name (SPEC 17.3).
    #[error(transparent)]
    NoFileOfContext(FilePathError),
    /// The file lies among items and can be none there: by its name, its type or a link.
    #[error(transparent)]
    Misplaced(rye_resolve::ResolveError),
    /// Its text cannot be signed.
    #[error(transparent)]
    Sign(#[from] SignError),
    /// The system refused to read or write.
    #[error("cannot {verb} `{}`", .path.display())]
    Io {
        /// `read` or `write`.
        verb: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

impl SignFileError {
    /// Returns the class of the error.
    #[must_use]
    pub fn class(&self) -> Class {
        match self {
            Self::OfOtherKey { .. } => Class::Refused,
            _ => Class::Failed,
        }
    }

    /// Returns the problems of the text with their places, if the text is the reason of the error.
    #[must_use]
    pub fn faulty(&self) -> Option<&crate::Checked> {
        match self {
            Self::Sign(SignError::Faulty { checked }) => Some(checked),
            _ => None,
        }
    }
}

impl Project {
    /// Refuses a text that another key than `own` signed.
    pub(crate) fn refuse_other(
        &self,
        path: &Path,
        text: &str,
        own: &PublicKey,
    ) -> Result<(), SignFileError> {
        match self.other_signature(path, text, own) {
            None => Ok(()),
            Some(signature) => {
                let signature = Box::new(signature);
                Err(SignFileError::OfOtherKey { path: path.to_owned(), signature })
            }
        }
    }
}

/// Signs the file at `path`, unless `judge` refuses the text that would be signed. `judge` returns the signature of another
/// key that the new one replaces. A file that is signed already as it would be is left alone.
pub(crate) fn sign_judged_file<E: From<SignFileError>>(
    path: &Path,
    key: &SigningKey,
    at: Timestamp,
    options: SignOptions,
    judge: impl FnOnce(&str) -> Result<Option<OtherSignature>, E>,
) -> Result<SignedFile, E> {
    check_own_place(path)?;
    let old = text(path)?;
    refuse_unsigned_link(path, &old, key, at)?;
    let replaced = judge(&old)?;
    if let Some(stated) = standing(path, &old, key, at)?.filter(|_| !options.anew) {
        return Ok(signed_file(SigningStatus::Unchanged, path, &old, key, stated));
    }
    let (new, file) = prepare(path, &old, key, at)?;
    if !options.dry_run {
        replace_file(path, &old, &new)?;
    }
    Ok(SignedFile { replaced, ..file })
}

/// Returns the time that the signature states, if the signature is the one of this key over this text at that
/// time. Signatures are deterministic, so that one comparison is enough.
fn standing(
    path: &Path,
    text: &str,
    key: &SigningKey,
    at: Timestamp,
) -> Result<Option<Timestamp>, SignFileError> {
    let stated = locate(path, text).map(|line| line.stated_time());
    let Some(stated) = stated.filter(|stated| *stated <= at) else { return Ok(None) };
    Ok((with_signature(path, text, key, stated)? == text).then_some(stated))
}

/// The text with its new signature, and the report about it.
fn prepare(
    path: &Path,
    old: &str,
    key: &SigningKey,
    at: Timestamp,
) -> Result<(String, SignedFile), SignFileError> {
    refuse_link(path)?;
    let new = with_signature(path, old, key, at)?;
    let changed = locate(path, old).filter(|line| !line.is_as_stated());
    let changed_since = changed.map(|line| line.stated_time());
    let file =
        SignedFile { changed_since, ..signed_file(SigningStatus::Signed, path, &new, key, at) };
    Ok((new, file))
}

fn signed_file(
    status: SigningStatus,
    path: &Path,
    text: &str,
    key: &SigningKey,
    at: Timestamp,
) -> SignedFile {
    SignedFile {
        status,
        path: path.to_owned(),
        item: place(path),
        key_id: key.public().key_id().clone(),
        at,
        digest: Digest::of_content(text),
        signature_path: None,
        replaced: None,
        changed_since: None,
    }
}

/// Refuses a file that is no item where it lies.
fn check_own_place(path: &Path) -> Result<(), SignFileError> {
    fault_of_place(path).map_or(Ok(()), |fault| Err(SignFileError::Misplaced(fault)))
}

/// Refuses to sign anew what is reached by a link. A signature binds a name: it would be bound to the link's name and written where
/// another one holds.
fn refuse_link(path: &Path) -> Result<(), SignFileError> {
    match linked_target(path) {
        Some(target) => Err(SignFileError::Link { path: path.to_owned(), target }),
        None => Ok(()),
    }
}

/// Refuses what is reached by a link, unless it is signed under the link's name already.
fn refuse_unsigned_link(
    path: &Path,
    text: &str,
    key: &SigningKey,
    at: Timestamp,
) -> Result<(), SignFileError> {
    match standing(path, text, key, at) {
        Ok(Some(_)) => Ok(()),
        _ => refuse_link(path),
    }
}

/// Returns the target of a file that is reached by a link below its `.ai` folder.
pub(crate) fn linked_target(path: &Path) -> Option<PathBuf> {
    let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
    let ai = path.ancestors().skip(1).find(is_ai)?;
    let mut within = path.ancestors().take_while(|part| *part != ai);
    within.any(Path::is_symlink).then(|| path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}

/// Returns the way to a signed item where a link is now.
pub(crate) fn instead_of_link(target: &Path) -> String {
    let target_name = target.display();
    match place(target) {
        Some(_) => format!("sign the item that it leads to, `{target_name}`, and name that one"),
        None => format!("put a copy of `{target_name}` in the place of the link"),
    }
}

/// Returns the target of the link by which `path` leaves its `.ai` folder. A file there is no item (SPEC
/// 1.3), whatever its name is here. For a file that does not exist yet, the folder counts.
pub(crate) fn leads_out(path: &Path) -> Option<PathBuf> {
    let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
    let ai = path.ancestors().skip(1).find(is_ai)?.canonicalize().ok()?;
    let real = match path.canonicalize() {
        Ok(real) => real,
        Err(_) => path.parent()?.canonicalize().ok()?,
    };
    (!real.starts_with(ai)).then_some(real)
}

pub(crate) fn text(path: &Path) -> Result<String, SignFileError> {
    let bytes = read_plain(path, LONGEST_FILE);
    let text = bytes.and_then(|bytes| {
        rye_files::text(bytes).map_err(|error| io::Error::other(format!("it {error}")))
    });
    text.map_err(|source| SignFileError::Io { verb: "read", path: path.to_owned(), source })
}

/// Writes `text` in place of `old`, whole or not at all, and keeps the file's mode. A file that holds something else by now
/// is left alone: what was looked at is what is replaced.
///
/// # Errors
///
/// When it was changed meanwhile, or the system refuses.
#[expect(clippy::disallowed_methods, reason = "async callers use the blocking pool")]
pub fn replace_file(path: &Path, old: &str, text: &str) -> Result<(), SignFileError> {
    let written = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        let mut temporary = temporary_file(folder, 0o600).map_err(without_path)?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().set_permissions(std::fs::metadata(path)?.permissions())?;
        temporary.as_file().sync_all()?;
        if read_plain(path, LONGEST_FILE)? != old.as_bytes() {
            return Ok(false);
        }
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(true)
    };
    match written() {
        Ok(true) => Ok(()),
        Ok(false) => Err(SignFileError::Changed { path: path.to_owned() }),
        Err(source) => Err(SignFileError::Io { verb: "write", path: path.to_owned(), source }),
    }
}

/// Makes a file that is not there yet, as any new file under the umask, whole or not at all.
#[expect(clippy::disallowed_methods, reason = "async callers use the blocking pool")]
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = temporary_file(folder, 0o666).map_err(without_path)?;
    temporary.write_all(text.as_bytes())?;
    temporary.as_file().sync_all()?;
    temporary.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

/// Returns the system's error without the name of a temporary file, which means nothing to a reader.
fn without_path(error: io::Error) -> io::Error {
    if error.get_ref().is_some() { error.kind().into() } else { error }
}

/// The signature line, if there is one that can be read.
fn locate<'a>(path: &Path, text: &'a str) -> Option<Unverified<'a>> {
    let style = CommentStyle::of_extension(path.extension()?.to_str()?)?;
    Unverified::locate(text, style).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_changed_in_the_meantime_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("item.md");
        std::fs::write(&path, "checked").expect("written");
        replace_file(&path, "checked", "signed").expect("replaced");
        let refused =
            replace_file(&path, "checked", "signed twice").map_err(|error| error.to_string());
        assert!(refused.is_err_and(|message| message.contains("was changed by somebody else")));
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "signed");
        let left: Vec<_> = std::fs::read_dir(folder.path()).expect("listed").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }
}
