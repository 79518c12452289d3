//! The search cache: words of items, kept for the next search in a folder that the caller names.
//!
//! A cache is a hint and never evidence. It tells which items match. A search reads and verifies each of them
//! again, and compares its words with the kept words. If one disagrees, the search drops the cache and reads
//! everything.
//!
//! A process that can write the cache can hide an item or its refusal. It cannot make an item a result, and
//! it cannot change the words of a result. No key authenticates the file, because a process that can write
//! the file could also read such a key.
//!
//! Only verified items are kept. Refused items are read and reported again each time. Entries are valid for
//! one set of roots, one state of trust and policy, and one version of this crate.

mod disk;

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use rye_files::read_plain;
use rye_sign::{Digest, verification_state};

pub(crate) use disk::CacheFile;

use super::{Index, shard::Writer};
use crate::{Library, ResolveError, root::Root};

/// The cache file for the roots of a library.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    file: PathBuf,
    /// The digest of everything that the entries depend on besides their own files.
    binding: Digest,
}

impl Cache {
    /// The cache of `library`, or `None` if the library has no folder for it.
    pub(crate) fn of(library: &Library, roots: &[Root]) -> Option<Self> {
        let folder = library.search_cache()?.to_owned();
        let places = Digest::of(places(roots).as_bytes());
        let state = verification_state(library.trust(), library.policy(), library.now());
        let version = env!("CARGO_PKG_VERSION");
        let binding = Digest::of(format!("{version} {places} {state}").as_bytes());
        let name: String = places.to_string().chars().take(16).collect();
        Some(Self { file: folder.join(name + EXTENSION), folder, binding })
    }

    /// Reads the cache; `None` if there is no usable one.
    pub(crate) fn load(&self) -> Option<CacheFile> {
        CacheFile::from_bytes(read_plain(&self.file, MOST_BYTES).ok()?, &self.binding)
    }

    /// Writes the items of `index` whose stamps are old enough to be reliable.
    pub(crate) fn save(&self, library: &Library, index: &Index) -> Result<(), ResolveError> {
        let Some(shard) = merge_settled(library, index) else { return Ok(()) };
        let bytes = disk::to_bytes(&shard, &index.winners, &self.binding);
        if bytes.len() as u64 > MOST_BYTES {
            return Ok(());
        }
        self.write(&bytes).map_err(|source| {
            let path = self.file.clone();
            ResolveError::Cache { path, source }
        })
    }

    /// Replaces the file in one step, so that another process reads either the old or the new one.
    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        make_folder(&self.folder)?;
        let temporary = self.file.with_extension(format!(
            "{}-{}.tmp",
            process::id(),
            N_WRITTEN.fetch_add(1, Ordering::Relaxed)
        ));
        let written = create(&temporary)
            .and_then(|mut file| file.write_all(bytes))
            .and_then(|()| fs::rename(&temporary, &self.file));
        if written.is_err() {
            // The first error is reported, not this one.
            fs::remove_file(&temporary).ok();
        }
        written?;
        prune(&self.folder)
    }
}

/// The settled items of all shards as one shard, in the order of the winners.
fn merge_settled(library: &Library, index: &Index) -> Option<super::shard::Shard> {
    let mut rows = Vec::new();
    for (number, shard) in index.shards.iter().enumerate() {
        rows.extend(shard.documents.iter().map(|document| (document.winner, number, document)));
    }
    rows.sort_unstable_by_key(|(winner, ..)| *winner);
    let mut renumbered: Vec<Vec<Option<u32>>> =
        index.shards.iter().map(|shard| vec![None; shard.vocabulary.len()]).collect();
    let mut writer = Writer::default();
    for (winner, number, document) in rows {
        if index.winners.get(winner)?.stamp.has_settled(library.now()) {
            writer.adopt(index.shards.get(number)?, document, renumbered.get_mut(number)?)?;
        }
    }
    Some(writer.finish())
}

/// The roots by their real paths, so that a project has one cache whatever path it was opened by.
fn places(roots: &[Root]) -> String {
    let place = |root: &Root| match root {
        Root::Disk { space, ai } => {
            let real = fs::canonicalize(ai).unwrap_or_else(|_| ai.clone());
            format!("{space} {real:?}\n")
        }
        Root::Shipped(_) => "builtin\n".to_owned(),
    };
    roots.iter().map(place).collect()
}

/// Makes the folder with access for its owner only, because the cache holds words of private projects.
fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn create(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).or_else(|error| match error.kind() {
        // A stopped process with the same process id left it behind.
        io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        _ => Err(error),
    })
}

/// Removes the oldest files of this module and keeps the newest [`MOST_FILES`].
fn prune(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(EXTENSION) || name.ends_with(".tmp") {
            // Another process may have removed it meanwhile.
            let modified = fs::symlink_metadata(&path).and_then(|metadata| metadata.modified());
            files.extend(modified.ok().map(|modified| (modified, path)));
        }
    }
    files.sort_unstable();
    let excess = files.len().saturating_sub(MOST_FILES);
    for (_, path) in files.into_iter().take(excess) {
        fs::remove_file(path).ok();
    }
    Ok(())
}

/// Tells the temporary files of one process apart.
static N_WRITTEN: AtomicUsize = AtomicUsize::new(0);

const EXTENSION: &str = ".search";

const MOST_FILES: usize = 32;

const MOST_BYTES: u64 = 512 * 1024 * 1024;

#[cfg(test)]
mod tests;
