//! Finding files by their paths.

use std::ops::ControlFlow;

use super::error::refuse_over;
use super::patterns::Pattern;
use super::protected::Guard;
use super::tree::{File, Start};
use super::{Cut, Error, MAX_VISITED, Root, Skipped, Stop, View};

/// The most paths that one call gives.
pub const MAX_PATHS: usize = 1_000;

/// The most text of paths that one call gives, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// Which files are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobQuery {
    /// The glob: relative to `path`, or, without a `/`, over names at any depth.
    pub pattern: String,
    /// The folder that is looked through, relative to the root.
    pub path: String,
    /// Which entries are looked at.
    pub view: View,
    /// How many paths are passed over, to go on where another search was cut.
    pub skip: usize,
}

impl GlobQuery {
    /// A glob over the whole root.
    pub fn new(pattern: &str) -> Self {
        let (pattern, path) = (pattern.to_owned(), ".".to_owned());
        Self { pattern, path, view: View::usual(), skip: 0 }
    }

    /// In one folder.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// With other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Without the first so many paths.
    #[must_use]
    pub fn skip(self, skip: usize) -> Self {
        Self { skip, ..self }
    }
}

/// The files that a glob covers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobMatches {
    /// Their paths, relative to the root, as [`read`](super::read) takes them, in the order of their parts.
    pub paths: Vec<String>,
    /// What was met and not looked at, by reason.
    pub skipped: Skipped,
    /// Why there may be more.
    pub cut: Option<Cut>,
}

/// Finds the files below a folder of the root whose paths a glob covers. Links are not followed.
///
/// # Errors
///
/// Refused outside of the root and for `.ai/config/keys/signing` (SPEC 5.5); fails for a `path` that is missing or no
/// folder, and for a glob that is none. What a glob names without a wildcard may be missing: then there are no paths.
pub fn glob(root: &Root, query: &GlobQuery, stop: &Stop) -> Result<GlobMatches, Error> {
    let (folder, pattern) = Pattern::with_folder(&query.pattern)?;
    refuse_over("the number of paths to skip", query.skip, MAX_VISITED)?;
    // What was asked for has to be there, whatever the glob adds to it.
    let asked = Start::open(root, &query.path)?;
    let path = format!("{}/{folder}", query.path);
    let start = if folder.is_empty() { Ok(asked) } else { Start::open(root, &path) };
    let mut found = GlobMatches { paths: Vec::new(), skipped: Skipped::default(), cut: None };
    match start {
        Ok(start) => collect(root, start, query, &pattern, stop, &mut found)?,
        Err(Error::NotFound { .. } | Error::NotFolder { .. }) => {}
        Err(error) => return Err(error),
    }
    Ok(found)
}

fn collect(
    root: &Root,
    start: Start,
    query: &GlobQuery,
    pattern: &Pattern,
    stop: &Stop,
    found: &mut GlobMatches,
) -> Result<(), Error> {
    let (mut n_covered, mut n_bytes, n_shown) = (0, 0, start.shown.len());
    let paths = &mut found.paths;
    let visit = &mut |file: &File<'_>, _: &Guard, _: &mut Skipped| {
        if !file.path.get(n_shown..).is_some_and(|path| pattern.covers(path)) {
            return ControlFlow::Continue(());
        }
        n_covered += 1;
        if n_covered <= query.skip {
            return ControlFlow::Continue(());
        }
        if paths.len() == MAX_PATHS || n_bytes + file.path.len() > MAX_TEXT {
            return ControlFlow::Break(Cut::Results);
        }
        n_bytes += file.path.len();
        paths.push(file.path.to_owned());
        ControlFlow::Continue(())
    };
    (found.skipped, found.cut) = start.walk(root, query.view, stop, visit)?;
    Ok(())
}
