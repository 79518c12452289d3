//! The file or folder that is imported, as it was read.

/// A file of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceFile {
    /// The path below the source, with `/`. For a source that is one file, the name of the file.
    pub path: String,
    /// The content.
    pub bytes: Vec<u8>,
}

impl SourceFile {
    /// Creates a file of its path and content.
    #[must_use]
    pub fn new(path: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), bytes: bytes.into() }
    }

    /// Returns the content without a byte order mark, with `\n` as line ends; `None` if it is not UTF-8.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Some(text.replace("\r\n", "\n"))
    }

    /// Returns the last part of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A file or a folder that may be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    name: String,
    files: Vec<SourceFile>,
}

impl Source {
    /// Creates a source of the name of the file or folder, and of its files in any order.
    pub fn new(name: impl Into<String>, files: impl IntoIterator<Item = SourceFile>) -> Self {
        let mut files: Vec<SourceFile> = files.into_iter().collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        files.dedup_by(|one, other| one.path == other.path);
        Self { name: name.into(), files }
    }

    /// Returns the name of the file or folder.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the files, in the order of their paths.
    #[must_use]
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the file at `path`.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&SourceFile> {
        let place = self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok()?;
        self.files.get(place)
    }
}
