//! The account of an import or an export: what became of each field of a source.

/// A field of a source that has a counterpart in a draft.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Carried {
    /// The file of the source.
    pub file: String,
    /// The field, as the source names it.
    pub field: String,
    /// The part of the draft that has it, such as ``the description of directive `skills/pdf` ``.
    pub to: String,
}

/// A field or file of a source that no draft has, or a part of a directive that an exported file does not have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct LeftOut {
    /// The file of the source, or the exported file.
    pub file: String,
    /// The field, as the source names it; empty for the whole file.
    pub field: String,
    /// The reason, and the way to do the same by hand if there is one.
    pub reason: String,
}

impl LeftOut {
    /// A part that is left out for this reason; a whole file if `field` is empty.
    #[must_use]
    pub fn new(file: &str, field: &str, reason: &str) -> Self {
        Self { file: file.to_owned(), field: field.to_owned(), reason: reason.to_owned() }
    }

    /// Returns `true` for a file that has none of the known forms.
    #[must_use]
    pub fn is_unknown_file(&self) -> bool {
        self.field.is_empty() && self.reason == UNKNOWN
    }
}

/// The reason of a file that has none of the known forms.
pub(crate) const UNKNOWN: &str = "it has none of the known forms";

/// The account of what became of each field.
pub(crate) trait Account {
    /// Says that a field is left out, or a file if `field` is empty.
    fn leave(&mut self, file: &str, field: &str, reason: &str);
}

/// A permission that a source asks for. No draft grants it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Asked {
    /// The file of the source.
    pub file: String,
    /// The permission, as the source names it.
    pub asked: String,
    /// The entries of `<permissions>` that would give it, such as `<execute><tool>rye.bash.bash</tool></execute>`; empty if none does.
    pub entries: Vec<String>,
    /// The difference between the two, where there is one.
    pub note: String,
}

/// A decision that the import leaves to a person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Decision {
    /// The path of the draft below `.ai`.
    pub path: String,
    /// The decision.
    pub what: String,
}
