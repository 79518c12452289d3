//! The address of a manifest, with places for arguments; whatever they hold, it stays the same address.

use reqwest::Url;
use serde_json::{Map, Value};

use super::error::AddressFault;
use super::manifest::HttpToolError;
use super::place;
use crate::process::{Placing, Template};

/// Why arguments cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ArgumentFault {
    #[error("the argument `{name}` is missing; the tool needs it")]
    Missing { name: String },
    #[error(
        "the argument `{name}` is a list or an object, and only a text, a number or a boolean has a place in {place}"
    )]
    Compound { name: String, place: &'static str },
    #[error("the argument `{name}` is empty, and the address without it is another one")]
    Empty { name: String },
    #[error("the argument `{name}` has a part `.` or `..`, which leads to another address")]
    Dots { name: String },
    #[error(
        "the arguments and what is around them make a part `.` or `..`, which leads to another address"
    )]
    Joined,
    #[error("the arguments would make another address of the tool's")]
    Elsewhere,
    #[error("the header `{name}` takes visible ASCII alone, without line ends")]
    Header { name: String },
    #[error(transparent)]
    Address(#[from] AddressFault),
}

impl ArgumentFault {
    /// Whether a rule says no, rather than that something is missing.
    pub(super) const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Missing { .. } | Self::Compound { .. })
    }
}

/// An address with its places.
#[derive(Debug, Clone)]
pub(super) enum Address {
    /// The argument is the address.
    Whole(Placing),
    /// Arguments have places in parts of it.
    Parts(Parts),
}

#[derive(Debug, Clone)]
pub(super) struct Parts {
    path: Vec<Placing>,
    /// Parameters of the query, each with its name and `=` where it has them.
    query: Option<Vec<Vec<Placing>>>,
    /// The address with some text in each place: what may not change with other text.
    sample: Url,
}

impl Address {
    pub(super) fn new(template: &Template) -> Result<Self, HttpToolError> {
        if let [whole @ (Placing::Needed(_) | Placing::Optional(..))] = template.pieces() {
            return Ok(Self::Whole(whole.clone()));
        }
        begins_with_host(template.pieces())?;
        let mut lines = split(template.pieces(), '?', Some(2)).into_iter();
        let path = lines.next().unwrap_or_default();
        let query = lines.next().map(|query| split(&query, '&', None));
        query.iter().flatten().try_for_each(|parameter| is_named(parameter))?;
        if path.windows(2).any(begins_escape) {
            return Err(HttpToolError::Escape);
        }
        if has_dots(&joined(&path, |_| Some("x".to_owned()))) {
            return Err(HttpToolError::Dots);
        }
        let sample = text(&path, query.as_deref(), |_| Ok(Some("x".to_owned())));
        let sample = place::read(&sample.unwrap_or_default()).map_err(HttpToolError::Address)?;
        if !["http", "https"].contains(&sample.scheme()) {
            let scheme = sample.scheme().to_owned();
            return Err(HttpToolError::Address(AddressFault::Scheme { scheme }));
        }
        if !sample.username().is_empty() || sample.password().is_some() {
            return Err(HttpToolError::Address(AddressFault::Credentials));
        }
        Ok(Self::Parts(Parts { path, query, sample }))
    }

    /// Whether the arguments say which host it is.
    pub(super) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// The address with some text in each place; none where the arguments say which host it is.
    pub(super) const fn sample(&self) -> Option<&Url> {
        match self {
            Self::Whole(_) => None,
            Self::Parts(parts) => Some(&parts.sample),
        }
    }

    /// The names of the arguments that have a place.
    pub(super) fn names(&self) -> Vec<&str> {
        let pieces: Vec<&Placing> = match self {
            Self::Whole(piece) => vec![piece],
            Self::Parts(Parts { path, query, .. }) => {
                path.iter().chain(query.iter().flatten().flatten()).collect()
            }
        };
        pieces.into_iter().filter_map(name_of).collect()
    }

    /// The address for these arguments.
    pub(super) fn url(&self, arguments: &Map<String, Value>) -> Result<Url, ArgumentFault> {
        match self {
            Self::Whole(piece) => {
                let text = single(piece, arguments, "an address")?.unwrap_or_default();
                Ok(place::read(&text)?)
            }
            Self::Parts(parts) => parts.url(arguments),
        }
    }
}

