//! Wildcard patterns over capabilities.

#[cfg(test)]
mod bounds;
mod error;
mod glob;
#[cfg(test)]
mod naive;
mod syntax;

use std::{cmp::Ordering, fmt, hash, str::FromStr, sync::Arc};

pub use self::error::{PatternError, PatternProblem, PatternProblemKind};
pub(crate) use self::{
    glob::{Glob, Shape},
    syntax::Token,
};
use crate::{
    capability::{Capability, Kind, Primary},
    letters,
    untrusted_text::sanitize,
};

/// A wildcard pattern over capabilities, the unit of grants (`SPEC 9.1`).
///
/// The crate's documentation has the whole [syntax](crate#syntax). Parsing turns `/` into `.` and a run of `*` into one
/// `*`. `Display` writes this normal form, and comparisons use it.
///
/// The first match compiles the pattern, which takes some microseconds. Clones share the compiled form.
///
/// ```
/// use rye_caps::{Capability, Pattern};
///
/// let pattern: Pattern = "rye.execute.tool.rye/bash/*".parse()?;
/// assert_eq!(pattern.to_string(), "rye.execute.tool.rye.bash.*");
///
/// let bash: Capability = "rye.execute.tool.rye.bash.bash".parse()?;
/// assert!(pattern.matches(&bash));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Pattern(Arc<Inner>);

struct Inner {
    text: String,
    /// The globs that the pattern means: one, or two if it begins with `rye.fetch.`.
    globs: Vec<Glob>,
}

impl Pattern {
    /// Returns the pattern that matches only `capability`.
    pub fn exactly(capability: &Capability) -> Self {
        let text = capability.as_str().to_owned();
        let tokens = literal(&text);
        Self::from_scanned(syntax::Scanned { text, tokens })
    }

    /// The pattern in its normal form, with `.` for `/` and one `*` for a run of `*`.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// Returns `true` if the pattern covers `capability`.
    pub fn matches(&self, capability: &Capability) -> bool {
        self.0.globs.iter().any(|glob| glob.matches(capability.as_str()))
    }

    /// The plain globs that together mean this pattern.
    pub(crate) fn globs(&self) -> &[Glob] {
        &self.0.globs
    }

    fn from_scanned(scanned: syntax::Scanned) -> Self {
        let text = scanned.text.clone();
        let globs = match text.strip_prefix(FETCH) {
            Some(_) => [Primary::Search, Primary::Load]
                .map(|primary| expand_fetch(&scanned, primary))
                .into(),
            None => vec![Glob::new(scanned)],
        };
        Self(Arc::new(Inner { text, globs }))
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        syntax::scan(text).map(Self::from_scanned)
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pattern({:?})", self.as_str())
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Pattern {}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other.as_str())
    }
}

impl hash::Hash for Pattern {
    fn hash<H: hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// Makes the pattern of an entry in a `<permissions>` block: the items of `kind` that `items` names.
pub(crate) fn of_items(primary: &str, kind: &str, items: &str) -> Result<Pattern, PatternError> {
    let mut problems = primary_problems(primary);
    if Kind::from_str(kind).is_err() {
        let kind = PatternProblemKind::UnknownKind(sanitize(kind));
        problems.push(PatternProblem { kind, span: 0..0 });
    }
    if let Err(error) = syntax::scan(items) {
        problems.extend_from_slice(error.problems());
    }
    if problems.is_empty() {
        format!("rye.{primary}.{kind}.{items}").parse()
    } else {
        Err(PatternError::new(items, problems))
    }
}

/// Makes the pattern of a whole action.
pub(crate) fn of_primary(primary: &str) -> Result<Pattern, PatternError> {
    let problems = primary_problems(primary);
    if problems.is_empty() {
        format!("rye.{primary}.*").parse()
    } else {
        Err(PatternError::new(&format!("rye.{primary}.*"), problems))
    }
}

/// Makes the pattern of an action on every item of a kind.
pub(crate) fn all_items(primary: Primary, kind: Kind) -> Pattern {
    let mut tokens = literal(&format!("rye.{primary}.{kind}."));
    tokens.push(Token::Star);
    Pattern::from_scanned(syntax::Scanned { text: format!("rye.{primary}.{kind}.*"), tokens })
}

fn literal(text: &str) -> Vec<Token> {
    text.bytes().map(|byte| Token::One(letters::one(byte))).collect()
}

fn primary_problems(primary: &str) -> Vec<PatternProblem> {
    if syntax::is_grantable(primary) {
        return Vec::new();
    }
    let kind = PatternProblemKind::UnknownPrimary(sanitize(primary));
    vec![PatternProblem { kind, span: 0..0 }]
}

/// Makes the glob of a `rye.fetch.` pattern for one of the two actions (`SPEC D4`).
fn expand_fetch(scanned: &syntax::Scanned, primary: Primary) -> Glob {
    let head = format!("rye.{primary}.");
    let text = scanned.text.replacen(FETCH, &head, 1);
    let mut tokens = literal(&head);
    tokens.extend(scanned.tokens.iter().skip(FETCH.len()));
    Glob::new(syntax::Scanned { text, tokens })
}

/// The start of a pattern that grants both searching and loading.
const FETCH: &str = "rye.fetch.";

#[cfg(test)]
mod tests;
