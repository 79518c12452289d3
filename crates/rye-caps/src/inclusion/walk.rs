//! The search for a capability that one glob covers and other globs cover, or do not cover.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::{
    automaton::{Automaton, Positions},
    capability::{Capability, Kind, MAX_ID_BYTES, Primary},
    letters::{self, Letters},
    pattern::{Glob, Token},
};

/// The most steps of automata and comparisons of states in one walk: some milliseconds.
const BUDGET: usize = 1_000_000;

/// A breadth-first walk over the capabilities that the inner glob covers.
///
/// The walk follows one state of the inner automaton at a time, together with all states of the outer automata. It
/// skips a node if an earlier one has the same inner state and outer states that suit the goal at least as well.
#[derive(Debug)]
pub(super) struct Walk<'a> {
    inner: Automaton<'a>,
    outer: Vec<Automaton<'a>>,
    /// The side to which each outer automaton belongs.
    sides: Vec<usize>,
    n_sides: usize,
    goal: Goal,
    /// One byte for each set of bytes that the globs do not distinguish after the current head.
    alphabet: Vec<u8>,
    work: usize,
    budget: usize,
}

/// The capability to find among those that the inner glob covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    /// A capability that no outer glob covers.
    Outside,
    /// A capability that an outer glob of each side covers.
    Inside,
}

/// The walk exceeded its budget of work.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exhausted;

#[derive(Debug, Clone)]
struct Node {
    /// One state and the states that it reaches without a byte.
    inner: Positions,
    outer: Vec<Positions>,
    /// The index of the previous node, and the byte that leads from it to this one.
    from: Option<(usize, u8)>,
    depth: usize,
}

/// The outer states of the visited nodes, by their inner state.
type Seen = BTreeMap<usize, Vec<Vec<Positions>>>;

impl<'a> Walk<'a> {
    pub(super) fn new(inner: &'a Glob, outer: &[&'a Glob], goal: Goal) -> Self {
        Self::between(inner, &[outer.to_vec()], goal)
    }

    /// Makes a walk with several sides, each with its own globs.
    pub(super) fn between(inner: &'a Glob, outer: &[Vec<&'a Glob>], goal: Goal) -> Self {
        let sides =
            outer.iter().enumerate().flat_map(|(side, globs)| globs.iter().map(move |_| side));
        let sides = sides.collect();
        let n_sides = outer.len();
        let inner = Automaton::new(inner);
        let outer = outer.iter().flatten().map(|glob| Automaton::new(glob)).collect();
        let alphabet = Vec::new();
        Self { inner, outer, sides, n_sides, goal, alphabet, work: 0, budget: BUDGET }
    }

    /// Returns the same walk with another budget of work.
    pub(super) fn within(self, budget: usize) -> Self {
        Self { budget, ..self }
    }

    /// The work done so far.
    pub(super) fn work(&self) -> usize {
        self.work
    }

    /// Finds the shortest capability that meets the goal, for the first action and kind that have one.
    pub(super) fn find(&mut self) -> Result<Option<Capability>, Exhausted> {
        for &primary in Primary::ALL {
            for &kind in Kind::ALL {
                if let Some(id) = self.find_id(&format!("rye.{primary}.{kind}."))? {
                    let capability = Capability::new(primary, kind, &id)
                        .expect("because the walk keeps to the first letter, the alphabet and the length of ids");
                    return Ok(Some(capability));
                }
            }
        }
        Ok(None)
    }

    fn find_id(&mut self, head: &str) -> Result<Option<String>, Exhausted> {
        let mut nodes = self.starts(head);
        let mut queue: VecDeque<usize> = (0..nodes.len()).collect();
        let mut seen = Seen::new();
        while let Some(index) = queue.pop_front() {
            let Some(node) = nodes.get(index).cloned() else { break };
            for next in self.following(index, &node)? {
                if self.is_goal(&next) {
                    nodes.push(next);
                    return Ok(Some(spell_id(&nodes)));
                }
                if self.admit(&mut seen, &next)? {
                    queue.push_back(nodes.len());
                    nodes.push(next);
                }
            }
        }
        Ok(None)
    }

    /// The nodes after `head`, before the first byte of the id.
    fn starts(&mut self, head: &str) -> Vec<Node> {
        let inner = self.inner.after(head);
        if inner.is_empty() {
            return Vec::new();
        }
        let outer: Vec<_> = self.outer.iter().map(|automaton| automaton.after(head)).collect();
        let ahead =
            self.outer.iter().zip(&outer).flat_map(|(automaton, &states)| automaton.ahead(states));
        self.alphabet = representatives(self.inner.ahead(inner).iter().chain(ahead));
        let states = self.inner.generators(inner);
        states.map(|inner| Node { inner, outer: outer.clone(), from: None, depth: 0 }).collect()
    }

    /// The nodes one byte after `node`, whose index is `index`.
    fn following(&mut self, index: usize, node: &Node) -> Result<Vec<Node>, Exhausted> {
        let mut following = Vec::new();
        for &byte in &self.alphabet {
            let inner = self.inner.next(node.inner, byte);
            if inner.is_empty() || !may_stand(byte, node.depth) {
                continue;
            }
            let outer: Vec<_> = self
                .outer
                .iter()
                .zip(&node.outer)
                .map(|(automaton, &states)| automaton.next(states, byte))
                .collect();
            self.work += 1 + outer.len();
            let from = Some((index, byte));
            let depth = node.depth + 1;
            let states = self.inner.generators(inner);
            following.extend(states.map(|inner| Node { inner, outer: outer.clone(), from, depth }));
        }
        self.check_budget()?;
        Ok(following)
    }

    fn is_goal(&self, node: &Node) -> bool {
        let accepts = |place: usize, states: &Positions| {
            self.outer.get(place).is_some_and(|automaton| automaton.accepts(*states))
        };
        let inside = self.on_each_side(node, accepts);
        self.inner.accepts(node.inner) && inside == (self.goal == Goal::Inside)
    }

    /// Returns `true` if on each side `holds` returns `true` for at least one automaton, given its index and its
    /// states.
    fn on_each_side(&self, node: &Node, holds: impl Fn(usize, &Positions) -> bool) -> bool {
        (0..self.n_sides).all(|side| {
            let mut states = node.outer.iter().enumerate().zip(&self.sides);
            states.any(|((place, states), own)| *own == side && holds(place, states))
        })
    }

    /// Returns `true` if `node` may lead to a capability that no earlier node reaches in as few bytes.
    fn admit(&mut self, seen: &mut Seen, node: &Node) -> Result<bool, Exhausted> {
        let may_be_met = |_: usize, states: &Positions| !states.is_empty();
        if self.goal == Goal::Inside && !self.on_each_side(node, may_be_met) {
            return Ok(false);
        }
        let known = seen.entry(node.inner.first()).or_default();
        self.work += 1 + known.len() * node.outer.len();
        self.check_budget()?;
        if known.iter().any(|known| self.suits(known, &node.outer)) {
            return Ok(false);
        }
        known.retain(|known| !self.suits(&node.outer, known));
        known.push(node.outer.clone());
        Ok(true)
    }

    /// Returns `true` if every text that reaches the goal from the outer states `worse` also reaches it from `better`.
    fn suits(&self, better: &[Positions], worse: &[Positions]) -> bool {
        better.iter().zip(worse).all(|(better, worse)| match self.goal {
            Goal::Outside => better.is_subset(*worse),
            Goal::Inside => worse.is_subset(*better),
        })
    }

    fn check_budget(&self) -> Result<(), Exhausted> {
        if self.work > self.budget { Err(Exhausted) } else { Ok(()) }
    }
}

