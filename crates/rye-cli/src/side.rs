//! A side of a comparison: a directive here, in another checkout, or at a revision.

use std::path::Path;

use rye::Preview;
use rye::resolve::ItemId;

use crate::directive::{of_file, resolve_directive};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::revision::{Checkout, checkout};

/// A directive with its library.
pub(crate) struct Side {
    /// The argument of the command line.
    pub(crate) name: String,
    pub(crate) id: ItemId,
    pub(crate) rye: Preview,
    /// The files of a revision and its name. The files are removed with this value.
    checkout: Option<(Checkout, String)>,
}

impl Side {
    /// Returns a failure of this side. The folder of a revision is replaced by the revision's name.
    pub(crate) fn failure(&self, failure: impl Into<Failure>) -> Failure {
        let failure = failure.into();
        match &self.checkout {
            Some((checkout, revision)) => failure.naming(checkout.project(), revision),
            None => failure,
        }
    }
}

/// Parses `REVISION:FILE`, `REVISION:ID`, a file, or an id. Ids have no colon, so that only a file could be
/// mistaken for a revision. An existing file is always a file.
pub(crate) fn side(argument: &str, environment: &Environment) -> Result<Side, Failure> {
    let path = environment.absolute(Path::new(argument));
    match argument.split_once(':') {
        _ if path.is_file() => at_path(argument, &path, environment),
        Some((revision, rest)) => at_revision(argument, revision, rest, environment),
        None => {
            let rye = environment.preview(false)?;
            let id = resolve_directive(argument, &rye, environment)?;
            Ok(Side { name: argument.to_owned(), id, rye, checkout: None })
        }
    }
}

/// Returns the directive of a file, in the project that contains the file.
fn at_path(argument: &str, path: &Path, environment: &Environment) -> Result<Side, Failure> {
    let rye = match project_of(path) {
        Some(project) => environment.preview_in(project)?,
        None => environment.preview(false)?,
    };
    let id = of_file(argument, path, &rye)?;
    Ok(Side { name: argument.to_owned(), id, rye, checkout: None })
}

fn at_revision(
    argument: &str,
    revision: &str,
    rest: &str,
    environment: &Environment,
) -> Result<Side, Failure> {
    let is_file = Path::new(rest).extension().is_some_and(|extension| extension == "md");
    let here = environment.absolute(Path::new(rest));
    let project = match is_file.then(|| project_of(&here)).flatten() {
        Some(project) => project,
        None => environment.project()?,
    };
    let checkout = checkout(project, revision)?;
    let rye = environment.preview_in(checkout.project())?;
    let id = match here.strip_prefix(project) {
        Ok(below) if is_file => of_file(argument, &checkout.project().join(below), &rye)
            .map_err(|failure| failure.naming(checkout.project(), revision))?,
        _ => rest.parse().map_err(|error| Failure::of(&error, Exit::Usage))?,
    };
    let checkout = Some((checkout, revision.to_owned()));
    Ok(Side { name: argument.to_owned(), id, rye, checkout })
}

/// Returns the project whose `.ai` folder contains `path`.
fn project_of(path: &Path) -> Option<&Path> {
    path.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == ".ai"))?.parent()
}
