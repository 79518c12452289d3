//! Globs over paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Error;
use super::path::{fault, shown};

/// The longest glob, in bytes.
const MAX_BYTES: usize = 1024;

/// The most groups in braces: together they stand for as many texts as their product.
const MAX_GROUPS: usize = 32;

/// A glob over paths: `*` and `?` stand for what has no `/`, `**` for folders, `[ab]` for one of these characters and
/// `{one,two}` for one of these texts. Without a `/` it is about names, at any depth; with one at its end, about all that is
/// in a folder.
pub(super) struct Pattern {
    // A matcher of one glob panics where it cannot be made, a set says so.
    matcher: GlobSet,
}

impl Pattern {
    /// A glob as it was asked for.
    pub(super) fn new(glob: &str) -> Result<Self, Error> {
        refuse(glob)?;
        if glob.contains('/') { Self::compile(glob, glob) } else { Self::anywhere(glob) }
    }

    /// A glob, and the folder that it has to be looked for in: what it names without a wildcard.
    pub(super) fn with_folder(glob: &str) -> Result<(&str, Self), Error> {
        refuse(glob)?;
        let wild = glob.find(['*', '?', '[', '{', ']', '}']).unwrap_or(glob.len());
        match glob.get(..wild).and_then(|head| head.rfind('/')) {
            None if glob.contains('/') => Ok(("", Self::compile(glob, glob)?)),
            None => Ok(("", Self::anywhere(glob)?)),
            Some(end) => {
                let (folder, rest) = (glob.get(..end), glob.get(end + 1..));
                Ok((folder.unwrap_or_default(), Self::compile(rest.unwrap_or_default(), glob)?))
            }
        }
    }

    fn anywhere(glob: &str) -> Result<Self, Error> {
        Self::compile(&format!("**/{glob}"), glob)
    }

    fn compile(relative: &str, asked: &str) -> Result<Self, Error> {
        let relative = relative.strip_prefix("./").unwrap_or(relative);
        let all = if relative.is_empty() || relative.ends_with('/') { "**" } else { "" };
        GlobBuilder::new(&format!("{relative}{all}"))
            .literal_separator(true)
            .backslash_escape(false)
            .empty_alternates(true)
            .build()
            .and_then(|glob| GlobSetBuilder::new().add(glob).build())
            .map(|matcher| Self { matcher })
            .map_err(|error| refused(asked, error.kind().to_string()))
    }

    /// Whether it covers a path, which is relative to the folder that the glob is relative to.
    pub(super) fn covers(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

/// Globs of which one must cover a path, and globs of which none may.
pub(super) struct Filter {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

impl Filter {
    /// A glob that begins with `!` leaves files out.
    pub(super) fn new(globs: &[String]) -> Result<Self, Error> {
        let (mut wanted, mut unwanted) = (Vec::new(), Vec::new());
        for glob in globs {
            match glob.strip_prefix('!') {
                Some(glob) => unwanted.push(Pattern::new(glob)?),
                None => wanted.push(Pattern::new(glob)?),
            }
        }
        Ok(Self { wanted, unwanted })
    }

    pub(super) fn admits(&self, path: &str) -> bool {
        let is_wanted =
            self.wanted.is_empty() || self.wanted.iter().any(|pattern| pattern.covers(path));
        is_wanted && !self.unwanted.iter().any(|pattern| pattern.covers(path))
    }
}

fn refuse(glob: &str) -> Result<(), Error> {
    match fault(glob) {
        _ if glob.len() > MAX_BYTES => {
            Err(refused(glob, format!("it has more than {MAX_BYTES} bytes")))
        }
        _ if glob.matches('{').count() > MAX_GROUPS => Err(refused(
            glob,
            format!("it has more than {MAX_GROUPS} groups in braces; search several times"),
        )),
        Some(fault) => Err(refused(glob, fault.to_string())),
        None => Ok(()),
    }
}

fn refused(glob: &str, reason: String) -> Error {
    Error::Pattern { language: "glob", pattern: shown(glob), reason }
}
