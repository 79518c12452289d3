//! Complexity classes: how much work a new directive is expected to be (SPEC D17).

use strum::{Display, EnumString, IntoStaticStr, VariantArray, VariantNames};

/// The amount of work that a directive is expected to be, from which its limits follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the three classes of the specification")]
#[derive(Display, EnumString, IntoStaticStr, VariantArray, VariantNames)]
#[strum(serialize_all = "snake_case", parse_err_fn = UnknownComplexity::new, parse_err_ty = UnknownComplexity)]
pub enum Complexity {
    /// A few steps, each with one tool.
    Simple,
    /// Steps that depend on what the earlier ones found.
    Moderate,
    /// Many steps, or steps that start threads.
    Complex,
}

impl Complexity {
    /// Every class, the smallest first.
    pub const ALL: &'static [Self] = <Self as VariantArray>::VARIANTS;

    /// All names, in the same order.
    pub const NAMES: &'static [&'static str] = <Self as VariantNames>::VARIANTS;

    /// Returns the class as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the tier of the model that a new directive of this class asks for.
    #[must_use]
    pub fn tier(self) -> &'static str {
        match self {
            Self::Simple => "fast",
            Self::Moderate => "standard",
            Self::Complex => "high",
        }
    }
}

/// A complexity class that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown complexity `{text}`; valid: `simple`, `moderate`, `complex`")]
pub struct UnknownComplexity {
    text: String,
}

impl UnknownComplexity {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

/// The limits that a new directive of a complexity class gets.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClassLimits {
    /// The number of requests to the model.
    pub turns: u64,
    /// The number of tokens, input and output together.
    pub tokens: u64,
    /// The money in US dollars, as decimal text.
    pub spend: String,
}

impl ClassLimits {
    pub(crate) fn new(turns: u64, tokens: u64, spend: &str) -> Self {
        Self { turns, tokens, spend: spend.to_owned() }
    }

    /// The `<limits>` element with these limits.
    pub(super) fn element(&self) -> String {
        let Self { turns, tokens, spend } = self;
        format!(r#"<limits turns="{turns}" tokens="{tokens}" spend="{spend}" />"#)
    }
}
