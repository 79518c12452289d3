//! Plain files of a project, whose signatures are kept beside them (SPEC 17.3).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rye_resolve::{FilePath, ItemId};
use rye_sign::{Digest, Provenance, PublicKey, SigningKey, Unverified, sign_detached};
use rye_types::{ItemKind, Timestamp};

use super::file::{create, replace_file};
use super::other::{OtherSignature, fault};
use super::{SignError, SignFileError, SignOptions, SignedFile, SigningStatus};
use crate::project::Project;
use crate::verify::item_name;

/// A plain file that is about to be signed, with the signature that it has now.
pub(super) struct Signing {
    file: FilePath,
    /// The text of the plain file.
    text: String,
    /// The file with the signature.
    path: PathBuf,
    /// The text of that file now.
    old: Option<String>,
}

impl Project {
    /// Reads what signing a plain file looks at.
    pub(super) fn signing_of(&self, path: &Path) -> Result<Signing, SignFileError> {
        let outside = || {
            let project = self.library.spaces().project().map(Path::to_owned);
            SignFileError::Sign(SignError::OutsideProject { path: path.to_owned(), project })
        };
        let file =
            self.plain_file(path).ok_or_else(outside)?.map_err(SignFileError::NoFileOfContext)?;
        let texts = self.library.file_texts(&file).map_err(SignFileError::Misplaced)?;
        let (_, text, old) = texts;
        let project = self.library.spaces().project().ok_or_else(outside)?;
        let path = project.join(file.signature());
        Ok(Signing { file, text, path, old })
    }

    /// Signs the plain file at `path`, as [`sign_file_with`](Self::sign_file_with) signs an item. Its signature is written into a file
    /// of its own, and the file itself is left as it is.
    pub(super) fn sign_plain_file(
        &self,
        path: &Path,
        key: &SigningKey,
        at: Timestamp,
        options: SignOptions,
    ) -> Result<SignedFile, SignFileError> {
        let signing = self.signing_of(path)?;
        let replaced = self.other_signature_of_file(&signing, &key.public());
        if let Some(signature) = replaced.clone().filter(|_| options.keep_others) {
            let signature = Box::new(signature);
            return Err(SignFileError::OfOtherKey { path: path.to_owned(), signature });
        }
        let line = signing.line();
        let changed = line.as_ref().filter(|line| !line.is_as_stated());
        let changed_since = changed.map(Unverified::stated_time);
        let stated = line.as_ref().map(Unverified::stated_time).filter(|stated| *stated <= at);
        let standing = stated.filter(|stated| {
            let expected = signing.signature(key, *stated);
            signing.old.as_deref().map(str::trim_end) == Some(expected.trim_end())
        });
        let file = |status, at| SignedFile {
            status,
            path: path.to_owned(),
            item: Some((ItemKind::Knowledge, signing.id())),
            key_id: key.public().key_id().clone(),
            at,
            digest: Digest::of_text(&signing.text),
            signature_path: Some(signing.path.clone()),
            replaced: None,
            changed_since: None,
        };
        if let Some(stated) = standing.filter(|_| !options.anew) {
            return Ok(file(SigningStatus::Unchanged, stated));
        }
        if !options.dry_run {
            signing.write(&signing.signature(key, at))?;
        }
        Ok(SignedFile { replaced, changed_since, ..file(SigningStatus::Signed, at) })
    }

    /// Returns the signature of a plain file that another key than `own` made.
    fn other_signature_of_file(
        &self,
        signing: &Signing,
        own: &PublicKey,
    ) -> Option<OtherSignature> {
        let key_id = signing.line()?.key_id().clone();
        if own.is_named(&key_id) {
            return None;
        }
        let without = |fault| OtherSignature { key_id, owner: None, grants: Vec::new(), fault };
        Some(match self.file_provenance(&signing.file) {
            Ok(Provenance::Signed(signed)) => OtherSignature {
                owner: signed.owner().map(str::to_owned),
                grants: signed.grants().to_vec(),
                ..without(None)
            },
            Ok(_) => without(None),
            Err(error) => without(Some(fault(&error))),
        })
    }
}

impl Signing {
    fn id(&self) -> ItemId {
        ItemId::of_file(&self.file)
    }

    /// The place of the file with the signature, and the text that it has once the plain file is signed.
    pub(super) fn to_be(&self, key: &SigningKey, at: Timestamp) -> (PathBuf, String) {
        (self.path.clone(), self.signature(key, at))
    }

    /// The signature line that there is, if it can be read.
    fn line(&self) -> Option<Unverified<'_>> {
        Unverified::detached(&self.text, self.old.as_deref()?).ok()
    }

    fn signature(&self, key: &SigningKey, at: Timestamp) -> String {
        sign_detached(&self.text, &item_name(ItemKind::Knowledge, &self.id()), key, at)
    }

    /// Writes the file with the signature, whole or not at all.
    fn write(&self, signature: &str) -> Result<(), SignFileError> {
        let failed = |path: &Path, source: io::Error| {
            let path = path.to_owned();
            SignFileError::Io { verb: "write", path, source }
        };
        if let Some(old) = &self.old {
            return replace_file(&self.path, old, signature);
        }
        let folder = self.path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|source| failed(folder, source))?;
        create(&self.path, signature).map_err(|source| failed(&self.path, source))
    }
}
