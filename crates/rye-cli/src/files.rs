//! Files that the command line names by paths, folders and patterns.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use rye::resolve::{FilePath, fault_of_place};
use rye::sandbox::temporary_file;
use rye::{place, replace_file};

use crate::directive::files_of;
use crate::environment::{Environment, real};
use crate::exit::Exit;
use crate::failure::Failure;

/// Returns the absolute paths of all files that `paths` name, each once and sorted. A folder stands for the
/// item files below it. Where no file has the name, an item id stands for its file in the project or the user
/// space.
///
/// Links in folders are followed as spaces follow them. A file that is no item by its name, its type or a link is one of the files, so
/// that the reason is told.
///
/// A missing path, a pattern without a match, and a folder without an item are failures. Otherwise, a command
/// without any file would seem successful.
pub(crate) fn named(paths: &[PathBuf], environment: &Environment) -> Result<Vec<PathBuf>, Failure> {
    Ok(found(paths, environment, Collecting::default())?.files)
}

/// Returns the files like [`named`], and which of them `paths` name themselves: by their own path or by an id, and not by a
/// folder or a pattern.
pub(crate) fn named_with_own(
    paths: &[PathBuf],
    environment: &Environment,
) -> Result<(Vec<PathBuf>, BTreeSet<PathBuf>), Failure> {
    let found = found(paths, environment, Collecting::default())?;
    Ok((found.files, found.named))
}

/// Returns the files like [`named`], and trust documents and the plain files that were signed, too, in folders that hold their `.ai`.
pub(crate) fn named_with_trust(
    paths: &[PathBuf],
    environment: &Environment,
) -> Result<Vec<PathBuf>, Failure> {
    Ok(found(paths, environment, Collecting { has_trust: true, ..Collecting::default() })?.files)
}

/// Returns the files that a check of a whole project looks at: its own, and the configuration of the user space, on which each of
/// its runs rests, too.
pub(crate) fn of_project(environment: &Environment) -> Result<Vec<PathBuf>, Failure> {
    let own = environment.items_folder()?;
    let mut files = named(&[own.join(".ai")], environment)?;
    let config = environment.user().ok().map(|user| user.join(".ai/config"));
    if let Some(config) = config.filter(|config| config.is_dir() && !config.starts_with(own)) {
        let mut collecting = Collecting::default();
        collecting.folder(&config)?;
        files.append(&mut collecting.files);
    }
    Ok(files)
}

