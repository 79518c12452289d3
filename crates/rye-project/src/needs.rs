//! Needs: the capabilities that a directive has to be allowed, and the permissions that cover them (SPEC 9.7).
//!
//! The needs are those of its steps and hooks, of the directives that these execute, and all that its children declare.
//! What its text may have a model do is not known. Checks, explanations, privileges and runs ask here alone.

mod block;
mod calls;
mod follow;
mod items;
mod order;
mod placed;
mod prose;
mod refused_starts;
mod start;
mod uses;
mod walk;

use std::collections::{BTreeSet, HashSet};
use std::fmt;

use rye_caps::{Capability, Kind, Pattern, Primary};
use rye_resolve::ItemId;
use rye_thread::{THREAD_DIRECTIVE, ThreadId};
use rye_types::ItemKind;

pub use self::block::block;
pub(crate) use self::block::element;
pub(crate) use self::calls::is_return;
pub use self::calls::{Callee, callee};
pub use self::follow::needs_of;
pub(crate) use self::follow::{needs_of_hook_action, needs_of_step_call};
pub use self::items::{CalledDirective, CalledItems, LibraryItems};
pub(crate) use self::order::{LaterRefusal, refused_later};
pub use self::placed::{GivenInputs, StepCall, step_calls};
use self::prose::Mentions;
pub(crate) use self::refused_starts::{RefusedStart, StartReason};
use self::start::Start;
pub use self::uses::{Use, is_denied, least, uses_as_written};
pub(crate) use self::walk::Walk;

/// Something that a directive has to be allowed, and where that is known from.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The needed pattern, which is mostly one capability. A search has wildcards, and so has a step that
    /// leaves a part of an id to a placeholder.
    pub pattern: Pattern,
    /// The sources of the need, in the order in which they were found, each once.
    pub sources: Vec<NeedSource>,
}

impl Need {
    /// Returns `true` if a call needs it. Otherwise it is declared by a child, which starts without it as well (SPEC D6).
    #[must_use]
    pub fn is_of_a_call(&self) -> bool {
        self.sources.iter().any(|source| !matches!(source, NeedSource::Declared(_)))
    }
}

/// The source of a need.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum NeedSource {
    /// The step of this name; its place from 1, where it has none.
    Step(String),
    /// The thread of this id, which called it.
    Thread(ThreadId),
    /// The hook of this id, of the chain or of a hooks file.
    Hook(String),
    /// A step of this directive, which a child runs.
    Child(ItemId),
    /// The declaration of this directive, which a child runs. A model may use it, and none of its steps says so.
    Declared(ItemId),
    /// A step of this directive, which is carried out in the same thread.
    Executed(ItemId),
}

impl fmt::Display for NeedSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Step(name) => write!(f, "step `{name}`"),
            Self::Thread(thread) => write!(f, "thread `{thread}`"),
            Self::Hook(id) => write!(f, "hook `{id}`"),
            Self::Child(id) | Self::Declared(id) => write!(f, "child `{id}`"),
            Self::Executed(id) => write!(f, "executed directive `{id}`"),
        }
    }
}

/// All needs that are known, and what is not.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Needs {
    /// Sorted by their pattern.
    pub needs: Vec<Need>,
    /// A sentence for each part of the directive whose needs are not known.
    pub unjudged: Vec<String>,
    /// The same sentences, to find one again.
    known_unjudged: HashSet<String>,
    /// `true` if the calls of threads say what the unknown parts need.
    is_told_by_threads: bool,
    /// `true` if a child has permissions that are not known.
    has_unknown_child: bool,
    /// The items that calls of steps bring into the thread, in the order of the calls.
    taken: Vec<TakenItem>,
    /// The needs of steps whose calls come after items were taken in.
    later: Vec<LaterNeed>,
    /// The calls of steps that start a thread, in their order.
    starts: Vec<Start>,
    /// The turns and steps of a run without a model.
    pub(crate) walk: Walk,
    /// The needs of calls that execute a directive as a thread, which stands for the function that starts threads.
    forked: BTreeSet<Pattern>,
    /// The items that followed directives name by their inputs, and that no space has.
    missing: Vec<MissingItem>,
    /// The texts that may need what they name.
    mentions: Mentions,
}

/// An item that a call of a step brings into the thread (SPEC D16).
#[derive(Debug, Clone, PartialEq, Eq)]
struct TakenItem {
    kind: ItemKind,
    id: ItemId,
    /// The step that executes it.
    source: NeedSource,
}

/// A need of a call that comes after other calls.
#[derive(Debug, Clone)]
struct LaterNeed {
    pattern: Pattern,
    source: NeedSource,
    /// The number of the items that are taken in before.
    taken: usize,
}

/// An item that is not there, and that a directive names by an input which the call of it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingItem {
    pub(crate) kind: ItemKind,
    pub(crate) id: ItemId,
    /// The child or executed directive that names it.
    pub(crate) source: NeedSource,
    /// The step that starts or executes the directive.
    pub(crate) step: String,
}

impl Needs {
    /// Returns the items that directives below name by inputs that are given to them, and that no space has.
    pub(crate) fn missing_below(&self) -> &[MissingItem] {
        &self.missing
    }

    /// Returns the function that starts threads, if a call needs this to execute a directive as a thread.
    pub(crate) fn function_of_fork(&self, pattern: &Pattern) -> Option<Capability> {
        let starting = Capability::new(Primary::Execute, Kind::Tool, THREAD_DIRECTIVE).ok();
        starting.filter(|_| self.forked.contains(pattern))
    }

    /// Adds a need, or one more source of it.
    pub fn add(&mut self, pattern: Pattern, source: &NeedSource) {
        let place = self.needs.binary_search_by(|need| need.pattern.cmp(&pattern));
        let place = place.unwrap_or_else(|place| {
            self.needs.insert(place, Need { pattern, sources: Vec::new() });
            place
        });
        if let Some(need) = self.needs.get_mut(place).filter(|need| !need.sources.contains(source))
        {
            need.sources.push(source.clone());
        }
    }

    /// Takes the calls of threads for all that the unknown parts need.
    pub fn tell_by_threads(&mut self) {
        self.is_told_by_threads = true;
    }

    /// Returns `true` if there may be needs that are not known.
    #[must_use]
    pub fn are_open(&self) -> bool {
        self.has_unknown_child || (!self.unjudged.is_empty() && !self.is_told_by_threads)
    }

    /// Returns `true` if a text for a model names what the pattern grants, and no thread tells what the model needs.
    fn may_be_meant(&self, pattern: &Pattern) -> bool {
        !self.is_told_by_threads && self.mentions.name(pattern)
    }

    /// Leaves out what is granted in another way.
    pub(crate) fn forget(&mut self, pattern: &Pattern) {
        self.needs.retain(|need| need.pattern != *pattern);
        self.later.retain(|need| need.pattern != *pattern);
    }

    fn add_unjudged(&mut self, reason: String) {
        if self.known_unjudged.insert(reason.clone()) {
            self.unjudged.push(reason);
        }
    }
}
