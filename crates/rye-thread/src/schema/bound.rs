//! The work that a JSON schema describes, counted before the schema is compiled.
//!
//! A reference stands for what it refers to, so that a schema is as large as the text with all references written out. A
//! schema that refers to itself is counted up to there: the value that it checks has an end. Where one value is checked by
//! the same schema in several ways, each level of nesting multiplies the work, which bounds the levels.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// The most parts of a schema with all references written out.
const MAX_PARTS: u64 = 20_000;

/// The deepest nesting of a schema with all references written out, as that of JSON texts.
const MAX_DEPTH: usize = 128;

/// The most checks that the nesting of a value may multiply to.
const MAX_CHECKS: u64 = 1_000_000;

/// The most patterns of a schema, and the most bytes that all of them may have. Each is compiled to a program that is up to a
/// thousand times larger.
const MAX_PATTERNS: usize = 200;
const MAX_PATTERN_BYTES: usize = 64 * 1024;

/// The bound of a schema that may be compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bound {
    /// The deepest nesting of a value that takes at most [`MAX_CHECKS`]; `None` for any.
    pub(super) depth: Option<usize>,
    /// The number of parts with all references written out.
    pub(super) parts: u64,
}

/// One step from a value to the values in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step<'s> {
    Member(&'s str),
    /// Any member or item.
    Any,
}

/// A reference that is being followed.
struct Followed<'s> {
    target: &'s Value,
    /// The length of the path at which it was met.
    start: usize,
    /// The paths at which the target refers to itself, from its own value on.
    repeats: Vec<Vec<Step<'s>>>,
}

struct Counter<'s> {
    root: &'s Value,
    anchors: BTreeMap<&'s str, &'s Value>,
    left: u64,
    path: Vec<Step<'s>>,
    followed: Vec<Followed<'s>>,
    depth: Option<usize>,
}

/// A schema in the schema: how often the library looks at each of its parts, and its depth.
#[derive(Clone, Copy)]
struct Place {
    weight: u64,
    depth: usize,
}

impl Bound {
    /// Counts the work of `schema`.
    ///
    /// # Errors
    ///
    /// The reason in words. The schema is too large or too deep with all references written out, a reference leads out of it, or it
    /// refers to itself without an end.
    pub(super) fn of(schema: &Value) -> Result<Self, String> {
        let mut counter = Counter {
            root: schema,
            anchors: BTreeMap::new(),
            left: MAX_PARTS,
            path: Vec::new(),
            followed: Vec::new(),
            depth: None,
        };
        patterns_are_few(schema)?;
        counter.gather(schema)?;
        counter.enter(schema, Place { weight: 1, depth: 0 })?;
        Ok(Self { depth: counter.depth, parts: MAX_PARTS - counter.left })
    }
}

impl<'s> Counter<'s> {
    /// Gathers the anchors. A part with an id of its own would give the references below it another meaning.
    fn gather(&mut self, value: &'s Value) -> Result<(), String> {
        match value {
            Value::Object(members) => {
                self.name(value, members)?;
                members.values().try_for_each(|value| self.gather(value))
            }
            Value::Array(items) => items.iter().try_for_each(|value| self.gather(value)),
            _ => Ok(()),
        }
    }

    fn name(&mut self, part: &'s Value, members: &'s Map<String, Value>) -> Result<(), String> {
        let text = |key| members.get(key).and_then(Value::as_str);
        // In the oldest draft, the id is called `id`.
        if let Some(id) = text("$id").or_else(|| text("id").filter(|_| self.is_draft_4()))
            && !std::ptr::eq(part, self.root)
        {
            return Err(format!("a part of it has an id of its own, `{id}`"));
        }
        for name in ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text) {
            if self.anchors.insert(name, part).is_some() {
                return Err(format!("the anchor `{name}` stands in it twice"));
            }
        }
        Ok(())
    }

    fn is_draft_4(&self) -> bool {
        let draft = self.root.get("$schema").and_then(Value::as_str);
        draft.is_some_and(|draft| draft.contains("draft-04"))
    }

    /// Counts what a reference leads to, or the schema as a whole.
    fn enter(&mut self, target: &'s Value, place: Place) -> Result<(), String> {
        let start = self.path.len();
        self.followed.push(Followed { target, start, repeats: Vec::new() });
        self.count(target, place)?;
        let repeats = self.followed.pop().map(|it| it.repeats).unwrap_or_default();
        if let Some(limit) = deepest(&repeats) {
            self.depth = Some(self.depth.map_or(limit, |depth| depth.min(limit)));
        }
        Ok(())
    }

    fn count(&mut self, schema: &'s Value, place: Place) -> Result<(), String> {
        self.left = self.left.checked_sub(place.weight).ok_or_else(too_large)?;
        if MAX_DEPTH < place.depth {
            return Err(format!(
                "it is nested deeper than {MAX_DEPTH} levels with all references written out"
            ));
        }
        let Value::Object(members) = schema else { return Ok(()) };
        // The library finds what is not evaluated yet by a second look at everything beside it.
        let looks = if members.keys().any(|key| key.starts_with("unevaluated")) { 2 } else { 1 };
        let within = Place { weight: place.weight.saturating_mul(looks), depth: place.depth + 1 };
        members.iter().try_for_each(|(key, value)| self.keyword(key, value, within))
    }

    fn keyword(&mut self, key: &str, value: &'s Value, place: Place) -> Result<(), String> {
        match (key, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                self.follow(reference, place)
            }
            ("properties", Value::Object(members)) => members
                .iter()
                .try_for_each(|(name, schema)| self.below(Step::Member(name), schema, place)),
            ("patternProperties", Value::Object(members)) => {
                members.values().try_for_each(|schema| self.below(Step::Any, schema, place))
            }
            ("dependentSchemas" | "dependencies", Value::Object(members)) => {
                members.values().try_for_each(|schema| self.count(schema, place))
            }
            ("allOf" | "anyOf" | "oneOf", Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| self.count(schema, place))
            }
            ("items" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().try_for_each(|schema| self.below(Step::Any, schema, place))
            }
            ("not" | "if" | "then" | "else", schema) => self.count(schema, place),
            (
                "items"
                | "additionalItems"
                | "contains"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedItems"
                | "unevaluatedProperties",
                schema,
            ) => self.below(Step::Any, schema, place),
            // Definitions count where they are referred to; everything else is no schema.
            _ => Ok(()),
        }
    }

    /// Counts the schema of a value in the value.
    fn below(&mut self, step: Step<'s>, schema: &'s Value, place: Place) -> Result<(), String> {
        self.path.push(step);
        self.count(schema, place)?;
        self.path.pop();
        Ok(())
    }

    fn follow(&mut self, reference: &str, place: Place) -> Result<(), String> {
        let target = self.target(reference).ok_or_else(|| {
            format!("the reference `{}` leads to no part of it", reference.escape_debug())
        })?;
        let open = self.followed.iter_mut().find(|it| std::ptr::eq(it.target, target));
        let Some(open) = open else { return self.enter(target, place) };
        let repeat = self.path.get(open.start..).unwrap_or_default().to_vec();
        if repeat.is_empty() {
            return Err(format!("the reference `{reference}` leads back to itself"));
        }
        open.repeats.push(repeat);
        Ok(())
    }

    /// The part that a reference means: `#`, a JSON pointer or an anchor.
    fn target(&self, reference: &str) -> Option<&'s Value> {
        match reference.strip_prefix('#')? {
            "" => Some(self.root),
            pointer if pointer.starts_with('/') => self.root.pointer(&unescape(pointer)?),
            anchor => self.anchors.get(anchor).copied(),
        }
    }
}