impl Parts {
    fn url(&self, arguments: &Map<String, Value>) -> Result<Url, ArgumentFault> {
        for piece in &self.path {
            self.fits_a_path(piece, arguments)?;
        }
        let value = |piece: &Placing| single(piece, arguments, "an address").ok().flatten();
        if has_dots(&joined(&self.path, value)) {
            return Err(ArgumentFault::Joined);
        }
        let text = text(&self.path, self.query.as_deref(), |piece| {
            Ok(single(piece, arguments, "an address")?.map(|value| encoded(&value)))
        })?;
        let url = place::read(&text)?;
        // What was encoded cannot have changed these; if it ever does, nothing is sent.
        if self.shape(&url) { Ok(url) } else { Err(ArgumentFault::Elsewhere) }
    }

    fn fits_a_path(
        &self,
        piece: &Placing,
        arguments: &Map<String, Value>,
    ) -> Result<(), ArgumentFault> {
        let Some(name) = name_of(piece) else { return Ok(()) };
        let name = || name.to_owned();
        let Some(value) = single(piece, arguments, "an address")? else {
            return Err(ArgumentFault::Empty { name: name() });
        };
        if value.is_empty() {
            return Err(ArgumentFault::Empty { name: name() });
        }
        if has_dots(&value) { Err(ArgumentFault::Dots { name: name() }) } else { Ok(()) }
    }

    /// Whether it has the sample's host, as many parts of a path, and of the sample's parameters, in their order, no others.
    fn shape(&self, url: &Url) -> bool {
        let parts = |url: &Url| url.path_segments().map(Iterator::count);
        let keys = |url: &Url| -> Vec<String> {
            url.query_pairs().map(|(key, _)| key.into_owned()).collect()
        };
        let (mut expected, same) =
            (keys(&self.sample).into_iter(), self.sample.origin() == url.origin());
        let known = keys(url).into_iter().all(|key| expected.any(|one| one == key));
        same && known
            && parts(&self.sample) == parts(url)
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    }
}

/// The text of a path as servers read it that take what is encoded for what it stands for.
fn joined(pieces: &[Placing], value: impl Fn(&Placing) -> Option<String>) -> String {
    let read = |piece: &Placing| match piece {
        Placing::Text(text) => decoded(text),
        place => value(place).unwrap_or_default(),
    };
    pieces.iter().map(read).collect()
}

/// A text of the manifest with what decides where a path leads as it is, however often it is encoded.
fn decoded(text: &str) -> String {
    let mut text = text.to_ascii_lowercase();
    loop {
        let of = |text: String, (encoded, plain): &(&str, &str)| text.replace(encoded, plain);
        let once = ENCODED.iter().fold(text.clone(), of);
        // Each round makes it shorter, or is the last.
        if once.len() == text.len() {
            return once;
        }
        text = once;
    }
}

/// What decides where a path leads, encoded and as it is, in sequences too long for UTF-8 that old servers read, and what
/// encodes all that once more; a value has it encoded in any case.
const ENCODED: [(&str, &str); 10] = [
    ("%c0%ae", "."),
    ("%e0%80%ae", "."),
    ("%c0%af", "/"),
    ("%e0%80%af", "/"),
    ("%c1%9c", "\\"),
    ("%e0%81%9c", "\\"),
    ("%2e", "."),
    ("%2f", "/"),
    ("%5c", "\\"),
    ("%25", "%"),
];

/// Whether a part of it leads back. Servers take an encoded slash for one, too, and a backslash, and some leave out what stands
/// behind a semicolon.
fn has_dots(path: &str) -> bool {
    let name = |part: &str| part.split(';').next().is_some_and(|name| [".", ".."].contains(&name));
    path.split(['/', '\\']).any(name)
}

/// Whether the text before a place begins what the argument there would end.
fn begins_escape(pair: &[Placing]) -> bool {
    let [Placing::Text(text), Placing::Needed(_) | Placing::Optional(..)] = pair else {
        return false;
    };
    let text = decoded(text);
    let end = text.strip_suffix(|last: char| last.is_ascii_hexdigit()).unwrap_or(&text);
    text.ends_with('%') || end.ends_with('%')
}