fn found(
    paths: &[PathBuf],
    environment: &Environment,
    mut collecting: Collecting,
) -> Result<Collecting, Failure> {
    for argument in paths {
        let path = plain(&environment.absolute(argument));
        if !path.exists()
            && let Some(file) = file_of_item(argument, environment)?
        {
            collecting.named.insert(file.clone());
            collecting.files.push(file);
            continue;
        }
        let is_pattern = is_pattern(&path);
        for path in expand(&path)?.into_iter().map(|path| plain(&path)) {
            if !path.is_dir() {
                collecting.named.extend((!is_pattern).then(|| path.clone()));
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
    collecting.files.sort_unstable();
    collecting.files.dedup();
    Ok(collecting)
}

/// Returns the path under which the spaces know a file: the folder that holds its `.ai` is real, as the roots of the spaces are. A link
/// below `.ai` stays, because it has an id of its own.
fn plain(path: &Path) -> PathBuf {
    let parts: Vec<Component<'_>> = path.components().collect();
    let up = parts.iter().rposition(|part| *part == Component::ParentDir).map_or(0, |at| at + 1);
    let is_ai = |part: &Component<'_>| part.as_os_str() == ".ai";
    let ai = parts.iter().skip(up).rposition(is_ai).map(|at| at + up);
    let count = match ai {
        Some(at) => at,
        None if path.is_dir() => parts.len(),
        None => up,
    };
    let (holder, below) = parts.split_at(count);
    let holder: PathBuf = holder.iter().collect();
    let below: PathBuf = below.iter().collect();
    let path = real(&holder).join(below);
    // Without `.` parts.
    path.components().collect()
}

/// Returns `true` for a path that stands for what it matches, and for no file of that name.
fn is_pattern(path: &Path) -> bool {
    path.to_string_lossy().contains(['*', '?', '[']) && !path.exists()
}

/// Returns the file of the item whose id this is; `None` if no item of the project or the user space has it.
fn file_of_item(argument: &Path, environment: &Environment) -> Result<Option<PathBuf>, Failure> {
    let Some(id) = argument.to_str().and_then(|text| text.parse().ok()) else { return Ok(None) };
    let mut files = files_of(&id, environment);
    if files.len() > 1 {
        let files: Vec<_> = files.iter().map(|file| format!("`{}`", file.display())).collect();
        let files = files.join(" and ");
        return Err(Failure::usage(format!("`{id}` is the id of {files}; name the file")));
    }
    Ok(files.pop())
}

fn empty(folder: &Path) -> Failure {
    Failure::usage(format!(
        "no items below `{}`; an item is a file such as `.ai/directives/NAME.md`, and `rye new` begins one",
        folder.display()
    ))
}

/// Replaces a file atomically if its content is still `old`, and keeps its mode (SPEC 2.12). Other hard links
/// to the file keep the old content.
///
/// If the content has changed, the file is left alone, so that only the checked content is replaced.
pub(crate) fn replace(path: &Path, old: &str, text: &str) -> Result<(), Failure> {
    // Links are followed, so that the file is replaced and not the link.
    let target = path.canonicalize().map_err(|source| Failure::io("find", path, &source))?;
    replace_file(&target, old, text).map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Writes a file of the program atomically. A link in its place is replaced and not followed.
#[expect(clippy::disallowed_methods, reason = "commands write outside of a runtime")]
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        let folder = path.parent().unwrap_or(Path::new("."));
        // The name of the temporary file is left out, because the operator does not know it.
        let mut temporary =
            temporary_file(folder, 0o666).map_err(|error| io::Error::from(error.kind()))?;
        temporary.write_all(text.as_bytes())?;
        temporary.as_file().sync_all()?;
        temporary.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    written().map_err(|source| Failure::io("write", path, &source))
}

/// Refuses links between `path` and its `.ai` folder, because a new file would be written elsewhere.
///
/// A cloned project can contain such links.
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

/// Expands a pattern like a shell.
fn expand(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !is_pattern(path) {
        return match path.exists() {
            true => Ok(vec![path.to_owned()]),
            false => Err(Failure::usage(format!(
                "`{}` does not exist, and no item of yours has this id; `rye list` shows their ids",
                path.display()
            ))),
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

/// A walk through folders.
#[derive(Default)]
struct Collecting {
    /// `true` if trust documents are included.
    has_trust: bool,
    /// The targets of followed links, each walked once.
    linked: BTreeSet<PathBuf>,
    files: Vec<PathBuf>,
    /// The files that an argument names itself.
    named: BTreeSet<PathBuf>,
}

impl Collecting {
    fn folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let read = |source| Failure::io("read", folder, &source);
        for entry in fs::read_dir(folder).map_err(read)? {
            let entry = entry.map_err(read)?;
            let path = entry.path();
            let kind = entry.file_type().map_err(read)?;
            if is_hidden_item(&path) {
                continue;
            }
            if kind.is_symlink() {
                self.link(&path)?;
            } else if kind.is_dir() {
                if fault_of_place(&path).is_some() {
                    self.files.push(path.clone());
                }
                if !self.is_passed_over(&path) {
                    self.folder(&path)?;
                }
            } else if let Some(file) = signed_file(&path).filter(|_| self.has_trust) {
                // A file that is gone needs no signature any more.
                self.files.extend(Some(file).filter(|file| file.symlink_metadata().is_ok()));
            } else if self.is_meant(&path) {
                // Also one that is no plain file, such as a pipe, so that it is reported as unreadable.
                self.files.push(path);
            }
        }
        Ok(())
    }

    /// Follows a link inside of its space. Another one, and one without a target, is kept, so that the reason is told.
    fn link(&mut self, path: &Path) -> Result<(), Failure> {
        match path.canonicalize() {
            _ if fault_of_place(path).is_some() => self.files.push(path.to_owned()),
            Ok(target) if target.is_dir() => {
                let leads_back = path.parent().and_then(|folder| folder.canonicalize().ok());
                let is_new = leads_back.is_none_or(|folder| !folder.starts_with(&target));
                if is_new && self.linked.insert(target) && !self.is_passed_over(path) {
                    self.folder(path)?;
                }
            }
            _ if self.is_meant(path) => self.files.push(path.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Returns `true` for an item, or what lies in the place of one. In an `.ai` folder, other files have nothing to do with items.
    fn is_meant(&self, path: &Path) -> bool {
        let ai = path
            .ancestors()
            .skip(1)
            .find(|folder| folder.file_name().is_some_and(|name| name == ".ai"));
        let is_trust = |ai: &Path| self.has_trust && path.starts_with(ai.join("config/keys"));
        match ai {
            Some(ai) if !is_trust(ai) => place(path).is_some() || fault_of_place(path).is_some(),
            _ => is_item(path),
        }
    }

    /// Returns `true` for the folders of threads and keys, which hold no items.
    fn is_passed_over(&self, folder: &Path) -> bool {
        let keys = if self.has_trust { ".ai/config/keys/signing" } else { ".ai/config/keys" };
        [".ai/threads", keys, ".git"].iter().any(|suffix| folder.ends_with(suffix))
    }
}

/// Returns the plain file whose signature is at `path`.
fn signed_file(path: &Path) -> Option<PathBuf> {
    let is_ai = |folder: &&Path| folder.file_name().is_some_and(|name| name == ".ai");
    let project = path.ancestors().skip(1).find(is_ai)?.parent()?;
    Some(FilePath::of_signature(project, path)?.in_project(project))
}

/// Returns `true` for what spaces pass over in an `.ai` folder, because its name begins with a dot.
fn is_hidden_item(path: &Path) -> bool {
    let is_hidden =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    is_hidden(path)
        && path
            .ancestors()
            .skip(1)
            .any(|folder| folder.file_name().is_some_and(|name| name == ".ai"))
}

pub(crate) fn is_item(path: &Path) -> bool {
    const EXTENSIONS: [&str; 10] =
        ["md", "yaml", "yml", "toml", "json", "py", "sh", "js", "ts", "rb"];
    let is_known = |extension: &std::ffi::OsStr| EXTENSIONS.iter().any(|known| extension == *known);
    path.extension().is_some_and(is_known)
}