/// Decodes the `%` sequences of a fragment (RFC 3986); `None` where one is broken.
fn unescape(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(rest.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = rest.get(2..)?;
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

/// The deepest nesting that a schema with these references to itself may check; `None` where no two of them can meet at one
/// value.
fn deepest(repeats: &[Vec<Step<'_>>]) -> Option<usize> {
    let mut pairs = repeats.iter().enumerate();
    let meets = pairs.any(|(at, path)| repeats.iter().skip(at + 1).any(|it| can_meet(path, it)));
    let ways = u64::try_from(repeats.len()).unwrap_or(u64::MAX);
    let levels = || {
        std::iter::successors(Some(ways), |checks| checks.checked_mul(ways))
            .take_while(|checks| *checks <= MAX_CHECKS)
            .count()
    };
    meets.then(levels)
}

/// Returns `true` if one of the paths can lead to the same value as the other, or through it.
fn can_meet(path: &[Step<'_>], other: &[Step<'_>]) -> bool {
    let is_same = |(one, two): (&Step<'_>, &Step<'_>)| {
        one == two || matches!(one, Step::Any) || matches!(two, Step::Any)
    };
    path.iter().zip(other).all(is_same)
}

/// Counts the patterns of a schema before any of them is compiled.
fn patterns_are_few(schema: &Value) -> Result<(), String> {
    let mut patterns = Vec::new();
    gather_patterns(schema, &mut patterns);
    if MAX_PATTERNS < patterns.len() {
        return Err(format!(
            "it has {} patterns, and at most {MAX_PATTERNS} are read",
            patterns.len()
        ));
    }
    let bytes: usize = patterns.iter().map(|pattern| pattern.len()).sum();
    if MAX_PATTERN_BYTES < bytes {
        return Err(format!(
            "its patterns have {bytes} bytes, and at most {MAX_PATTERN_BYTES} are read"
        ));
    }
    match patterns.iter().find(|pattern| changes_flags(pattern)) {
        None => Ok(()),
        Some(pattern) => Err(format!(
            "the pattern `{}` changes its flags, which the patterns of a JSON schema cannot (ECMA-262)",
            pattern.chars().take(64).collect::<String>().escape_debug()
        )),
    }
}

fn gather_patterns<'s>(value: &'s Value, patterns: &mut Vec<&'s str>) {
    match value {
        Value::Object(members) => {
            patterns.extend(members.get("pattern").and_then(Value::as_str));
            let named = members.get("patternProperties").and_then(Value::as_object);
            patterns.extend(named.into_iter().flat_map(|named| named.keys().map(String::as_str)));
            members.values().for_each(|value| gather_patterns(value, patterns));
        }
        Value::Array(items) => items.iter().for_each(|value| gather_patterns(value, patterns)),
        _ => {}
    }
}

/// Returns `true` if a pattern has a group that ignores case. The library multiplies each range of characters then. A
/// group that ignores blanks counts too, because blanks within a later group would hide its flags.
fn changes_flags(pattern: &str) -> bool {
    pattern.split("(?").skip(1).any(|group| {
        let flags = group.chars().take_while(|c| c.is_ascii_alphabetic() || *c == '-');
        let named = group.starts_with("P<") || group.starts_with('<');
        !named && flags.into_iter().any(|flag| matches!(flag, 'i' | 'x'))
    })
}

fn too_large() -> String {
    format!("it has more than {MAX_PARTS} parts with all references written out")
}

#[cfg(test)]
mod tests;
