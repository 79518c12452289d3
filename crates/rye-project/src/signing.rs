//! Signing an item's text (SPEC 2.12).

mod file;
mod other;
mod plain;
mod together;

use std::path::{Path, PathBuf};

use rye_caps::Pattern;
use rye_resolve::{ItemId, is_revocation_list};
use rye_sign::{
    CommentStyle, ItemName, RevocationError, RevocationList, SigningKey, TrustDocument, TrustError,
    sign,
};
use rye_types::{ItemKind, Timestamp};

pub use self::file::{SignFileError, SignOptions, SignedFile, SigningStatus, replace_file};
pub(crate) use self::file::{
    create, instead_of_link, leads_out, linked_target, sign_judged_file, text,
};
pub use self::other::{OtherSignature, SignatureFault, grants_text};
pub use self::together::SignedFiles;
use crate::check::{Checked, Finding, check};
use crate::place::place;
use crate::verify::{is_among_keys, item_name};

/// The reason why a file was not signed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SignError {
    /// The item has problems, which a signature would only seal.
    #[error("`{}` has problems that bar its signature", .checked.path.display())]
    Faulty {
        /// Every problem, with its place.
        checked: Checked,
    },
    /// The file is no item, so there is nothing to bind a signature to.
    #[error(
        "`{path}` is not an item: it does not lie in `directives`, `knowledge`, `tools` or `config` of an `.ai` folder"
    )]
    NotAnItem {
        /// The file.
        path: String,
    },
    /// The file is neither an item nor a file of the project, so there is nothing to bind a signature to.
    #[error(
        "`{}` is no item, and {}; a file outside of an `.ai` folder is signed for the project that holds it", .path.display(), outside(project.as_deref())
    )]
    OutsideProject {
        /// The file.
        path: PathBuf,
        /// The folder of the project.
        project: Option<PathBuf>,
    },
    /// The file lies among the trust documents and is none.
    #[error("`{path}` cannot be signed as a trust document")]
    NoTrustDocument {
        /// The file.
        path: String,
        /// The problem of the document.
        source: Box<TrustError>,
    },
    /// The file has the place of the revocation list and is none.
    #[error("`{path}` cannot be signed as a revocation list")]
    NoRevocationList {
        /// The file.
        path: String,
        /// The problem of the list.
        source: Box<RevocationError>,
    },
    /// The `grants` of a trust document hold what is no pattern, which would refuse every item of its key.
    #[error("`{path}` grants what cannot be granted: {}", .problems.join("; "))]
    BadGrants {
        /// The file.
        path: String,
        /// The problems, one sentence for each entry.
        problems: Vec<String>,
    },
    /// The file's type has no comments.
    #[error(
        "`{path}` cannot carry a signature, as its file type has no comments; write it as YAML or TOML"
    )]
    Unsignable {
        /// The file.
        path: String,
    },
}

impl SignError {
    /// The problems of a faulty item, for which it is not signed.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        match self {
            Self::Faulty { checked } => &checked.findings,
            Self::NotAnItem { .. }
            | Self::OutsideProject { .. }
            | Self::NoTrustDocument { .. }
            | Self::NoRevocationList { .. }
            | Self::BadGrants { .. }
            | Self::Unsignable { .. } => &[],
        }
    }
}

/// Returns the text of the file at `path`, which must be absolute, with a new signature line in place of an
/// old one.
///
/// Trust documents are signed too, wherever they lie, under the key that they vouch for (SPEC 2.7), and so are
/// revocation lists.
///
/// # Errors
///
/// The function fails if the file is no item, cannot carry a signature, or has problems.
pub fn with_signature(
    path: &Path,
    text: &str,
    key: &SigningKey,
    at: Timestamp,
) -> Result<String, SignError> {
    if let Some(name) = name_about_keys(path, text)? {
        return Ok(sign(text, CommentStyle::Hash, &name, key, at));
    }
    let (style, kind, id) = signable(path, text)?;
    Ok(sign(text, style, &item_name(kind, &id), key, at))
}

/// Returns the comment style, the kind and the id under which the text of an item is signed.
fn signable(path: &Path, text: &str) -> Result<(CommentStyle, ItemKind, ItemId), SignError> {
    let name = || path.display().to_string();
    let (kind, id) = place(path).ok_or_else(|| SignError::NotAnItem { path: name() })?;
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let style = CommentStyle::of_extension(extension)
        .ok_or_else(|| SignError::Unsignable { path: name() })?;
    let checked = check(path, kind, Some(&id), text.to_owned());
    if !checked.is_signable() {
        return Err(SignError::Faulty { checked });
    }
    Ok((style, kind, id))
}

/// The name under which a trust document or a revocation list is signed; `None` for other files.
fn name_about_keys(path: &Path, text: &str) -> Result<Option<ItemName>, SignError> {
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    if !is_toml || place(path).is_some() {
        return Ok(None);
    }
    let name = || path.display().to_string();
    match (TrustDocument::parse(text), RevocationList::parse(text)) {
        (Ok(document), _) => match bad_grants(&document) {
            problems if problems.is_empty() => Ok(Some(document.item_name())),
            problems => Err(SignError::BadGrants { path: name(), problems }),
        },
        (Err(source), _) if is_among_keys(path) => {
            Err(SignError::NoTrustDocument { path: name(), source: Box::new(source) })
        }
        (_, Ok(_)) => Ok(Some(RevocationList::item_name())),
        (_, Err(source)) if is_revocation_list(path) => {
            Err(SignError::NoRevocationList { path: name(), source: Box::new(source) })
        }
        (Err(_), Err(_)) => Ok(None),
    }
}

fn outside(project: Option<&Path>) -> String {
    match project {
        Some(project) => format!("it is outside of the project `{}`", project.display()),
        None => "there is no project".to_owned(),
    }
}

/// Returns a sentence for each text in the `grants` of a trust document that is no capability pattern. Rye
/// refuses a run of an item that its key signed.
#[must_use]
pub fn bad_grants(document: &TrustDocument) -> Vec<String> {
    let texts = document.grants().unwrap_or_default().iter();
    texts.filter_map(|text| Some(text.parse::<Pattern>().err()?.to_string())).collect()
}
