//! Exact decisions on whether patterns cover or meet one another, by a parallel walk through their automata.

mod walk;

use std::{error, fmt};

use self::walk::{Goal, Walk};
use crate::{
    capability::Capability,
    pattern::{Glob, Pattern, Shape},
};

/// The reason why one grant does not cover another.
///
/// Its `Display` is a sentence for a message; [`capability`](Self::capability) is the evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterExample {
    capability: Option<Capability>,
    inner: String,
    outer: Vec<String>,
}

impl CounterExample {
    /// A capability that one grant covers and the other does not. `None` if the decision exceeded its budget of work,
    /// so that the answer is not known.
    pub fn capability(&self) -> Option<&Capability> {
        self.capability.as_ref()
    }

    /// The covering patterns as written in messages.
    fn outer(&self) -> String {
        let quoted: Vec<_> = self.outer.iter().map(|text| format!("`{text}`")).collect();
        quoted.join(", ")
    }
}

impl fmt::Display for CounterExample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capability, inner, outer } = self;
        match (capability, outer.as_slice()) {
            (Some(capability), []) => {
                write!(f, "`{capability}` is covered by `{inner}`, but nothing is granted")
            }
            (Some(capability), [outer]) => {
                write!(f, "`{capability}` is covered by `{inner}` but not by `{outer}`")
            }
            (Some(capability), _) => {
                write!(f, "`{capability}` is covered by `{inner}` but by none of {}", self.outer())
            }
            (None, _) => write!(
                f,
                "whether `{inner}` is covered by {} takes too long to decide; use fewer `?` and classes",
                self.outer()
            ),
        }
    }
}

impl error::Error for CounterExample {}

impl Pattern {
    /// Checks that this pattern covers every capability that `other` covers, over all possible capabilities.
    ///
    /// # Errors
    ///
    /// A [`CounterExample`] with a short capability that `other` covers and this pattern does not. Contrived patterns
    /// can exceed the fixed budget of work. The error then has no capability, and the answer counts as no.
    ///
    /// ```
    /// use rye_caps::Pattern;
    ///
    /// let tools: Pattern = "rye.execute.tool.rye.*".parse()?;
    /// let files: Pattern = "rye.execute.tool.rye.file-system.*".parse()?;
    /// assert!(tools.covers(&files).is_ok());
    ///
    /// let reason = files.covers(&tools).unwrap_err();
    /// assert_eq!(reason.capability().map(ToString::to_string).as_deref(), Some("rye.execute.tool.rye"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn covers(&self, other: &Self) -> Result<(), CounterExample> {
        covers(std::slice::from_ref(self), other)
    }

    /// Returns `true` if there is a capability that both patterns cover, over all possible capabilities.
    ///
    /// Also returns `true` if the decision exceeds a fixed budget of work, which only contrived patterns do.
    ///
    /// ```
    /// use rye_caps::Pattern;
    ///
    /// let [reading, files, shells]: [Pattern; 3] =
    ///     ["rye.execute.tool.*.read".parse()?, "rye.execute.tool.files.*".parse()?, "rye.execute.tool.bash".parse()?];
    /// assert!(reading.meets(&files) && files.meets(&reading));
    /// assert!(!reading.meets(&shells));
    /// # Ok::<(), rye_caps::PatternError>(())
    /// ```
    pub fn meets(&self, other: &Self) -> bool {
        self.globs().iter().any(|glob| may_meet(glob, other))
    }

    /// Returns a short capability that the pattern covers, or `None` if it covers none, such as `rye.run.*` and
    /// `tool.x`.
    ///
    /// ```
    /// use rye_caps::Pattern;
    ///
    /// let example = "rye.[!e]*.tool.?z".parse::<Pattern>()?.example();
    /// assert_eq!(example.map(|capability| capability.to_string()).as_deref(), Some("rye.search.tool.xz"));
    /// assert!("tool.x".parse::<Pattern>()?.example().is_none());
    /// # Ok::<(), rye_caps::PatternError>(())
    /// ```
    pub fn example(&self) -> Option<Capability> {
        example(self.globs())
    }
}

/// Checks that `outer` covers every capability that `inner` covers.
pub(crate) fn covers(outer: &[Pattern], inner: &Pattern) -> Result<(), CounterExample> {
    if outer.contains(inner) {
        return Ok(());
    }
    for glob in inner.globs() {
        let globs = beside(outer, glob);
        if let Shape::Exact(text) = glob.shape() {
            // What is no capability is covered by anything.
            let uncovered = text.parse().ok().filter(|_| !globs.iter().any(|it| it.matches(text)));
            match uncovered {
                None => continue,
                uncovered => return Err(counter_example(uncovered, outer, inner)),
            }
        }
        if globs.iter().any(|outer| outer.covers_head_of(glob)) {
            continue;
        }
        let capability = match Walk::new(glob, &globs, Goal::Outside).find() {
            Ok(None) => continue,
            Ok(Some(capability)) => Some(capability),
            Err(walk::Exhausted) => None,
        };
        return Err(counter_example(capability, outer, inner));
    }
    Ok(())
}

fn counter_example(
    capability: Option<Capability>,
    outer: &[Pattern],
    inner: &Pattern,
) -> CounterExample {
    let outer = outer.iter().map(Pattern::to_string).collect();
    CounterExample { capability, inner: inner.to_string(), outer }
}

