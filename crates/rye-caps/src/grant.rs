//! A set of granted patterns.

mod index;

use std::{
    fmt,
    sync::{Arc, LazyLock, OnceLock},
};

use self::index::Index;
use crate::{
    capability::{Capability, Kind, Primary},
    inclusion::{self, CounterExample},
    pattern::{self, Pattern, PatternError},
};

/// A set of patterns. It allows the capabilities that at least one of them covers; an empty grant allows nothing
/// (`SPEC 9.2`).
///
/// The patterns are sorted and deduplicated, so grants with the same patterns are equal. Clones share the patterns.
///
/// ```
/// use rye_caps::Grant;
///
/// let grant = Grant::of_items("execute", "tool", "rye/file-system/*")?.union(&Grant::of_primary("fetch")?);
/// assert!(grant.allows(&"rye.execute.tool.rye.file-system.read".parse()?));
/// assert!(grant.allows(&"rye.load.knowledge.rye.core.intro".parse()?));
/// assert!(!grant.allows(&"rye.sign.directive.deploy".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Grant(Arc<Inner>);

struct Inner {
    patterns: Vec<Pattern>,
    /// One index for each action and kind. It is built when it is first needed, because many grants are only combined,
    /// listed or compared.
    indexes: [OnceLock<Index>; Primary::ALL.len() * Kind::ALL.len()],
}

impl Grant {
    /// Returns the grant that allows nothing.
    pub fn nothing() -> Self {
        Self::from_iter([])
    }

    /// Returns the grant `rye.*`, which allows everything and is declared by `<permissions>*</permissions>`.
    pub fn everything() -> Self {
        static EVERYTHING: LazyLock<Grant> =
            LazyLock::new(|| "rye.*".parse::<Pattern>().into_iter().collect());
        EVERYTHING.clone()
    }

    /// Returns the grant of a whole action, which is declared by `<execute>*</execute>`.
    ///
    /// `primary` is the name of the element: `execute`, `search`, `load`, `sign`, or `fetch` for both `search` and
    /// `load` (`SPEC D4`).
    ///
    /// # Errors
    ///
    /// [`PatternError`] if `primary` is none of these names.
    pub fn of_primary(primary: &str) -> Result<Self, PatternError> {
        Ok(Self::from_iter([pattern::of_primary(primary)?]))
    }

    /// Returns the grant of an action on the items of a kind, which is declared by
    /// `<execute><tool>rye.bash.*</tool></execute>`.
    ///
    /// `items` is a pattern over item ids, in the same [syntax](crate#syntax).
    ///
    /// # Errors
    ///
    /// [`PatternError`] with every problem of the three arguments. Spans are byte ranges of `items`, and empty for a
    /// problem with `primary` or `kind`.
    pub fn of_items(primary: &str, kind: &str, items: &str) -> Result<Self, PatternError> {
        Ok(Self::from_iter([pattern::of_items(primary, kind, items)?]))
    }

    /// Returns this grant with one more pattern.
    #[must_use]
    pub fn with(&self, pattern: Pattern) -> Self {
        self.patterns().iter().cloned().chain([pattern]).collect()
    }

    /// Returns the grant that allows what this grant or `other` allows.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.patterns().iter().chain(other.patterns()).cloned().collect()
    }

    /// The patterns, sorted by their text and without duplicates.
    pub fn patterns(&self) -> &[Pattern] {
        &self.0.patterns
    }

    /// Returns `true` if the grant has no pattern.
    pub fn is_empty(&self) -> bool {
        self.0.patterns.is_empty()
    }

    /// Returns `true` if a pattern covers `capability`.
    ///
    /// The first call for an action and a kind compiles the patterns into an index. Later calls take some tens of
    /// nanoseconds, independent of the number of patterns.
    pub fn allows(&self, capability: &Capability) -> bool {
        let primary = capability.primary();
        let kind = capability.kind();
        let slot = primary as usize * Kind::ALL.len() + kind as usize;
        let index = self.0.indexes.get(slot);
        index.is_some_and(|index| {
            index.get_or_init(|| Index::new(self.patterns(), primary, kind)).matches(capability)
        })
    }

    /// Returns the first pattern that covers `capability`, to explain why it is allowed.
    pub fn granting(&self, capability: &Capability) -> Option<&Pattern> {
        self.patterns().iter().find(|pattern| pattern.matches(capability))
    }

    /// Returns `true` if the grant allows `primary` on any item of `kind`. A search of a kind needs this, and then
    /// [`allows`](Self::allows) for each item that it shows (`SPEC 9.3`).
    pub fn allows_some(&self, primary: Primary, kind: Kind) -> bool {
        let items = pattern::all_items(primary, kind);
        let globs = items.globs();
        globs
            .iter()
            .any(|glob| self.patterns().iter().any(|pattern| inclusion::may_meet(glob, pattern)))
    }

    /// Returns the redundant patterns, each with a pattern that covers it. Without the redundant ones, the grant allows
    /// the same. Of patterns with the same meaning, the first is kept.
    ///
    /// The work for all pairs is bounded. In a grant of many hundred patterns, or of contrived ones, some redundant
    /// patterns may be missed.
    ///
    /// ```
    /// use rye_caps::Grant;
    ///
    /// let grant = Grant::of_items("execute", "tool", "files.*")?.union(&Grant::of_items("execute", "tool", "files.read")?);
    /// let pairs = grant.redundant();
    /// assert_eq!(pairs.len(), 1);
    /// assert_eq!(pairs[0].0.as_str(), "rye.execute.tool.files.read");
    /// assert_eq!(pairs[0].1.as_str(), "rye.execute.tool.files.*");
    /// # Ok::<(), rye_caps::PatternError>(())
    /// ```
    pub fn redundant(&self) -> Vec<(Pattern, Pattern)> {
        inclusion::redundant(self.patterns())
    }

    /// Checks that this grant allows everything that `other` allows, over all possible capabilities.
    ///
    /// The patterns count together: `rye.load.*` and `rye.search.*` cover `rye.fetch.*`, although neither covers it
    /// alone.
    ///
    /// # Errors
    ///
    /// A [`CounterExample`] like that of [`Pattern::covers`], for the first pattern of `other` that is not covered.
    pub fn covers(&self, other: &Self) -> Result<(), CounterExample> {
        other.patterns().iter().try_for_each(|pattern| inclusion::covers(self.patterns(), pattern))
    }
}

impl FromIterator<Pattern> for Grant {
    fn from_iter<I: IntoIterator<Item = Pattern>>(patterns: I) -> Self {
        let mut patterns: Vec<_> = patterns.into_iter().collect();
        patterns.sort_unstable();
        patterns.dedup();
        Self(Arc::new(Inner { patterns, indexes: Default::default() }))
    }
}

/// The grant that allows nothing.
impl Default for Grant {
    fn default() -> Self {
        Self::nothing()
    }
}

impl PartialEq for Grant {
    fn eq(&self, other: &Self) -> bool {
        self.patterns() == other.patterns()
    }
}

impl Eq for Grant {}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.patterns()).finish()
    }
}
