//! Searching files by their paths.

use std::ops::ControlFlow;

use super::error::refuse_over;
use super::patterns::Pattern;
use super::protected::Guard;
use super::tree::{File, Start};
use super::{Cut, Error, MAX_VISITED, Root, Skipped, Stop, View};

/// The largest number of paths that a call returns.
pub const MAX_PATHS: usize = 1_000;

/// The largest total size of the paths that a call returns, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// The parameters of [`glob`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobQuery {
    /// The glob, relative to `path`. Without a `/`, it is matched against names at any depth.
    pub pattern: String,
    /// The folder to search, relative to the root.
    pub path: String,
    /// The kinds of entries that are included.
    pub view: View,
    /// The number of paths to leave out at the start, to continue after a search that was cut.
    pub skip: usize,
}

impl GlobQuery {
    /// Creates a query over the whole root.
    pub fn new(pattern: &str) -> Self {
        let pattern = pattern.to_owned();
        let path = ".".to_owned();
        Self { pattern, path, view: View::usual(), skip: 0 }
    }

    /// Searches in one folder.
    #[must_use]
    pub fn below(self, path: &str) -> Self {
        Self { path: path.to_owned(), ..self }
    }

    /// Includes other entries than the usual ones.
    #[must_use]
    pub fn view(self, view: View) -> Self {
        Self { view, ..self }
    }

    /// Leaves out the first `skip` paths.
    #[must_use]
    pub fn skip(self, skip: usize) -> Self {
        Self { skip, ..self }
    }
}

/// The files that match a glob.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GlobMatches {
    /// The paths, relative to the root, in the order of their parts. [`read`](super::read) accepts them.
    pub paths: Vec<String>,
    /// The number of entries that were not looked at, by reason.
    pub skipped: Skipped,
    /// The reason why there may be more paths.
    pub cut: Option<Cut>,
}

/// Finds the files below a folder of the root whose paths match a glob. Links are not followed.
///
/// # Errors
///
/// Refuses paths outside of the root and below `.ai/config/keys/signing` (SPEC 5.5). Fails if `path` is
/// missing or not a folder, or if the glob is invalid. If a folder that the glob names without a wildcard is
/// missing, the result has no paths.
pub fn glob(root: &Root, query: &GlobQuery, stop: &Stop) -> Result<GlobMatches, Error> {
    let (folder, pattern) = Pattern::with_folder(&query.pattern)?;
    refuse_over("the number of paths to skip", query.skip, MAX_VISITED)?;
    // The requested folder must exist, even if the folder in the glob may be missing.
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
    let mut n_covered = 0;
    let mut n_bytes = 0;
    let n_shown = start.shown.len();
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
