//! A set of patterns: what somebody is granted.

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

/// A set of patterns; it allows what any of them covers, and an empty one allows nothing (`SPEC 9.2`).
///
/// The patterns are kept sorted and once each, so grants that list the same patterns are equal. Cloning is cheap.
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
    /// One for each action and kind, made when it is first asked, because grants are often only put together, listed
    /// or compared.
    indexes: [OnceLock<Index>; Primary::ALL.len() * Kind::ALL.len()],
}

impl Grant {
    /// The grant that allows nothing.
    pub fn nothing() -> Self {
        Self::from_iter([])
    }

    /// The grant of everything, `rye.*`: what `<permissions>*</permissions>` declares.
    pub fn everything() -> Self {
        static EVERYTHING: LazyLock<Grant> =
            LazyLock::new(|| "rye.*".parse::<Pattern>().into_iter().collect());
        EVERYTHING.clone()
    }

    /// The grant of a whole action: what `<execute>*</execute>` declares.
    ///
    /// `primary` is the name of the element: `execute`, `search`, `load`, `sign`, or `fetch`, which is `search` and
    /// `load` together (`SPEC D4`).
    ///
    /// # Errors
    ///
    /// [`PatternError`] when `primary` is none of these.
    pub fn of_primary(primary: &str) -> Result<Self, PatternError> {
        Ok(Self::from_iter([pattern::of_primary(primary)?]))
    }

    /// The grant of an action on the items of a kind: what `<execute><tool>rye.bash.*</tool></execute>` declares.
    ///
    /// `items` is a pattern over item ids, in the same [syntax](crate#syntax).
    ///
    /// # Errors
    ///
    /// [`PatternError`] with everything that is wrong with the three; the spans are bytes of `items`, and empty for
    /// a problem with `primary` or `kind`.
    pub fn of_items(primary: &str, kind: &str, items: &str) -> Result<Self, PatternError> {
        Ok(Self::from_iter([pattern::of_items(primary, kind, items)?]))
    }

    /// This grant with one more pattern.
    #[must_use]
    pub fn with(&self, pattern: Pattern) -> Self {
        self.patterns().iter().cloned().chain([pattern]).collect()
    }

    /// What this grant allows or `other` allows.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.patterns().iter().chain(other.patterns()).cloned().collect()
    }

    /// The patterns, sorted by their text, each once.
    pub fn patterns(&self) -> &[Pattern] {
        &self.0.patterns
    }

    /// Whether no pattern is granted.
    pub fn is_empty(&self) -> bool {
        self.0.patterns.is_empty()
    }

    /// Whether a pattern covers `capability`.
    ///
    /// The first call for an action and a kind compiles the patterns into an index; after it, a call costs some tens
    /// of nanoseconds, whatever the number of patterns.
    pub fn allows(&self, capability: &Capability) -> bool {
        let (primary, kind) = (capability.primary(), capability.kind());
        let slot = primary as usize * Kind::ALL.len() + kind as usize;
        let index = self.0.indexes.get(slot);
        index.is_some_and(|index| {
            index.get_or_init(|| Index::new(self.patterns(), primary, kind)).matches(capability)
        })
    }

    /// The first pattern that covers `capability`, for explaining why it is allowed.
    pub fn granting(&self, capability: &Capability) -> Option<&Pattern> {
        self.patterns().iter().find(|pattern| pattern.matches(capability))
    }

    /// Whether there is any item of `kind` that `primary` is allowed on; a search of a kind needs this, and then
    /// [`allows`](Self::allows) for each item that it shows (`SPEC 9.3`).
    pub fn allows_some(&self, primary: Primary, kind: Kind) -> bool {
        let items = pattern::all_items(primary, kind);
        let globs = items.globs();
        globs
            .iter()
            .any(|glob| self.patterns().iter().any(|pattern| inclusion::may_meet(glob, pattern)))
    }

    /// The patterns that another one of the grant covers, each with that one: without the first of each pair, the grant
    /// allows the same. Of patterns that mean the same, the first stays.
    ///
    /// All pairs are decided within a fixed amount of work; a grant of many hundred patterns, or of patterns that are made
    /// to be hard, may have more than are found.
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

    /// Whether this grant allows everything that `other` allows, decided over all capabilities that can be written.
    ///
    /// The patterns count together: `rye.load.*` and `rye.search.*` cover `rye.fetch.*`, though neither does alone.
    ///
    /// # Errors
    ///
    /// A [`CounterExample`] as for [`Pattern::covers`], for the first pattern of `other` that is not covered.
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

/// Nothing is granted.
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
