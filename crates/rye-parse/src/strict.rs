//! Conversion of any serde format to a JSON object without loss of keys, digits or places.
//!
//! Plain deserialization keeps the last of two equal keys and turns an infinite number into null. Here both are
//! refused. Keys and texts that the source contains literally keep their places.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    ops::Range,
};

use serde_json::{Map, Value};

use crate::{Problem, ProblemKind, problem::Report, span::place_in, suggest::suggestion};

mod field;
mod visit;

/// The greatest weight of a document: one for each value, plus the length of its text. It limits the expansion of
/// aliases.
const BUDGET: usize = 1024 * 1024;

/// The name of a tag in messages.
const TAG: &str = "a YAML tag";

/// The greatest depth at which places are kept.
const PLACED_DEPTH: usize = 7;

/// A mapping with the places of its keys.
#[derive(Debug)]
pub(crate) struct Document {
    /// The mapping, in document order.
    pub(crate) value: Map<String, Value>,
    places: BTreeMap<Vec<String>, Range<usize>>,
    /// The first line, as the place of the whole document.
    start: Range<usize>,
}

impl Document {
    /// Makes a mapping without keys.
    pub(crate) fn empty() -> Self {
        Self { value: Map::new(), places: BTreeMap::new(), start: 0..0 }
    }

    /// Returns the place of a key. If it has none, returns that of the nearest key around it, or else the first line.
    pub(crate) fn place(&self, path: &[&str]) -> Range<usize> {
        (1..=path.len())
            .rev()
            .filter_map(|length| path.get(..length))
            .find_map(|path| {
                self.places.get(&path.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>())
            })
            .unwrap_or(&self.start)
            .clone()
    }

    /// Returns the place of a key or list element. If it has none, returns that of the first key inside it, or else the
    /// result of [`place`](Self::place).
    pub(crate) fn place_of_value(&self, path: &[&str]) -> Range<usize> {
        let wanted: Vec<String> = path.iter().map(|key| (*key).to_owned()).collect();
        let inside = self.places.range(wanted.clone()..);
        let inside = inside.take_while(|(path, _)| path.starts_with(&wanted));
        let first = inside.filter(|_| !wanted.is_empty()).map(|(_, place)| place.clone());
        // The key itself sorts before the keys inside it.
        match self.places.get(&wanted).cloned().or_else(|| first.min_by_key(|place| place.start)) {
            Some(place) => place,
            None => self.place(path),
        }
    }
}

/// The data that is collected during the parsing of a document.
pub(crate) struct Collector<'t> {
    text: &'t str,
    /// The position of `text` in the file.
    base: usize,
    format: &'static str,
    path: RefCell<Vec<String>>,
    places: RefCell<BTreeMap<Vec<String>, Range<usize>>>,
    duplicates: RefCell<Vec<(String, Option<Range<usize>>)>>,
    /// The reason why parsing was stopped, if the error of the format does not contain it.
    refusal: RefCell<Option<(ProblemKind, Option<Range<usize>>)>>,
    weight: Cell<usize>,
}

impl<'t> Collector<'t> {
    /// Makes a collector for a text at `base` in the file.
    pub(crate) fn new(text: &'t str, base: usize, format: &'static str) -> Self {
        Self {
            text,
            base,
            format,
            path: RefCell::default(),
            places: RefCell::default(),
            duplicates: RefCell::default(),
            refusal: RefCell::default(),
            weight: Cell::new(0),
        }
    }

    /// Returns a seed that reads one value.
    pub(crate) fn seed(&self) -> visit::Seed<'_, 't> {
        visit::Seed(self)
    }

    /// Returns `true` if parsing was stopped because of a tag.
    pub(crate) fn met_a_tag(&self) -> bool {
        let refusal = self.refusal.borrow();
        matches!(&*refusal, Some((ProblemKind::Unsupported { what }, _)) if what == TAG)
    }

    /// Reports the problems of the parsed value, or returns the mapping.
    ///
    /// An error in `result` is the message of the format and its place in the text.
    pub(crate) fn finish(
        self,
        report: &mut Report<'_>,
        result: Result<Value, (String, Option<Range<usize>>)>,
    ) -> Option<Document> {
        let start = first_line(report.source, self.base..self.base + self.text.len());
        for (key, place) in self.duplicates.take() {
            let problem = Problem::new(
                ProblemKind::DuplicateKey { key },
                place.unwrap_or(start.clone()),
                "given before",
            );
            report.error(problem.help("keep one of them"));
        }
        match result {
            Ok(Value::Object(value)) => Some(Document { value, places: self.places.take(), start }),
            Ok(value) => {
                let what = format!("the {} document", self.format);
                let problem = wrong_type(report.source, what, &value, "a mapping", start);
                report.error(problem.help("write `key: value` pairs"));
                None
            }
            Err((message, place)) => {
                let place =
                    place.map_or(start, |place| self.base + place.start..self.base + place.end);
                report.error(match self.refusal.take() {
                    Some((kind, at)) => Problem::new(kind, at.unwrap_or(place), "refused here"),
                    None => {
                        let help = help(&message);
                        let kind = ProblemKind::Syntax { format: self.format.to_owned(), message };
                        Problem { help, ..Problem::new(kind, place, "read up to here") }
                    }
                });
                None
            }
        }
    }

