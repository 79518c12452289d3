//! `config/agent/resilience.yaml`: what bounds a thread when nothing else says so (SPEC 10.5).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rye_resolve::{Config, Location, Space};
use rye_types::{LimitSet, Nanos, SpendLimit};
use schemars::JsonSchema;
use serde::Deserialize;

use super::read::{ConfigError, ConfigFile, read};
use crate::authoring::{ClassLimits, Complexity};
use crate::shipped::shipped_files;

/// The file that bounds threads.
pub const RESILIENCE_FILE: &str = "agent/resilience";

/// Limits of a thread whose directive and command line set none.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "resilience")]
pub(crate) struct Resilience {
    /// The limits of a thread.
    #[serde(default)]
    pub(crate) limits: LimitsFile,
    /// Limits of simultaneous work.
    #[serde(default)]
    pub(crate) concurrency: ConcurrencyFile,
    /// The limits of new directives, by their complexity.
    #[serde(default)]
    complexity: ComplexityFile,
}

impl ConfigFile for Resilience {
    const FILE: &'static str = RESILIENCE_FILE;
    const SCHEMA: &'static str = "resilience";
}

/// The limits that a new directive gets, by its complexity.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct ComplexityFile {
    /// A few steps, each with one tool.
    #[serde(default)]
    simple: ClassFile,
    /// Steps that depend on what the earlier ones found.
    #[serde(default)]
    moderate: ClassFile,
    /// Many steps, or steps that start threads.
    #[serde(default)]
    complex: ClassFile,
}

/// The limits of one class; one that is left out keeps the value of the next space.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct ClassFile {
    /// The number of requests to the model.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    turns: Option<u64>,
    /// The number of tokens, input and output together.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    tokens: Option<u64>,
    /// The money, in US dollars as decimal text.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^[0-9]{1,9}(\.[0-9]{1,9})?$"))]
    spend: Option<String>,
}

/// Limits of simultaneous work; a missing one keeps the value of the next space.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct ConcurrencyFile {
    /// The most requests that a thread and all threads below it may have under way at once; the others wait
    /// for their turn.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1, max = 10_000))]
    pub(crate) requests: Option<u64>,
}

/// The limits of a thread; one that is left out keeps the value of the next space.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct LimitsFile {
    /// The most requests to the model.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    pub(crate) turns: Option<u64>,
    /// The most tokens, in and out together.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    pub(crate) tokens: Option<u64>,
    /// The most money, in US dollars as decimal text, or `unlimited`.
    #[serde(default)]
    #[schemars(with = "String", regex(pattern = r"^([0-9]{1,9}(\.[0-9]{1,9})?|unlimited)$"))]
    pub(crate) spend: Option<String>,
    /// The most seconds.
    #[serde(default)]
    #[schemars(with = "u64", range(min = 1))]
    pub(crate) duration_seconds: Option<u64>,
    /// The most children.
    #[serde(default)]
    #[schemars(with = "u64")]
    pub(crate) spawns: Option<u64>,
    /// The deepest nesting of children.
    #[serde(default)]
    #[schemars(with = "u64")]
    pub(crate) depth: Option<u64>,
}

/// The limits of the layers of `agent/resilience`.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConfiguredLimits {
    pub(crate) limits: LimitSet,
    /// The file that set a limit, by the limit's name; one that no file set is not here.
    pub(crate) set_by: BTreeMap<&'static str, Location>,
    /// The limits that a file of the operator states, by name, whatever a project lowers.
    pub(crate) by_operator: BTreeSet<&'static str>,
}

/// The limits that the layers of `agent/resilience` set.
///
/// The operator's layers merge, the nearer one first; a project's layer can only lower what they say (SPEC 4.3).
///
/// # Errors
///
/// When a layer breaks the schema.
pub(crate) fn thread_limits(config: Option<&Config>) -> Result<ConfiguredLimits, ConfigError> {
    let mut configured = ConfiguredLimits::default();
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: Resilience = read(layer)?;
        configured.admit(&file.limits, &layer.location);
    }
    Ok(configured)
}

/// Returns how many requests of a tree may be under way at once, by the layers of `agent/resilience`. A
/// project can only lower the number.
///
/// # Errors
///
/// The function fails if a layer breaks the schema.
pub(crate) fn requests_at_once(config: Option<&Config>) -> Result<usize, ConfigError> {
    let mut requests = REQUESTS;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: Resilience = read(layer)?;
        let Some(given) = file.concurrency.requests else { continue };
        let is_project = layer.location.space == Space::Project;
        requests = if is_project { given.min(requests) } else { given };
    }
    Ok(usize::try_from(requests).unwrap_or(usize::MAX).clamp(1, MOST_REQUESTS))
}

/// The limits of a complexity class, by the layers of `agent/resilience`; a project can only lower them.
///
/// # Errors
///
/// When a layer breaks the schema.
pub(crate) fn complexity_limits(
    config: Option<&Config>,
    class: Complexity,
) -> Result<ClassLimits, ConfigError> {
    let mut limits = SHIPPED.complexity.class(class).over(&ClassLimits::new(1, 1, "0"));
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: Resilience = read(layer)?;
        let nearer = file.complexity.class(class).over(&limits);
        let is_project = layer.location.space == Space::Project;
        limits = if is_project { lower_class(&limits, &nearer) } else { nearer };
    }
    Ok(limits)
}

