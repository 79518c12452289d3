//! A project at a git revision, in a temporary folder.
//!
//! The repository is read without starting `git`. `git` would obey the configuration of a repository that may
//! not be trusted yet: filters, helpers and fetches of missing objects.

#[cfg(feature = "git")]
mod plainness;

use std::path::Path;

use rye::sandbox::TemporaryFolder;

#[cfg(feature = "git")]
use crate::environment::Environment;
use crate::failure::Failure;

/// The `.ai` folder of a project at a revision. Dropping the value removes it.
pub(crate) struct Checkout {
    folder: TemporaryFolder,
}

impl Checkout {
    /// Returns the folder that contains the `.ai` folder.
    pub(crate) fn project(&self) -> &Path {
        self.folder.path()
    }
}

/// Extracts the items of `project` at `revision`, in the notation of git: `HEAD~1`, a branch, a tag or the
/// start of a hash.
#[cfg(feature = "git")]
pub(crate) fn checkout(project: &Path, revision: &str) -> Result<Checkout, Failure> {
    let folder = TemporaryFolder::new_in(&Environment::temporary_folder())
        .map_err(|error| Failure::failed(format!("cannot make a temporary folder: {error}")))?;
    let unpacked = objects::unpack(project, revision, folder.path());
    unpacked.map_err(|error| {
        let failed = |error| Failure::failed(format!("cannot read revision `{revision}`: {error}"));
        error.downcast().unwrap_or_else(failed)
    })?;
    Ok(Checkout { folder })
}

/// Returns `true` if the newest commit contains this path of a folder. Returns `false` outside of a
/// repository.
#[cfg(feature = "git")]
pub(crate) fn is_committed(folder: &Path, path: &str) -> bool {
    objects::is_committed(folder, path).unwrap_or(false)
}

#[cfg(not(feature = "git"))]
pub(crate) fn is_committed(_: &Path, _: &str) -> bool {
    false
}

/// Fails, because this program was built without git.
#[cfg(not(feature = "git"))]
pub(crate) fn checkout(_: &Path, revision: &str) -> Result<Checkout, Failure> {
    Err(Failure::usage(format!(
        "cannot read revision `{revision}`: this program was built without the feature `git`; \
         `cargo install --path crates/rye-cli` in its repository installs one with it"
    )))
}

#[cfg(feature = "git")]
mod objects {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use anyhow::bail;
    use gix::object::tree::EntryKind;
    use gix::{Repository, Tree};
    use rye::parse::ContextContent;
    use rye::resolve::FilePath;

    use crate::environment::read_text;
    use crate::failure::Failure;
    use crate::files;
    use crate::output;

    /// The folders of items. Threads and other contents of `.ai` are left out.
    const FOLDERS: [&str; 4] = ["config", "directives", "knowledge", "tools"];

    /// The file that says which servers of tools the project accepts.
    const LOCK: &str = ".ai/rye.lock";

    /// The size of the largest item, in bytes (SPEC 3.8).
    const MAX_BYTES: u64 = 4 << 20;

    /// The largest depth of folders, which is more than an id of 256 bytes can have.
    const MAX_DEPTH: usize = 130;

    /// The size of the largest object in memory, in bytes. A small file can contain a commit, tag or tree
    /// that is larger than the memory.
    const MOST_OBJECT_BYTES: u64 = 16 << 20;

    /// The largest number of files and folders. A tree may name one object many times, so that a small
    /// repository can mean more files than fit on a disk.
    const MAX_ENTRIES: usize = 50_000;

    /// The largest total size of the items, in bytes.
    const MAX_TOTAL_BYTES: u64 = 512 << 20;

    pub(super) fn unpack(project: &Path, revision: &str, to: &Path) -> anyhow::Result<()> {
        let project =
            project.canonicalize().map_err(|source| Failure::io("find", project, &source))?;
        super::plainness::look_through(&project)?;
        let repository = open_repository(&project)?;
        // The library's message about a missing name describes its own internals.
        let id = repository.rev_parse_single(revision).map_err(|_| {
            Failure::failed(format!(
                "the repository has no revision `{revision}`; `git log` shows what there is"
            ))
        })?;
        let tree = id.object()?.peel_to_tree()?;
        let workdir = repository.workdir().and_then(|workdir| workdir.canonicalize().ok());
        let below = workdir.as_deref().and_then(|workdir| project.strip_prefix(workdir).ok());
        let Some(below) = below else {
            bail!("the repository has no files beside it that the project is one of");
        };
        let mut unpacking = Unpacking { repository: &repository, links: Vec::new(), bytes: 0 };
        let mut entries = 0;
        for folder in FOLDERS {
            let entry = tree.lookup_entry_by_path(below.join(".ai").join(folder))?;
            let Some(entry) = entry.filter(|entry| entry.mode().is_tree()) else { continue };
            let tree = entry.object()?.into_tree();
            count(&tree, &mut entries, 0)?;
            unpacking.tree(&tree, &to.join(".ai").join(folder))?;
        }
        unpacking.context_files(&tree, below, to)?;
        fs::create_dir_all(to.join(".ai")).map_err(|source| Failure::io("make", to, &source))?;
        let lock = tree.lookup_entry_by_path(below.join(LOCK))?;
        if let Some(lock) = lock.filter(|lock| lock.mode().is_blob()) {
            unpacking.blob(lock.object_id(), &to.join(LOCK))?;
        }
        output::warnings(&unpacking.links);
        Ok(())
    }