    fn place(&self, slice: &str) -> Option<Range<usize>> {
        place_in(self.text, slice).map(|place| self.base + place.start..self.base + place.end)
    }

    /// Records a parsed key. It is the innermost of the path until `leave`.
    fn enter(&self, key: &str, place: Option<Range<usize>>) {
        let mut path = self.path.borrow_mut();
        path.push(key.to_owned());
        if let Some(place) = place.filter(|_| path.len() <= PLACED_DEPTH) {
            self.places.borrow_mut().entry(path.clone()).or_insert(place);
        }
    }

    /// Records the place of a text in a list. A value of a key has the place of its key.
    fn record_value_place(&self, place: Option<Range<usize>>) {
        let path = self.path.borrow();
        if let Some(place) = place.filter(|_| path.len() <= PLACED_DEPTH) {
            self.places.borrow_mut().entry(path.clone()).or_insert(place);
        }
    }

    /// Records the place of the last key of a path, for a format that does not report the places of its keys.
    pub(crate) fn record_place(&self, path: &[String], place: Range<usize>) {
        if path.len() <= PLACED_DEPTH {
            let place = self.base + place.start..self.base + place.end;
            self.places.borrow_mut().entry(path.to_vec()).or_insert(place);
        }
    }

    fn leave(&self) {
        self.path.borrow_mut().pop();
    }

    fn duplicate(&self, key: &str, place: Option<Range<usize>>) {
        self.duplicates.borrow_mut().push((key.to_owned(), place));
    }

    /// Adds to the weight. Returns an error if the weight is too large.
    fn weigh(&self, text: usize) -> Result<(), ProblemKind> {
        self.weight.set(self.weight.get().saturating_add(text).saturating_add(1));
        if self.weight.get() <= BUDGET {
            return Ok(());
        }
        Err(ProblemKind::TooLarge {
            what: "document with its aliases expanded".to_owned(),
            bytes: self.weight.get(),
            limit: BUDGET,
        })
    }
}

/// Returns the first line of a range that is not only white space.
fn first_line(source: &str, range: Range<usize>) -> Range<usize> {
    let text = crate::span::trim_range(source, range);
    let line = source.get(text.clone()).and_then(|text| text.lines().next()).unwrap_or("");
    text.start..text.start + line.trim_end().len()
}

/// A problem with a value of another type than is expected.
pub(crate) fn wrong_type(
    source: &str,
    what: String,
    value: &Value,
    expected: &str,
    place: Range<usize>,
) -> Problem {
    let found = type_name(value).to_owned();
    let kind = ProblemKind::WrongType { what, found, expected: expected.to_owned() };
    let written = written_value(source, place.end, value);
    let problem = Problem::new(kind, place, format!("not {expected}"));
    match (expected, value) {
        ("text", Value::Number(_) | Value::Bool(_)) => {
            problem.help(format!("quote it: `\"{written}\"`"))
        }
        _ => problem,
    }
}

/// Returns a number or a boolean as it is written behind its key, which ends at `key_end`: `1.10` and not `1.1`. If it stands elsewhere,
/// returns it as JSON.
fn written_value(source: &str, key_end: usize, value: &Value) -> String {
    let line = source.get(key_end..).and_then(|rest| rest.lines().next()).unwrap_or_default();
    let behind = line.trim_start_matches(['"', '\'', ' ']).trim_start_matches([':', '=']);
    let behind = behind.split([',', '}', ']']).next().unwrap_or_default();
    let written = behind.split(" #").next().unwrap_or_default().trim();
    let is_same = match value {
        Value::Number(number) => written.parse().ok() == number.as_f64(),
        Value::Bool(bool) => written.parse() == Ok(*bool),
        _ => false,
    };
    if is_same { written.to_owned() } else { value.to_string() }
}

/// A problem with a key that nothing reads.
pub(crate) fn unknown_key(key: &str, known: &[&str], place: Range<usize>) -> Problem {
    let kind = ProblemKind::UnknownKey { key: key.to_owned() };
    Problem::new(kind, place, "nothing reads this").help(suggestion(key, known))
}

/// Returns the type of a value, with its article.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

/// Returns the correct form for a message of the parser, if known.
fn help(message: &str) -> Option<String> {
    let help = match message {
        _ if message.contains("did not find expected key") => {
            "begin the keys of one mapping in the same column"
        }
        _ if message.contains("did not find expected ','") => {
            "separate the elements by commas, and close each `[` and `{`"
        }
        _ if message.contains("mapping values are not allowed") => {
            "begin the keys of one mapping in the same column, and quote a text that holds `: `"
        }
        _ => return None,
    };
    Some(help.to_owned())
}
