//! The files that a person means by paths, folders and patterns.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye::replace_file;
use rye::tools::temporary_file;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;

/// Every file that `paths` name, absolute, each once and in order; folders stand for the item files below them.
///
/// A path that is not there, a pattern that matches nothing, and a folder without an item are failures: nothing is passed
/// over in silence, and nobody takes it for a success that nothing was looked at.
pub(crate) fn named(paths: &[PathBuf], environment: &Environment) -> Result<Vec<PathBuf>, Failure> {
    found(paths, environment, Collecting::items())
}

/// As [`named`], with all that a space would find below folders: what links lead to, and trust documents.
pub(crate) fn named_with_linked(
    paths: &[PathBuf],
    environment: &Environment,
) -> Result<Vec<PathBuf>, Failure> {
    found(
        paths,
        environment,
        Collecting { has_trust: true, linked: Some(BTreeSet::new()), files: Vec::new() },
    )
}

fn found(
    paths: &[PathBuf],
    environment: &Environment,
    mut collecting: Collecting,
) -> Result<Vec<PathBuf>, Failure> {
    for path in paths {
        // Without `.` in its middle, which says nothing.
        let path: PathBuf = environment.absolute(path).components().collect();
        for path in expanded(&path)? {
            if !path.is_dir() {
                collecting.files.push(path);
                continue;
            }
            let before = collecting.files.len();
            collecting.folder(&path)?;
            if collecting.files.len() == before {
                return Err(empty(&path));
            }
        }
    }
    let mut files = collecting.files;
    files.sort_unstable();
    files.dedup();
    Ok(files)
}

fn empty(folder: &Path) -> Failure {
    Failure::usage(format!(
        "no items below `{}`; an item is a file such as `.ai/directives/NAME.md`, and `rye new` begins one",
        folder.display()
    ))
}

/// Writes `text` in place of `old`, whole or not at all, and keeps the file's mode (SPEC 2.12). Other names of the same
/// file, by hard links, keep the old content.
///
/// A file that holds something else by now is left alone: what was looked at is what is replaced.
pub(crate) fn replace(path: &Path, old: &str, text: &str) -> Result<(), Failure> {
    // A link is followed, so that the file is replaced and not the link.
    let target = path.canonicalize().map_err(|source| Failure::io("find", path, &source))?;
    replace_file(&target, old, text).map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Whether files can be made in this folder, as far as can be told without making one.
#[cfg(unix)]
pub(crate) fn is_writable(folder: &Path) -> bool {
    use rustix::fs::{Access, access};
    access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(crate) fn is_writable(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|found| found.is_dir() && !found.permissions().readonly())
}

/// Writes a file of the program's own, whole or not at all. A link in its place is replaced and not followed.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        // The error names a temporary file, which the operator does not know.
        let mut temporary =
            temporary_file(folder, 0o666).map_err(|error| io::Error::from(error.kind()))?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| Failure::io("write", path, &source))
}

/// Refuses links between the `.ai` folder around `path` and `path`: a file that is made there would land elsewhere.
///
/// A project that was cloned can bring such links along.
pub(crate) fn refuse_links(path: &Path) -> Result<(), Failure> {
    let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
    let Some(space) = path.ancestors().skip(1).find(is_ai) else { return Ok(()) };
    let is_link = |path: &&Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
    let within = path.ancestors().skip(1).take_while(|folder| *folder != space);
    match within.into_iter().find(is_link) {
        Some(link) => Err(Failure::refused(format!(
            "`{}` is a link, through which nothing is written; put a folder of its own in its place",
            link.display()
        ))),
        None => Ok(()),
    }
}

/// What a shell would make of a path that it was kept from expanding.
fn expanded(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let is_pattern = path.to_string_lossy().contains(['*', '?', '[']) && !path.exists();
    if !is_pattern {
        return match path.exists() {
            true => Ok(vec![path.to_owned()]),
            false => Err(Failure::usage(format!("`{}` does not exist", path.display()))),
        };
    }
    let found = glob::glob(&path.to_string_lossy())
        .map_err(|error| Failure::usage(format!("`{}` is not a pattern: {error}", path.display())))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| Failure::failed(error.to_string()))?;
    let files: Vec<PathBuf> = found.into_iter().filter(|path| path.is_file()).collect();
    match files.is_empty() {
        true => Err(Failure::usage(format!("nothing matches `{}`", path.display()))),
        false => Ok(files),
    }
}

/// A walk over folders.
struct Collecting {
    /// Whether trust documents are looked for, too.
    has_trust: bool,
    /// The folders that links led to, each walked once, if links are followed.
    linked: Option<BTreeSet<PathBuf>>,
    files: Vec<PathBuf>,
}

impl Collecting {
    fn items() -> Self {
        Self { has_trust: false, linked: None, files: Vec::new() }
    }

    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let read = |source| Failure::io("read", folder, &source);
        for entry in fs::read_dir(folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(read)?);
            if kind.is_symlink() {
                self.link(&path)?;
            } else if kind.is_dir() && !self.is_passed_over(&path) {
                self.folder(&path)?;
            } else if kind.is_file() && is_item(&path) {
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// A link that leads nowhere is told of as a file that cannot be read.
    fn link(&mut self, path: &Path) -> Result<(), Failure> {
        let Some(linked) = &mut self.linked else { return Ok(()) };
        match path.canonicalize() {
            Ok(target) if target.is_dir() => {
                let leads_back = path.parent().and_then(|folder| folder.canonicalize().ok());
                let is_new = leads_back.is_none_or(|folder| !folder.starts_with(&target));
                if is_new && linked.insert(target) && !self.is_passed_over(path) {
                    self.folder(path)?;
                }
            }
            _ if is_item(path) => self.files.push(path.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Threads are records and keys have rules of their own: neither is an item.
    fn is_passed_over(&self, folder: &Path) -> bool {
        let keys = if self.has_trust { ".ai/config/keys/signing" } else { ".ai/config/keys" };
        [".ai/threads", keys, ".git"].iter().any(|suffix| folder.ends_with(suffix))
    }
}

pub(crate) fn is_item(path: &Path) -> bool {
    const EXTENSIONS: [&str; 10] =
        ["md", "yaml", "yml", "toml", "json", "py", "sh", "js", "ts", "rb"];
    path.extension().is_some_and(|extension| EXTENSIONS.iter().any(|known| extension == *known))
}
