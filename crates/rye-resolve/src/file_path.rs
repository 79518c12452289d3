//! Paths of plain files of a project, which directives take into their context (SPEC 17.3).

use std::path::{Component, Path, PathBuf};
use std::{fmt, str::FromStr};

use rye_parse::ContextContent;

use crate::{ItemId, ItemIdError};

/// The path of a plain file below the project's folder.
///
/// Its segments are those of an item id (SPEC 1.3), the extension included, so that it neither climbs nor names anything hidden, and
/// `.ai` is no part of it.
///
/// ```
/// use rye_resolve::FilePath;
///
/// let path: FilePath = "docs/rules.md".parse()?;
/// assert_eq!(path.signature(), ".ai/signed/docs/rules.md.sig");
/// assert!("../rules.md".parse::<FilePath>().is_err());
/// # Ok::<(), rye_resolve::FilePathError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(ItemId);

impl FilePath {
    /// The longest file, in bytes.
    pub const MAX_BYTES: u64 = 256 * 1024;

    /// The path with `/` between its segments.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The path of the file with the signature, below the project's folder.
    pub fn signature(&self) -> String {
        format!("{SIGNED}/{self}{SIGNATURE}")
    }

    /// Returns the path below `project` of the file at `path`, or `None` if the file is not below it. Both are compared as written.
    ///
    /// # Errors
    ///
    /// A part of the path cannot be one of a plain file.
    pub fn below(project: &Path, path: &Path) -> Option<Result<Self, FilePathError>> {
        let below = path.strip_prefix(project).ok()?;
        let names: Option<Vec<&str>> = below
            .components()
            .map(|component| match component {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let bad = || FilePathError { path: below.display().to_string() };
        Some(names.ok_or_else(bad).and_then(|names| names.join("/").parse()))
    }

    /// Returns the file of `project` whose signature lies at `path`; `None` for any other path. Both are compared as written.
    pub fn of_signature(project: &Path, path: &Path) -> Option<Self> {
        let below = path.strip_prefix(project.join(SIGNED)).ok()?;
        let below = below.to_str()?.strip_suffix(SIGNATURE)?;
        Self::below(Path::new(""), Path::new(below))?.ok()
    }

    /// Returns the place of the file in a project.
    pub fn in_project(&self, project: &Path) -> PathBuf {
        project.join(self.as_str())
    }
}

impl ItemId {
    /// The id of a plain file of the project as a piece of context: `file:` and its path (SPEC 17.3).
    ///
    /// No text parses as such an id, so that a caller that asks for an item never gets a file.
    pub fn of_file(path: &FilePath) -> Self {
        Self::beyond_grammar(format!("{}{path}", ContextContent::FILE))
    }

    /// Reads the id of a piece of context, as directives refer to it and as records have it: of knowledge, or of a plain file.
    ///
    /// # Errors
    ///
    /// The text is no id, or what follows `file:` is no path.
    pub fn of_context(text: &str) -> Result<Self, ItemIdError> {
        match text.strip_prefix(ContextContent::FILE) {
            Some(path) => Ok(Self::of_file(&FilePath(path.parse()?))),
            None => text.parse(),
        }
    }

    /// The path of the plain file that the id is of; `None` for the id of an item.
    pub fn file(&self) -> Option<FilePath> {
        self.as_str().strip_prefix(ContextContent::FILE)?.parse().ok()
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for FilePath {
    type Err = FilePathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = |_: ItemIdError| FilePathError { path: text.to_owned() };
        text.parse().map(Self).map_err(bad)
    }
}

/// A text that is not the path of a plain file.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot be a file of context; each part of its path begins with a letter, a digit or `_`, goes on with these, `.` and `-`, and all has at most {} bytes", .path.escape_debug(), ItemId::MAX_BYTES
)]
pub struct FilePathError {
    /// The text.
    pub path: String,
}

/// The folder of the signatures of plain files, below a project.
const SIGNED: &str = ".ai/signed";

/// The end of the name of a file with a signature.
const SIGNATURE: &str = ".sig";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_a_project() {
        let rows: &[(&str, Option<Result<&str, &str>>)] = &[
            ("/p/AGENTS.md", Some(Ok("AGENTS.md"))),
            ("/p/docs/a.b/rules", Some(Ok("docs/a.b/rules"))),
            ("/elsewhere/AGENTS.md", None),
            ("/p/.ai/knowledge/k.md", Some(Err(".ai/knowledge/k.md"))),
            ("/p/docs/../x.md", Some(Err("docs/../x.md"))),
            ("/p/with space.md", Some(Err("with space.md"))),
        ];
        for (path, expected) in rows {
            let found = FilePath::below(Path::new("/p"), Path::new(path));
            let found = found.map(|it| it.map(|it| it.to_string()).map_err(|error| error.path));
            let expected = expected.map(|it| it.map(str::to_owned).map_err(str::to_owned));
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn the_file_of_a_signature() {
        for path in ["AGENTS.md", "docs/rules.md", "a.sig", "deep/er/x"] {
            let file: FilePath = path.parse().unwrap();
            let signature = Path::new("/p").join(file.signature());
            assert_eq!(FilePath::of_signature(Path::new("/p"), &signature), Some(file), "{path}");
        }
        for other in [
            "/p/.ai/signed/AGENTS.md",
            "/p/.ai/signed/.x.sig",
            "/p/AGENTS.md.sig",
            "/q/.ai/signed/a.sig",
        ] {
            assert_eq!(FilePath::of_signature(Path::new("/p"), Path::new(other)), None, "{other}");
        }
    }

    #[test]
    fn the_id_of_a_file_is_none_of_an_item() {
        let path: FilePath = "docs/rules.md".parse().unwrap();
        let id = ItemId::of_file(&path);
        assert_eq!(id.as_str(), "file:docs/rules.md");
        assert_eq!((id.file(), ItemId::of_context(id.as_str())), (Some(path), Ok(id.clone())));
        assert!(id.as_str().parse::<ItemId>().is_err());
        let item: ItemId = "docs/rules.md".parse().unwrap();
        assert_eq!((item.file(), ItemId::of_context("docs/rules.md")), (None, Ok(item)));
        for refused in ["file:", "file:../x", "file:.ai/config/trust.yaml", "file:a:b", "file:/a"] {
            assert!(ItemId::of_context(refused).is_err(), "{refused}");
        }
    }
}