    pub(super) fn is_committed(folder: &Path, path: &str) -> Result<bool, Failure> {
        let folder =
            folder.canonicalize().map_err(|source| Failure::io("find", folder, &source))?;
        super::plainness::look_through(&folder)?;
        let repository = open_repository(&folder)?;
        let workdir = repository.workdir().and_then(|workdir| workdir.canonicalize().ok());
        let below = workdir.as_deref().and_then(|workdir| folder.strip_prefix(workdir).ok());
        let tree = repository.head_commit().ok().and_then(|commit| commit.tree().ok());
        let (Some(below), Some(tree)) = (below, tree) else { return Ok(false) };
        Ok(tree.lookup_entry_by_path(below.join(path)).is_ok_and(|entry| entry.is_some()))
    }

    /// Opens the repository without the configuration of the user and the machine, and without the
    /// environment.
    fn open_repository(project: &Path) -> Result<Repository, Failure> {
        let limit = format!("gitoxide.objects.allocLimit={MOST_OBJECT_BYTES}");
        let options = gix::open::Options::isolated().config_overrides([limit]);
        gix::discover_opts(project, Default::default(), options).map_err(|error| {
            let project = project.display();
            Failure::usage(format!("`{project}` is in no git repository that can be read: {error}"))
        })
    }

    /// Checks the limits of a tree before any of it is written.
    fn count(tree: &Tree<'_>, entries: &mut usize, depth: usize) -> anyhow::Result<()> {
        if depth > MAX_DEPTH {
            bail!("its folders lie too deep");
        }
        for entry in tree.iter() {
            let entry = entry?;
            *entries += 1;
            if *entries > MAX_ENTRIES {
                bail!("more than {MAX_ENTRIES} files and folders lie in its `.ai`");
            }
            if entry.mode().is_tree() {
                let object = entry.object()?;
                count(&object.into_tree(), entries, depth + 1)?;
            }
        }
        Ok(())
    }

    struct Unpacking<'a> {
        repository: &'a Repository,
        /// Warnings about links that were left out.
        links: Vec<String>,
        /// The number of bytes written.
        bytes: u64,
    }

    impl Unpacking<'_> {
        fn tree(&mut self, tree: &Tree<'_>, to: &Path) -> anyhow::Result<()> {
            fs::create_dir_all(to)?;
            for entry in tree.iter() {
                let entry = entry?;
                // A name that is not a valid part of an id cannot be requested, and might lead to another
                // path.
                let Some(name) = segment(entry.filename()) else { continue };
                let path = to.join(name);
                match entry.mode().kind() {
                    EntryKind::Tree => {
                        let tree = entry.object()?.into_tree();
                        self.tree(&tree, &path)?;
                    }
                    EntryKind::Blob | EntryKind::BlobExecutable if files::is_item(&path) => {
                        self.blob(entry.object_id(), &path)?;
                    }
                    EntryKind::Link => {
                        self.links
                            .push(format!("`{name}` is a link at the revision and is left out"));
                    }
                    _ => {}
                }
            }
            Ok(())
        }

        /// Writes the plain files that the unpacked directives take into their context, with their signatures (SPEC 17.3).
        fn context_files(
            &mut self,
            tree: &Tree<'_>,
            below: &Path,
            to: &Path,
        ) -> anyhow::Result<()> {
            for path in named_files(&to.join(".ai/directives"))? {
                for place in [path.to_string(), path.signature()] {
                    let Some(entry) = tree.lookup_entry_by_path(below.join(&place))? else {
                        continue;
                    };
                    match entry.mode().kind() {
                        EntryKind::Blob | EntryKind::BlobExecutable => {
                            let file = to.join(&place);
                            fs::create_dir_all(file.parent().unwrap_or(to))?;
                            self.blob(entry.object_id(), &file)?;
                        }
                        _ => self.links.push(format!(
                            "`{place}` is no plain file at the revision and is left out"
                        )),
                    }
                }
            }
            Ok(())
        }

        fn blob(&mut self, id: gix::ObjectId, path: &Path) -> anyhow::Result<()> {
            let header = self.repository.find_header(id)?;
            if header.size() > MAX_BYTES {
                bail!("`{}` has more than {MAX_BYTES} bytes", path.display());
            }
            self.bytes += header.size();
            if self.bytes > MAX_TOTAL_BYTES {
                bail!("the items have more than {MAX_TOTAL_BYTES} bytes together");
            }
            let blob = self.repository.find_blob(id)?;
            Ok(fs::write(path, &blob.data)?)
        }
    }

    /// Returns the plain files that the directives below a folder take into their context.
    fn named_files(folder: &Path) -> anyhow::Result<BTreeSet<FilePath>> {
        let mut named = BTreeSet::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // What is wrong with a directive is told when it is compared.
                let Ok(text) = read_text(&path) else { continue };
                let Ok(directive) = rye::parse::directive(&text) else { continue };
                named.extend(directive.context.iter().filter_map(
                    |entry| match &entry.value.content {
                        ContextContent::File(path) => path.parse::<FilePath>().ok(),
                        _ => None,
                    },
                ));
            }
        }
        Ok(named)
    }

    /// Returns a name that can be a part of an id, with its extension (SPEC 1.3).
    fn segment(name: &[u8]) -> Option<&str> {
        let name = std::str::from_utf8(name).ok()?;
        let is_first = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let are_all = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
        (is_first && are_all).then_some(name)
    }
}
