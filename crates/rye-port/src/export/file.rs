//! A file of an export, with its path.

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFile {
    /// The path below the folder of the export, with `/`.
    pub path: String,
    /// The whole text.
    pub text: String,
}

impl ExportedFile {
    /// A file with this text.
    #[must_use]
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}
