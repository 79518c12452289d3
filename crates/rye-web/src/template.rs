//! URLs of manifests with placeholders. No argument changes the target of the request.

use reqwest::Url;
use serde_json::{Map, Value};

use crate::allowed_url;
use crate::error::{AddressFault, HttpToolError};
use rye_sandbox::{Placing, Template};

/// The reason why arguments cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ArgumentFault {
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
    /// Returns `true` if a rule refused the arguments, and `false` if an argument is missing or has the wrong
    /// type.
    pub(crate) const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Missing { .. } | Self::Compound { .. })
    }
}

/// A URL with placeholders.
#[derive(Debug, Clone)]
pub(crate) enum Address {
    /// The argument is the URL.
    Whole(Placing),
    /// Arguments are in parts of the URL.
    Parts(Parts),
}

#[derive(Debug, Clone)]
pub(crate) struct Parts {
    path: Vec<Placing>,
    /// The parameters of the query, each with its name and `=`.
    query: Option<Vec<Vec<Placing>>>,
    /// The URL with a sample text in each placeholder. Its shape is the same for all arguments.
    sample: Url,
}

impl Address {
    pub(crate) fn new(template: &Template) -> Result<Self, HttpToolError> {
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
        if has_dots(&join_path(&path, |_| Some("x".to_owned()))) {
            return Err(HttpToolError::Dots);
        }
        let sample = text(&path, query.as_deref(), |_| Ok(Some("x".to_owned())));
        let sample =
            allowed_url::read(&sample.unwrap_or_default()).map_err(HttpToolError::Address)?;
        if !["http", "https"].contains(&sample.scheme()) {
            let scheme = sample.scheme().to_owned();
            return Err(HttpToolError::Address(AddressFault::Scheme { scheme }));
        }
        if !sample.username().is_empty() || sample.password().is_some() {
            return Err(HttpToolError::Address(AddressFault::Credentials));
        }
        Ok(Self::Parts(Parts { path, query, sample }))
    }

    /// Returns `true` if the arguments decide the host.
    pub(crate) const fn is_whole(&self) -> bool {
        matches!(self, Self::Whole(_))
    }

    /// Returns the URL with sample texts, or `None` if the arguments decide the host.
    pub(crate) const fn sample(&self) -> Option<&Url> {
        match self {
            Self::Whole(_) => None,
            Self::Parts(parts) => Some(&parts.sample),
        }
    }

    /// Returns the names of the arguments in the URL.
    pub(crate) fn names(&self) -> Vec<&str> {
        let pieces: Vec<&Placing> = match self {
            Self::Whole(piece) => vec![piece],
            Self::Parts(Parts { path, query, .. }) => {
                path.iter().chain(query.iter().flatten().flatten()).collect()
            }
        };
        pieces.into_iter().filter_map(name_of).collect()
    }

    /// Returns the URL for these arguments.
    pub(crate) fn url(&self, arguments: &Map<String, Value>) -> Result<Url, ArgumentFault> {
        match self {
            Self::Whole(piece) => {
                let text = single(piece, arguments, "an address")?.unwrap_or_default();
                Ok(allowed_url::read(&text)?)
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
        if has_dots(&join_path(&self.path, value)) {
            return Err(ArgumentFault::Joined);
        }
        let text = text(&self.path, self.query.as_deref(), |piece| {
            Ok(single(piece, arguments, "an address")?.map(|value| encode(&value)))
        })?;
        let url = allowed_url::read(&text)?;
        // Encoded arguments cannot have changed the shape. If they ever do, nothing is sent.
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

    /// Returns `true` if the URL has the same host as the sample, the same number of path segments, and no
    /// other parameters, in the same order.
    fn shape(&self, url: &Url) -> bool {
        let parts = |url: &Url| url.path_segments().map(Iterator::count);
        let keys = |url: &Url| -> Vec<String> {
            url.query_pairs().map(|(key, _)| key.into_owned()).collect()
        };
        let mut expected = keys(&self.sample).into_iter();
        let same = self.sample.origin() == url.origin();
        let known = keys(url).into_iter().all(|key| expected.any(|one| one == key));
        same && known
            && parts(&self.sample) == parts(url)
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none()
    }
}

/// Returns the path as a server sees it that decodes encoded characters.
fn join_path(pieces: &[Placing], value: impl Fn(&Placing) -> Option<String>) -> String {
    let read = |piece: &Placing| match piece {
        Placing::Text(text) => decode(text),
        place => value(place).unwrap_or_default(),
    };
    pieces.iter().map(read).collect()
}

/// Decodes the characters of a manifest's text that decide the meaning of a path, however often they are
/// encoded.
fn decode(text: &str) -> String {
    let mut text = text.to_ascii_lowercase();
    loop {
        let of = |text: String, (encoded, plain): &(&str, &str)| text.replace(encoded, plain);
        let once = ENCODED.iter().fold(text.clone(), of);
        // The text gets shorter in each round but the last.
        if once.len() == text.len() {
            return once;
        }
        text = once;
    }
}

/// The encoded forms of characters that decide the meaning of a path, including the overlong UTF-8 sequences
/// that old servers accept, and of `%` itself. In the values of arguments, these characters are always
/// encoded.
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

/// Returns `true` if a segment of the path is `.` or `..`. An encoded slash and a backslash count as
/// separators, and the part after a semicolon is ignored, because some servers do the same.
fn has_dots(path: &str) -> bool {
    let name = |part: &str| part.split(';').next().is_some_and(|name| [".", ".."].contains(&name));
    path.split(['/', '\\']).any(name)
}

/// Returns `true` if the text before a placeholder begins an encoded character that an argument could
/// complete.
fn begins_escape(pair: &[Placing]) -> bool {
    let [Placing::Text(text), Placing::Needed(_) | Placing::Optional(..)] = pair else {
        return false;
    };
    let text = decode(text);
    let end = text.strip_suffix(|last: char| last.is_ascii_hexdigit()).unwrap_or(&text);
    text.ends_with('%') || end.ends_with('%')
}

/// Returns an error for a placeholder before the path, and for characters that a URL may not have.
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

/// Returns an error if a parameter with a placeholder has no name in the manifest.
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

/// Splits the texts at a character into at most `most` parts.
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

/// Returns the URL with a value for each placeholder. A parameter is left out if its value is a placeholder
/// without an argument.
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

/// Returns the name of the argument in this placeholder.
pub(crate) fn name_of(piece: &Placing) -> Option<&str> {
    match piece {
        Placing::Text(_) => None,
        Placing::Needed(name) | Placing::Optional(name, _) => Some(name),
    }
}

/// Returns the text of a part, or `None` for an optional argument that is missing.
pub(crate) fn single(
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

/// Returns the text with all characters encoded that have a meaning in a URL.
pub(crate) fn encode(text: &str) -> String {
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
