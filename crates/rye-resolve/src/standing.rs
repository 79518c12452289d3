//! The judgement of one file by its place: whether it can be an item there, and if not, why.
//!
//! Listing, checking, verifying and signing all ask it, so that they say the same of a file.

use std::path::{Component, Path};

use rye_types::ItemKind;

use crate::reserved::is_reserved;
use crate::stem::{is_in_other_case, stem};
use crate::{ItemId, ResolveError, disk};

/// Returns the reason why the file at `path` is no item although it lies where items of a kind lie: a name that makes no id, a type
/// that its folder does not have, or a link out of the space or to policy. `None` for an item, for a file elsewhere, and for a
/// file that stands beside items, such as data of a script.
///
/// `path` is absolute. Its content is not read.
pub fn fault_of_place(path: &Path) -> Option<ResolveError> {
    let place = match Place::of(path)? {
        Ok(place) => place,
        Err(fault) => return Some(fault),
    };
    place.fault(path).or_else(|| place.fault_of_link(path))
}

/// The same for a plain file that no link leads to. It looks at the path alone.
pub fn fault_of_plain_place(path: &Path) -> Option<ResolveError> {
    match Place::of(path)? {
        Ok(place) => fault_of_name(place.kind, &place.below, path),
        Err(fault) => Some(fault),
    }
}

/// The place of a file among items.
struct Place<'p> {
    ai: &'p Path,
    kind: ItemKind,
    /// The path below the kind's folder.
    below: String,
}

impl<'p> Place<'p> {
    /// The place of a file, or the fault of the folder that it lies in; `None` where no items lie.
    fn of(path: &'p Path) -> Option<Result<Self, ResolveError>> {
        let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
        let ai = path.ancestors().skip(1).find(is_ai)?;
        let mut names = Vec::new();
        for component in path.strip_prefix(ai).ok()?.components() {
            let Component::Normal(name) = component else { return None };
            names.push(name.to_string_lossy().into_owned());
        }
        let (folder, below) = names.split_first()?;
        let other = ItemKind::ALL.iter().find(|kind| is_in_other_case(folder, kind.folder()));
        if let Some(kind) = other {
            let folder = ai.join(folder);
            return Some(Err(ResolveError::OtherCase { path: folder, folder: kind.folder() }));
        }
        let kind = ItemKind::ALL.iter().copied().find(|kind| kind.folder() == folder)?;
        let below = below.join("/");
        let is_reserved = below.parse::<ItemId>().is_ok_and(|id| is_reserved(kind, &id));
        (!below.is_empty() && !is_reserved).then_some(Ok(Self { ai, kind, below }))
    }

    /// The fault of the name, or of a folder with the name of a file.
    fn fault(&self, path: &Path) -> Option<ResolveError> {
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            let is_named_like_one = stem(self.kind, &self.below).is_some();
            return is_named_like_one.then(|| ResolveError::NotAFile { path: path.to_owned() });
        }
        fault_of_name(self.kind, &self.below, path)
    }

    /// The fault of a link on the way to the file.
    fn fault_of_link(&self, path: &Path) -> Option<ResolveError> {
        let found = path.symlink_metadata().ok();
        let is_folder = found.as_ref().is_some_and(std::fs::Metadata::is_dir);
        let is_link = found.is_some_and(|found| found.is_symlink());
        if is_folder || (!is_link && stem(self.kind, &self.below).is_none()) {
            return None;
        }
        match disk::inside(self.ai, path) {
            Err(fault @ (ResolveError::LeavesSpace { .. } | ResolveError::LinkedPolicy { .. })) => {
                Some(fault)
            }
            _ => None,
        }
    }
}

/// The fault of the name of the file at `below`, a path below the kind's folder.
pub(crate) fn fault_of_name(kind: ItemKind, below: &str, path: &Path) -> Option<ResolveError> {
    match stem(kind, below) {
        Some(stem) => {
            let source = stem.parse::<ItemId>().err()?;
            Some(ResolveError::Misnamed { path: path.to_owned(), source })
        }
        None if is_wrong_type(kind, below) => {
            Some(ResolveError::WrongType { path: path.to_owned(), kind })
        }
        None => None,
    }
}

/// Returns `true` for a type that an author takes for one of the kind's. Scripts have data of other types beside them, so that not
/// every other type is a mistake.
fn is_wrong_type(kind: ItemKind, below: &str) -> bool {
    let name = below.rsplit('/').next().unwrap_or(below);
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let lower = extension.to_ascii_lowercase();
    let is_of = |kind: &ItemKind| kind.extensions().contains(&lower.as_str());
    let is_prose =
        || TEXTS.contains(&lower.as_str()) && !ABOUT_FOLDERS.contains(&&*stem.to_ascii_lowercase());
    match kind {
        _ if is_of(&kind) || lower == PROMPT => true,
        ItemKind::Directive => ItemKind::ALL.iter().any(is_of) || is_prose(),
        ItemKind::Knowledge => is_prose(),
        // Beside a script, `requirements.txt` and a text that it reads are in their place.
        ItemKind::Tool | ItemKind::Config => false,
    }
}

/// The type of prompt files of other programs.
const PROMPT: &str = "prompt";

/// Types of texts, which an author takes for Markdown.
const TEXTS: [&str; 10] =
    ["txt", "text", "markdown", "mdown", "mkd", "mkdn", "mdwn", "mdx", "rst", "adoc"];

/// Names of files that are about their folder, and that no author takes for items.
const ABOUT_FOLDERS: [&str; 6] = ["readme", "license", "licence", "notice", "changelog", "authors"];