/// Returns `true` if `outer` certainly covers every capability that `inner` covers.
pub(crate) fn covers_glob<'a>(outer: impl IntoIterator<Item = &'a Pattern>, inner: &Glob) -> bool {
    let globs = beside(outer, inner);
    globs.iter().any(|outer| outer.covers_head_of(inner))
        || Walk::new(inner, &globs, Goal::Outside).find() == Ok(None)
}

/// Returns the globs of `patterns` whose heads allow a common capability with `glob`. For most questions there is none,
/// and no automaton is built.
fn beside<'a>(patterns: impl IntoIterator<Item = &'a Pattern>, glob: &Glob) -> Vec<&'a Glob> {
    let globs = patterns.into_iter().flat_map(Pattern::globs);
    globs.filter(|other| !other.is_apart_from(glob)).collect()
}

/// Returns the patterns that another one covers, each with that one. Of several with the same meaning, the first is
/// kept.
///
/// All decisions share one budget of work. A pair that is not decided within it is left out.
pub(crate) fn redundant(patterns: &[Pattern]) -> Vec<(Pattern, Pattern)> {
    let mut budget = PAIRS_BUDGET;
    let mut covers = |outer: &Pattern, inner: &Pattern| covers_within(outer, inner, &mut budget);
    let mut redundant: Vec<(Pattern, Pattern)> = Vec::new();
    for (place, inner) in patterns.iter().enumerate() {
        let outer = patterns.iter().enumerate().find(|(other, outer)| {
            *other != place && covers(outer, inner) && (*other < place || !covers(inner, outer))
        });
        redundant.extend(outer.map(|(_, outer)| (inner.clone(), outer.clone())));
    }
    redundant
}

/// Returns `true` if `outer` certainly covers `inner`. Takes the work for the decision from `budget`.
fn covers_within(outer: &Pattern, inner: &Pattern, budget: &mut usize) -> bool {
    inner.globs().iter().all(|glob| {
        if outer.globs().iter().all(|outer| outer.is_apart_from(glob)) {
            // A pattern that is apart from `glob` covers it only if `glob` covers nothing, which is reported elsewhere.
            return false;
        }
        if let Shape::Exact(text) = glob.shape() {
            *budget = budget.saturating_sub(WALK);
            let is_covered = outer.globs().iter().any(|outer| outer.matches(text));
            return *budget > 0 && (is_covered || !is_capability(text));
        }
        let globs: Vec<_> = outer.globs().iter().collect();
        let mut walk = Walk::new(glob, &globs, Goal::Outside).within(*budget);
        let is_covered = *budget > 0 && walk.find() == Ok(None);
        *budget = budget.saturating_sub(walk.work() + WALK);
        is_covered
    })
}

/// The most work for finding all pairs of patterns of which one covers the other: some tens of milliseconds. This is
/// enough for each pair of a hundred patterns.
const PAIRS_BUDGET: usize = 1_000_000;

/// The cost of a walk that ends at once.
const WALK: usize = 50;

/// Returns `true` if both `glob` and `pattern` may cover a common capability. A decision that exceeds its budget counts
/// as yes.
pub(crate) fn may_meet(glob: &Glob, pattern: &Pattern) -> bool {
    let others = beside([pattern], glob);
    if let Shape::Exact(text) = glob.shape() {
        return is_capability(text) && others.iter().any(|other| other.matches(text));
    }
    if let [other] = others.as_slice()
        && let Shape::Exact(text) = other.shape()
    {
        return is_capability(text) && glob.matches(text);
    }
    if others.iter().any(|other| other.covers_head_of(glob)) {
        return may_cover(glob);
    }
    if let [other] = others.as_slice()
        && glob.covers_head_of(other)
    {
        return may_cover(other);
    }
    !others.is_empty() && Walk::new(glob, &others, Goal::Inside).find() != Ok(None)
}

/// Returns `true` if `glob` may cover a capability.
fn may_cover(glob: &Glob) -> bool {
    plain_example(glob).is_some() || Walk::new(glob, &[], Goal::Outside).find() != Ok(None)
}

/// Returns `true` if the text is a capability, so that what is spelled without wildcards covers something.
fn is_capability(text: &str) -> bool {
    text.parse::<Capability>().is_ok()
}

/// Returns a capability that `glob` and a pattern of each side cover, or `None` if none is found within the budget.
pub(crate) fn meeting(glob: &Glob, sides: &[&[Pattern]]) -> Option<Capability> {
    let sides: Vec<Vec<_>> = sides.iter().map(|side| beside(*side, glob)).collect();
    Walk::between(glob, &sides, Goal::Inside).find().ok().flatten()
}

/// Returns a capability that one of `globs` covers.
pub(crate) fn example(globs: &[Glob]) -> Option<Capability> {
    // An empty outer side excludes nothing, so such a walk visits few states and stays within its budget.
    let found = |glob| Walk::new(glob, &[], Goal::Outside).find().ok().flatten();
    globs.iter().find_map(|glob| plain_example(glob).or_else(|| found(glob)))
}

/// The capability that a walk would find, where the text of `glob` shows it. Most patterns are a name, or a name and a
/// final `*`.
fn plain_example(glob: &Glob) -> Option<Capability> {
    match glob.shape() {
        Shape::Exact(text) => text.parse().ok(),
        Shape::Prefix(prefix) => glob.head().parse().or_else(|_| format!("{prefix}x").parse()).ok(),
        Shape::Other => None,
    }
}

#[cfg(test)]
mod tests;