/// Returns `true` if an id may have `byte` after its first `depth` bytes.
fn may_stand(byte: u8, depth: usize) -> bool {
    depth < MAX_ID_BYTES && (depth > 0 || letters::holds(letters::WORD, [byte]))
}

/// Returns the bytes that lead to the last of `nodes`.
fn spell_id(nodes: &[Node]) -> String {
    let mut bytes = Vec::new();
    let mut node = nodes.last();
    while let Some((index, byte)) = node.and_then(|node| node.from) {
        bytes.push(char::from(byte));
        node = nodes.get(index);
    }
    bytes.into_iter().rev().collect()
}

/// Returns one byte for each set of bytes that neither a token nor a rule of ids distinguishes.
fn representatives<'a>(tokens: impl Iterator<Item = &'a Token>) -> Vec<u8> {
    let mut sets: Vec<Letters> = vec![letters::WORD, letters::SUBJECT & !letters::WORD];
    let mut split = BTreeSet::new();
    for token in tokens {
        let Token::One(letters) = token else { continue };
        if !split.insert(*letters) {
            continue;
        }
        sets = sets
            .into_iter()
            .flat_map(|set| [set & letters, set & !letters])
            .filter(|&set| set != 0)
            .collect();
    }
    let firsts = sets.into_iter().filter_map(first);
    let firsts = firsts.fold(0, |firsts, byte| firsts | letters::one(byte));
    BY_LEGIBILITY.iter().copied().filter(|&byte| letters::holds(firsts, [byte])).collect()
}

fn first(set: Letters) -> Option<u8> {
    BY_LEGIBILITY.iter().copied().find(|&byte| letters::holds(set, [byte]))
}

/// The bytes of capabilities, the most readable in messages first.
const BY_LEGIBILITY: &[u8; 65] =
    b"xyzabcdefghijklmnopqrstuvw0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_.-";

#[cfg(test)]
mod tests;