/// The file that comes with the program. It counts also where the spaces do not hold the shipped items.
static SHIPPED: LazyLock<Resilience> = LazyLock::new(|| {
    let file = shipped_files().iter().find(|file| file.path == "config/agent/resilience.yaml");
    let file = file.expect("because it is shipped");
    let value = rye_parse::config(file.text, "yaml").expect("because the shipped items are tested");
    serde_json::from_value(value).expect("because the shipped items are tested")
});

impl ComplexityFile {
    fn class(&self, class: Complexity) -> &ClassFile {
        match class {
            Complexity::Simple => &self.simple,
            Complexity::Moderate => &self.moderate,
            Complexity::Complex => &self.complex,
        }
    }
}

impl ClassFile {
    fn over(&self, far: &ClassLimits) -> ClassLimits {
        let spend = self.spend.as_deref().unwrap_or(&far.spend);
        ClassLimits::new(self.turns.unwrap_or(far.turns), self.tokens.unwrap_or(far.tokens), spend)
    }
}

/// The lower of each limit. Text that is no money lowers nothing; the schema does not admit it.
fn lower_class(far: &ClassLimits, near: &ClassLimits) -> ClassLimits {
    let money = |text: &str| text.parse::<Nanos>().ok();
    let is_lower =
        matches!((money(&near.spend), money(&far.spend)), (Some(near), Some(far)) if near < far);
    let spend = if is_lower { &near.spend } else { &far.spend };
    ClassLimits::new(near.turns.min(far.turns), near.tokens.min(far.tokens), spend)
}

const REQUESTS: u64 = 16;
const MOST_REQUESTS: usize = 10_000;

impl ConfiguredLimits {
    fn admit(&mut self, file: &LimitsFile, location: &Location) {
        let before = self.limits.clone();
        let nearer = file.over(&self.limits);
        let is_project = location.space == Space::Project;
        self.limits = if is_project { lower_of(&before, &nearer) } else { nearer };
        for (name, differs) in differences(&before, &self.limits) {
            if matches!(location.space, Space::User | Space::System) && file.states(name) {
                self.by_operator.insert(name);
            }
            // A project that repeats what the operator says sets nothing.
            if differs || (!is_project && file.states(name)) {
                self.set_by.insert(name, location.clone());
            }
        }
    }
}

/// The limits by name, and whether the two sets disagree on them.
fn differences(a: &LimitSet, b: &LimitSet) -> [(&'static str, bool); 6] {
    [
        ("turns", a.turns != b.turns),
        ("tokens", a.tokens != b.tokens),
        ("spend", a.spend != b.spend),
        ("duration_seconds", a.duration_seconds != b.duration_seconds),
        ("spawns", a.spawns != b.spawns),
        ("depth", a.depth != b.depth),
    ]
}

impl LimitsFile {
    fn states(&self, name: &str) -> bool {
        match name {
            "turns" => self.turns.is_some(),
            "tokens" => self.tokens.is_some(),
            "spend" => self.spend.is_some(),
            "duration_seconds" => self.duration_seconds.is_some(),
            "spawns" => self.spawns.is_some(),
            _ => self.depth.is_some(),
        }
    }

    fn over(&self, far: &LimitSet) -> LimitSet {
        let mut limits = far.clone();
        let fields = [
            (&mut limits.turns, self.turns),
            (&mut limits.tokens, self.tokens),
            (&mut limits.duration_seconds, self.duration_seconds),
            (&mut limits.spawns, self.spawns),
            (&mut limits.depth, self.depth),
        ];
        for (limit, given) in fields {
            *limit = given.unwrap_or(*limit);
        }
        // The schema admits only what can be read.
        let spend = self.spend.as_deref().and_then(|text| text.parse().ok());
        limits.spend = spend.unwrap_or(limits.spend);
        limits
    }
}

fn lower_of(a: &LimitSet, b: &LimitSet) -> LimitSet {
    let mut lower = a.clone();
    lower.turns = a.turns.min(b.turns);
    lower.tokens = a.tokens.min(b.tokens);
    lower.duration_seconds = a.duration_seconds.min(b.duration_seconds);
    lower.spawns = a.spawns.min(b.spawns);
    lower.depth = a.depth.min(b.depth);
    lower.spend = match (a.spend, b.spend) {
        (SpendLimit::AtMost(a), SpendLimit::AtMost(b)) => SpendLimit::AtMost(a.min(b)),
        (SpendLimit::AtMost(cap), SpendLimit::Unlimited)
        | (SpendLimit::Unlimited, SpendLimit::AtMost(cap)) => SpendLimit::AtMost(cap),
        (SpendLimit::Unlimited, SpendLimit::Unlimited) => SpendLimit::Unlimited,
    };
    lower
}
