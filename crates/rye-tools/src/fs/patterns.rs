//! Globs for paths.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use super::Error;
use super::path::{fault, quote};

/// The length of the longest glob, in bytes.
const MAX_BYTES: usize = 1024;

/// The largest number of brace groups. A glob stands for the product of the numbers of their alternatives.
const MAX_GROUPS: usize = 32;

/// A glob for paths. `*` and `?` match text without a `/`, `**` matches folders, `[ab]` one of these
/// characters, and `{one,two}` one of these texts. Without a `/`, it is matched against names at any depth.
/// With a `/` at its end, it matches everything in a folder.
pub(super) struct Pattern {
    // A set, because its constructor returns an error where that of a single matcher panics.
    matcher: GlobSet,
}

impl Pattern {
    /// Compiles a glob.
    pub(super) fn new(glob: &str) -> Result<Self, Error> {
        refuse(glob)?;
        if glob.contains('/') { Self::compile(glob, glob) } else { Self::anywhere(glob) }
    }

    /// Compiles a glob, and returns the folder before its first wildcard.
    pub(super) fn with_folder(glob: &str) -> Result<(&str, Self), Error> {
        refuse(glob)?;
        let wild = glob.find(['*', '?', '[', '{', ']', '}']).unwrap_or(glob.len());
        match glob.get(..wild).and_then(|head| head.rfind('/')) {
            None if glob.contains('/') => Ok(("", Self::compile(glob, glob)?)),
            None => Ok(("", Self::anywhere(glob)?)),
            Some(end) => {
                let folder = glob.get(..end);
                let rest = glob.get(end + 1..);
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
            .map_err(|error| pattern_error(asked, error.kind().to_string()))
    }

    /// Returns `true` if the glob matches a path that is relative to the same folder.
    pub(super) fn covers(&self, path: &str) -> bool {
        self.matcher.is_match(path)
    }
}

/// Globs that select paths: one of `wanted` must match, if there are any, and none of `unwanted` may.
pub(super) struct Filter {
    wanted: Vec<Pattern>,
    unwanted: Vec<Pattern>,
}

impl Filter {
    /// Compiles globs. Those with `!` at the start exclude files.
    pub(super) fn new(globs: &[String]) -> Result<Self, Error> {
        let mut wanted = Vec::new();
        let mut unwanted = Vec::new();
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
            Err(pattern_error(glob, format!("it has more than {MAX_BYTES} bytes")))
        }
        _ if glob.matches('{').count() > MAX_GROUPS => Err(pattern_error(
            glob,
            format!("it has more than {MAX_GROUPS} groups in braces; search several times"),
        )),
        Some(fault) => Err(pattern_error(glob, fault.to_string())),
        None => Ok(()),
    }
}

fn pattern_error(glob: &str, reason: String) -> Error {
    Error::Pattern { language: "glob", pattern: quote(glob), reason }
}
