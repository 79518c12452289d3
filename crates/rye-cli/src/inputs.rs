//! Inputs on the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::path::Path;
use std::str::FromStr;

use clap::Args;
use serde_json::{Map, Value};

use crate::environment::{read_named, read_standard_input};
use crate::failure::Failure;

/// The inputs of a directive.
#[derive(Debug, Args)]
pub(crate) struct Given {
    /// An input of the directive (may be given many times); text becomes the declared type. `@FILE` as the value takes
    /// the text of a file, and `-` takes standard input
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    inputs: Vec<NameAndValue>,
    /// The same with the value as it stands, for a text that is `-` or begins with `@`
    #[arg(long = "raw-input", value_name = "NAME=TEXT")]
    raw: Vec<NameAndValue>,
}

/// The arguments of a tool.
#[derive(Debug, Args)]
pub(crate) struct GivenArguments {
    /// An argument of the tool (may be given many times); text becomes the type in the tool's schema. `@FILE` as the value takes
    /// the text of a file, and `-` takes standard input
    #[arg(value_name = "NAME=VALUE")]
    arguments: Vec<NameAndValue>,
    /// The same as an option, as `rye run` has it
    #[arg(long = "input", short = 'i', value_name = "NAME=VALUE")]
    inputs: Vec<NameAndValue>,
    /// The same with the value as it stands, for a text that is `-` or begins with `@`
    #[arg(long = "raw-input", value_name = "NAME=TEXT")]
    raw: Vec<NameAndValue>,
}

impl GivenArguments {
    /// Returns the values by name. Fails if a name is given twice.
    pub(crate) fn bound(&self) -> Result<Map<String, Value>, Failure> {
        let read = self.arguments.iter().chain(&self.inputs);
        Ok(values(read, &self.raw, "argument")?.into_iter().collect())
    }
}

#[derive(Debug, Clone)]
struct NameAndValue {
    name: String,
    value: String,
}

impl FromStr for NameAndValue {
    type Err = Infallible;

    /// A text without a name is kept with an empty one, so that it is told together with the mistakes of the others.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                Self { name: name.to_owned(), value: value.to_owned() }
            }
            _ => Self { name: String::new(), value: text.to_owned() },
        })
    }
}

/// Returns the values by name. Fails if a name is given twice.
pub(crate) fn bound(given: &Given) -> Result<BTreeMap<String, Value>, Failure> {
    values(given.inputs.iter(), &given.raw, "input")
}

/// Returns the values by name, those of `raw` without a reading. `what` is the word for a value in messages.
fn values<'a>(
    read: impl Iterator<Item = &'a NameAndValue> + Clone,
    raw: &'a [NameAndValue],
    what: &str,
) -> Result<BTreeMap<String, Value>, Failure> {
    let mut problems: Vec<String> = Vec::new();
    let formless = read.clone().chain(raw).filter(|given| given.name.is_empty());
    problems.extend(formless.map(|given| {
        let text = &given.value;
        format!("`{text}` is no {what}; write it as NAME=VALUE")
    }));
    let mut from_standard_input = read.clone().filter(|given| is_standard_input(&given.value));
    if from_standard_input.nth(1).is_some() {
        problems.push(format!("only one {what} can be read from standard input"));
    }
    let mut names = BTreeSet::new();
    let named = |given: &&NameAndValue| !given.name.is_empty();
    let twice = read.clone().chain(raw).filter(named).filter(|given| !names.insert(&given.name));
    problems.extend(twice.map(|given| format!("{what} `{}` is given twice", given.name)));
    let as_they_stand =
        raw.iter().map(|NameAndValue { name, value }| (name.clone(), value.as_str().into()));
    let mut values: BTreeMap<String, Value> = as_they_stand.collect();
    let mut unread: Vec<Failure> = Vec::new();
    // Standard input is read once, and only if there is no mistake.
    let reads = problems.is_empty();
    for NameAndValue { name, value } in read.filter(|it| reads || !is_standard_input(&it.value)) {
        match text(value) {
            Ok(text) => drop(values.insert(name.clone(), Value::from(text))),
            Err(failure) => unread.push(failure.within(&format!("{what} `{name}` has no value"))),
        }
    }
    match (problems.as_slice(), unread.as_slice()) {
        ([], []) => Ok(values),
        // A file that cannot be read is no mistake of the command line.
        ([], [_]) => unread.pop().map_or(Ok(values), Err),
        _ => {
            problems.extend(unread.iter().map(ToString::to_string));
            Err(Failure::usage(problems.join("; ")))
        }
    }
}

/// Returns the text of a value.
fn text(value: &str) -> Result<String, Failure> {
    if is_standard_input(value) {
        return read_standard_input();
    }
    match value.strip_prefix('@') {
        Some(path) => read_named(Path::new(path)),
        None => Ok(value.to_owned()),
    }
}

/// Returns `true` for `-`, and for `@-`, which other programs accept.
fn is_standard_input(value: &str) -> bool {
    value == "-" || value == "@-"
}
