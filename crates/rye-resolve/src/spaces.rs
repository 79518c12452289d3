//! The spaces that items are found in, and locations of files.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use strum::{Display, IntoStaticStr};

/// A place that items are found in. The variants are ordered nearest first (SPEC 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_enums, reason = "SPEC 1.1 and 2.9 name exactly these")]
#[derive(Display, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Space {
    /// The `.ai` folder of the current project.
    Project,
    /// The `.ai` folder of the operator.
    User,
    /// An extra, read-only system root on disk, verified like any other (SPEC 2.9).
    System,
    /// The items compiled into the program, trusted as the program is (SPEC 2.9).
    Builtin,
}

impl Space {
    /// The word that messages and reports use, for example `project`.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// A file of the system space that is compiled into the program.
///
/// It is trusted because of `'static`: text that was read at run time cannot become a shipped file.
#[expect(clippy::exhaustive_structs, reason = "written as a literal by generated tables")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedFile {
    /// The path below `.ai`, with `/`, for example `knowledge/rye/agent/core/Identity.md`.
    pub path: &'static str,
    /// The whole text of the file.
    pub text: &'static str,
}

/// The roots that a [`Library`](crate::Library) searches. The caller names them; none is discovered.
///
/// The project, user and system roots are the folders that *hold* an `.ai` folder.
#[derive(Clone, Debug, Default)]
pub struct Spaces {
    project: Option<PathBuf>,
    user: Option<PathBuf>,
    system: Vec<PathBuf>,
    shipped: &'static [ShippedFile],
}

impl Spaces {
    /// No space at all, in which nothing is found.
    pub fn new() -> Self {
        Self::default()
    }

    /// Looks in `<root>/.ai` first.
    #[must_use]
    pub fn with_project(self, root: impl Into<PathBuf>) -> Self {
        Self { project: Some(root.into()), ..self }
    }

    /// Removes the project, so that only what is independent of a project remains.
    #[must_use]
    pub fn without_project(self) -> Self {
        Self { project: None, ..self }
    }

    /// Looks in `<root>/.ai` after the project.
    #[must_use]
    pub fn with_user(self, root: impl Into<PathBuf>) -> Self {
        Self { user: Some(root.into()), ..self }
    }

    /// Looks in `<root>/.ai` after the user space and after the system roots added before.
    #[must_use]
    pub fn with_system(mut self, root: impl Into<PathBuf>) -> Self {
        self.system.push(root.into());
        self
    }

    /// Looks last in files that are compiled into the program.
    #[must_use]
    pub fn with_shipped(self, shipped: &'static [ShippedFile]) -> Self {
        Self { shipped, ..self }
    }

    /// The folder that holds the project's `.ai` folder.
    pub fn project(&self) -> Option<&Path> {
        self.project.as_deref()
    }

    /// The folder that holds the operator's `.ai` folder.
    pub fn user(&self) -> Option<&Path> {
        self.user.as_deref()
    }

    /// The folders that hold extra system `.ai` folders, nearest first.
    pub fn system(&self) -> &[PathBuf] {
        &self.system
    }

    /// The files compiled into the program.
    pub fn shipped(&self) -> &'static [ShippedFile] {
        self.shipped
    }
}

/// A file and the space that it belongs to.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Location {
    /// The space that the file belongs to.
    pub space: Space,
    /// The file on disk, below the root as it was given; for a shipped file its path below `.ai`.
    pub path: PathBuf,
}

impl Location {
    /// The file at `path`, found in `space`.
    pub fn new(space: Space, path: impl Into<PathBuf>) -> Self {
        Self { space, path: path.into() }
    }

    /// The file's extension without its dot, empty when it has none.
    pub fn extension(&self) -> &str {
        self.path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.space {
            Space::Builtin => write!(f, "builtin:{}", self.path.display()),
            Space::Project | Space::User | Space::System => write!(f, "{}", self.path.display()),
        }
    }
}
