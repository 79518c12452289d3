//! Values that a person may be shown: verified ones, and drafts (SPEC D20).

use crate::provenance::Provenance;
use crate::unverified::Draft;
use crate::verified::Verified;

/// A value that is verified, or that is a draft: the operator signed its text under this name and changed it since.
///
/// Only verifying makes a [`Verified`] of it, see [`as_verified`](Self::as_verified). Nothing turns a draft into one:
///
/// ```compile_fail,E0277
/// use rye_sign::{Shown, Verified};
///
/// fn run(shown: Shown<String>) -> Verified<String> {
///     shown.into()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shown<T> {
    value: T,
    provenance: Provenance,
}

impl<T> Shown<T> {
    /// Replaces the value by the result of a function; [`Verified::map`] says what it is for.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Shown<U> {
        Shown { value: f(self.value), provenance: self.provenance }
    }

    /// Replaces the value by the result of a function that can fail, such as a parser.
    ///
    /// # Errors
    ///
    /// The ones of the function.
    pub fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<Shown<U>, E> {
        Ok(Shown { value: f(self.value)?, provenance: self.provenance })
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The reason why the value may be shown.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Returns the value as one that may be run, or `None` for a draft.
    pub fn as_verified(&self) -> Option<Verified<&T>> {
        match &self.provenance {
            Provenance::Draft(_) => None,
            provenance => Some(Verified::new(&self.value, provenance.clone())),
        }
    }
}

impl<T> From<Verified<T>> for Shown<T> {
    fn from(verified: Verified<T>) -> Self {
        let provenance = verified.provenance().clone();
        Self { value: verified.into_value(), provenance }
    }
}

impl From<Draft<'_>> for Shown<String> {
    /// The text of the draft, with CRLF as LF.
    fn from(draft: Draft<'_>) -> Self {
        let value = crate::digest::normalize_line_ends(draft.text()).into_owned();
        Self { value, provenance: Provenance::Draft(draft.into_signature()) }
    }
}
