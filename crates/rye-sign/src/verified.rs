//! A value whose source text was verified.

use crate::digest::normalize_line_ends;
use crate::provenance::Provenance;

/// A value with the reason why it is accepted. Only functions of this crate make one (SPEC 2.10).
///
/// [`map`](Self::map) and [`try_map`](Self::try_map) keep the provenance for whatever a function makes of the value.
/// Use them for parsing and selecting only: a closure that brings in other text would mark that text as verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T> {
    value: T,
    provenance: Provenance,
}

impl<T> Verified<T> {
    pub(crate) fn new(value: T, provenance: Provenance) -> Self {
        Self { value, provenance }
    }

    /// Replaces the value by the result of a function.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Verified<U> {
        Verified { value: f(self.value), provenance: self.provenance }
    }

    /// Replaces the value by the result of a function that can fail, such as a parser.
    ///
    /// # Errors
    ///
    /// The ones of the function.
    pub fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<Verified<U>, E> {
        Ok(Verified { value: f(self.value)?, provenance: self.provenance })
    }

    /// Returns the value without its provenance.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The reason why the value is accepted.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Borrows the value and copies its provenance.
    pub fn as_ref(&self) -> Verified<&T> {
        Verified { value: &self.value, provenance: self.provenance.clone() }
    }
}

impl Verified<&str> {
    /// Copies the text as the digest covers it, with CRLF as LF, and keeps its provenance.
    ///
    /// A signature holds for both line ends (SPEC 2.1). A shell script with a CR at the end of a line does something else,
    /// so that no program gets the other text.
    pub fn to_owned_text(self) -> Verified<String> {
        self.map(|text| normalize_line_ends(text).into_owned())
    }
}

impl Verified<&'static str> {
    /// Accepts text that is compiled into the program, which the `'static` lifetime stands for (SPEC 2.9).
    ///
    /// Call this with literals and `include_str!` only: leaked memory also has this lifetime, but was not compiled in.
    pub fn builtin(text: &'static str) -> Self {
        Self::new(text, Provenance::Builtin)
    }
}
