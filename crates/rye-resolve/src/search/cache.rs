//! What a search keeps for the next one, in a folder that the caller names.
//!
//! A cache is a hint and never evidence. It says which items would answer; each of those is read and verified again
//! before it is a result, and its words are compared with the kept ones. One that disagrees makes the search forget the
//! cache and read everything. Who writes into the cache can therefore keep an item from being found or its refusal from
//! being told, as who may write there could by deleting the item, but cannot make one be returned, or shown with other
//! words than its own. No secret guards the file: whoever may write it may also read what would be kept beside it.
//!
//! Only items that were verified are kept; what was refused is read again each time, and told each time. Entries count
//! for one set of roots, one state of trust and policy, and one version of this crate.

mod disk;

use std::{
    fs, io,
    io::Write as _,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicUsize, Ordering},
};

use rye_sign::{Digest, verification_state};

pub(crate) use disk::Kept;

use super::{Index, shard::Writer};
use crate::{Library, ResolveError, root::Root};

/// The file for the roots of one library.
#[derive(Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    file: PathBuf,
    /// Of all that entries depend on besides their own file.
    binding: Digest,
}

impl Cache {
    /// The cache of `library`, or `None` when it has no folder for one.
    pub(crate) fn of(library: &Library, roots: &[Root]) -> Option<Self> {
        let folder = library.search_cache()?.to_owned();
        let places = Digest::of(places(roots).as_bytes());
        let state = verification_state(library.trust(), library.policy(), library.now());
        let version = env!("CARGO_PKG_VERSION");
        let binding = Digest::of(format!("{version} {places} {state}").as_bytes());
        let name: String = places.to_string().chars().take(16).collect();
        Some(Self { file: folder.join(name + EXTENSION), folder, binding })
    }

    /// What is kept, or `None` when there is nothing of use.
    pub(crate) fn load(&self) -> Option<Kept> {
        // Asked before reading: a pipe, or what is too long, was not written here.
        let metadata = fs::metadata(&self.file).ok()?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return None;
        }
        Kept::from_bytes(fs::read(&self.file).ok()?, &self.binding)
    }

    /// Keeps the items of `index` that have rested long enough to be known by their stamp.
    pub(crate) fn save(&self, library: &Library, index: &Index) -> Result<(), ResolveError> {
        let Some(shard) = merged(library, index) else { return Ok(()) };
        let bytes = disk::to_bytes(&shard, &index.winners, &self.binding);
        if bytes.len() as u64 > MOST_BYTES {
            return Ok(());
        }
        self.write(&bytes).map_err(|source| {
            let path = self.file.clone();
            ResolveError::Cache { path, source }
        })
    }

    /// Puts the file in place in one step, so that another process reads the old one or the new one.
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
            // The first error is the one to tell.
            fs::remove_file(&temporary).ok();
        }
        written?;
        prune(&self.folder)
    }
}

/// The settled items of all shards as one shard, in the order of the winners.
fn merged(library: &Library, index: &Index) -> Option<super::shard::Shard> {
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

/// The roots by their real paths, so that one project is one however it was named.
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

/// Words of private projects are nobody else's to read.
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
        // Left behind by a process that had the same number and was stopped.
        io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        _ => Err(error),
    })
}

/// Removes the files of this module that were written longest ago, beyond the newest [`MOST_FILES`].
fn prune(folder: &Path) -> io::Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.ends_with(EXTENSION) || name.ends_with(".tmp") {
            // Another process may just have removed it.
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
