//! The comment syntax of a signature line.

/// The comment syntax of a file type (SPEC 2.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommentStyle {
    /// `# …`, for YAML, TOML, Python, shell and Ruby.
    Hash,
    /// `<!-- … -->`, for Markdown.
    Html,
    /// `// …`, for JavaScript and TypeScript.
    Slash,
}

impl CommentStyle {
    /// Returns the style for a file extension without its dot, or `None` for a type that has no comments, such as
    /// `json`.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension {
            "md" => Some(Self::Html),
            "yaml" | "yml" | "toml" | "py" | "sh" | "rb" => Some(Self::Hash),
            "js" | "ts" => Some(Self::Slash),
            _ => None,
        }
    }

    /// The opener of the comment, without white space.
    pub(crate) fn opener(self) -> &'static str {
        self.frame().0.trim_end()
    }

    /// The text before and after the fields of a signature line.
    pub(crate) fn frame(self) -> (&'static str, &'static str) {
        match self {
            Self::Hash => ("# ", ""),
            Self::Html => ("<!-- ", " -->"),
            Self::Slash => ("// ", ""),
        }
    }

    pub(crate) fn wrap(self, fields: &str) -> String {
        let (before, after) = self.frame();
        format!("{before}{fields}{after}")
    }

    /// The style of a signature line that is alone in its file.
    pub(crate) const DETACHED: Self = Self::Hash;

    pub(crate) const ALL: [Self; 3] = [Self::Hash, Self::Html, Self::Slash];
}