/// Refuses a place before the path, and text that has no place in an address.
fn begins_with_host(pieces: &[Placing]) -> Result<(), HttpToolError> {
    let texts = || {
        pieces.iter().filter_map(|piece| match piece {
            Placing::Text(text) => Some(text),
            _ => None,
        })
    };
    if texts().any(|text| text.contains(['#', '\\']) || text.contains(char::is_whitespace)) {
        return Err(HttpToolError::Strange);
    }
    let first = match pieces.first() {
        Some(Placing::Text(first)) => first.as_str(),
        _ => "",
    };
    let after = first.split_once("://").map(|(_, after)| after);
    match after {
        Some(after) if pieces.len() == 1 || after.contains(['/', '?']) => Ok(()),
        _ => Err(HttpToolError::Host),
    }
}

/// A parameter with a place has its name from the manifest.
fn is_named(parameter: &[Placing]) -> Result<(), HttpToolError> {
    match parameter {
        [] | [Placing::Text(_)] => Ok(()),
        [Placing::Text(first), ..]
            if first.split_once('=').is_some_and(|(name, _)| !name.is_empty()) =>
        {
            Ok(())
        }
        _ => Err(HttpToolError::Parameter),
    }
}

/// Cuts the texts at a character, into `most` lines at the most.
fn split(pieces: &[Placing], at: char, most: Option<usize>) -> Vec<Vec<Placing>> {
    let mut lines = vec![Vec::new()];
    for piece in pieces {
        let Placing::Text(text) = piece else {
            lines.last_mut().expect("because it begins with one").push(piece.clone());
            continue;
        };
        let left = most.map_or(usize::MAX, |most| most - lines.len() + 1);
        for (index, part) in text.splitn(left, at).enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            if !part.is_empty() {
                let line = lines.last_mut().expect("because it begins with one");
                line.push(Placing::Text(part.to_owned()));
            }
        }
    }
    lines
}

/// The address with what `value` gives for each place. A parameter that is a name and a place that nothing is given for is
/// left out.
fn text(
    path: &[Placing],
    query: Option<&[Vec<Placing>]>,
    value: impl Fn(&Placing) -> Result<Option<String>, ArgumentFault>,
) -> Result<String, ArgumentFault> {
    let placed = |piece: &Placing| -> Result<String, ArgumentFault> {
        match piece {
            Placing::Text(text) => Ok(text.clone()),
            place => Ok(value(place)?.unwrap_or_default()),
        }
    };
    let mut text = path.iter().map(placed).collect::<Result<String, _>>()?;
    let mut mark = '?';
    for parameter in query.into_iter().flatten() {
        if let [Placing::Text(name), place @ Placing::Optional(..)] = parameter.as_slice()
            && name.ends_with('=')
            && value(place)?.is_none()
        {
            continue;
        }
        text.push(mark);
        text.push_str(&parameter.iter().map(placed).collect::<Result<String, _>>()?);
        mark = '&';
    }
    Ok(text)
}

/// The name of the argument that has a place here.
pub(super) fn name_of(piece: &Placing) -> Option<&str> {
    match piece {
        Placing::Text(_) => None,
        Placing::Needed(name) | Placing::Optional(name, _) => Some(name),
    }
}

/// The one text for a piece; none for an argument that may be left out and is.
pub(super) fn single(
    piece: &Placing,
    arguments: &Map<String, Value>,
    place: &'static str,
) -> Result<Option<String>, ArgumentFault> {
    let name = match piece {
        Placing::Text(text) => return Ok(Some(text.clone())),
        Placing::Needed(name) | Placing::Optional(name, _) => name,
    };
    match (arguments.get(name).filter(|value| !value.is_null()), piece) {
        (Some(Value::Array(_) | Value::Object(_)), _) => {
            Err(ArgumentFault::Compound { name: name.clone(), place })
        }
        (Some(Value::String(text)), _) => Ok(Some(text.clone())),
        (Some(value), _) => Ok(Some(value.to_string())),
        (None, Placing::Optional(_, otherwise)) => Ok(otherwise.clone()),
        (None, _) => Err(ArgumentFault::Missing { name: name.clone() }),
    }
}

/// The text with everything encoded that has a meaning in an address.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests;
