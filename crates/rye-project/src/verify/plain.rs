//! Plain files of a project, whose signatures are kept beside them (SPEC 17.3).

use std::path::Path;

use rye_files::{read_plain, text};
use rye_resolve::{FilePath, FilePathError, ItemId, ResolveError, is_revocation_list};
use rye_sign::{Provenance, RevocationList, TrustDocument, Unverified};
use rye_types::{ItemKind, Timestamp};

use super::{VerifyError, is_among_keys, item_name};
use crate::place::LONGEST_FILE;
use crate::project::Project;

/// Returns `true` for a file that can be signed as a plain file alone: it lies in no `.ai` folder, and is no document about keys, which
/// is signed wherever it lies. `path` is absolute.
#[must_use]
pub fn is_plain_file(path: &Path) -> bool {
    let is_ai = |folder: &Path| folder.file_name().is_some_and(|name| name == ".ai");
    if path.ancestors().any(is_ai) {
        return false;
    }
    if path.extension().is_none_or(|extension| extension != "toml") {
        return true;
    }
    let is_about_keys =
        |text: String| TrustDocument::parse(&text).is_ok() || RevocationList::parse(&text).is_ok();
    let found = read_plain(path, LONGEST_FILE).ok().and_then(|bytes| text(bytes).ok());
    !(is_among_keys(path) || is_revocation_list(path) || found.is_some_and(is_about_keys))
}

impl Project {
    /// Returns the path of a plain file in the project. `None` for a file elsewhere.
    ///
    /// A file is below the project if one of its folders is the project's. Links below that count as they are written.
    pub(crate) fn plain_file(&self, path: &Path) -> Option<Result<FilePath, FilePathError>> {
        let project = self.library.spaces().project()?;
        FilePath::below(project, path).or_else(|| {
            let real = project.canonicalize().ok()?;
            let is_project = |folder: &&Path| folder.canonicalize().is_ok_and(|it| it == real);
            FilePath::below(path.ancestors().skip(1).find(is_project)?, path)
        })
    }

    /// Returns the plain file of the project at `path`, if there is a file with its signature. At the place of such a signature, it is the
    /// file that the signature is for.
    pub(crate) fn signed_file_at(&self, path: &Path) -> Option<FilePath> {
        let project = self.library.spaces().project()?;
        if let Some(file) = FilePath::of_signature(project, path) {
            return Some(file);
        }
        let file = Some(path).filter(|path| is_plain_file(path));
        let file = file.and_then(|path| self.plain_file(path))?.ok()?;
        project.join(file.signature()).symlink_metadata().is_ok().then_some(file)
    }

    /// Returns the provenance of a plain file, by the policy and the keys of this value.
    pub(crate) fn file_provenance(&self, file: &FilePath) -> Result<Provenance, VerifyError> {
        match self.library.without_drafts().file(file) {
            Ok(item) => Ok(item.content.provenance().clone()),
            Err(ResolveError::Unverified { source, .. }) => Err(VerifyError::Signature(*source)),
            Err(error) => Err(VerifyError::Misplaced(error)),
        }
    }

    /// Returns the time at which the operator signed the former content of a plain file that is a draft now; `None` for other files.
    pub(crate) fn file_changed_since(&self, path: &FilePath) -> Option<Timestamp> {
        let own = self.own_key.as_ref()?;
        let (location, text, signature) = self.library.file_texts(path).ok()?;
        let unverified = Unverified::detached(&text, signature.as_deref()?).ok()?;
        let name = item_name(ItemKind::Knowledge, &ItemId::of_file(path));
        let draft =
            unverified.draft(&name, own, self.library.trust_in(location.space), self.now)?;
        Some(draft.signature().at())
    }
}
