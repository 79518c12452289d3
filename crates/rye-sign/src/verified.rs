//! The proof that a value comes from text that was verified.

use crate::provenance::Provenance;

/// A value together with what vouches for it; only a verification of this crate makes one (SPEC 2.10).
///
/// [`map`](Self::map) and [`try_map`](Self::try_map) carry the proof over to what a function makes of the value. They
/// are for parsing and selecting: a closure that brings in other text would give it a proof that it did not earn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified<T> {
    value: T,
    provenance: Provenance,
}

impl<T> Verified<T> {
    pub(crate) fn new(value: T, provenance: Provenance) -> Self {
        Self { value, provenance }
    }

    /// Replaces the value by what is made of it.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Verified<U> {
        Verified { value: f(self.value), provenance: self.provenance }
    }

    /// Replaces the value by what is made of it, such as its parsed form.
    ///
    /// # Errors
    ///
    /// The ones of the function.
    pub fn try_map<U, E>(self, f: impl FnOnce(T) -> Result<U, E>) -> Result<Verified<U>, E> {
        Ok(Verified { value: f(self.value)?, provenance: self.provenance })
    }

    /// Gives up the proof.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The value.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// What vouches for the value.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// Borrows the value under the same proof.
    pub fn as_ref(&self) -> Verified<&T> {
        Verified { value: &self.value, provenance: self.provenance.clone() }
    }
}

impl Verified<&str> {
    /// Copies the text.
    pub fn to_owned_text(self) -> Verified<String> {
        self.map(str::to_owned)
    }
}

impl Verified<&'static str> {
    /// Vouches for text that is compiled into the program, which its lifetime stands for (SPEC 2.9).
    ///
    /// Leaking memory to obtain that lifetime defeats the purpose; give it literals and `include_str!` only.
    pub fn builtin(text: &'static str) -> Self {
        Self::new(text, Provenance::Builtin)
    }
}
