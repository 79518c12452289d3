//! `rye threads pull`.

use std::path::Path;
use std::{fs, io};

use rye::files::read_plain;
use rye::thread::ThreadId;
use serde_json::json;

use super::client::Engine;
use super::outcome::Outcome;
use super::transcripts::{Mirror, TRANSCRIPT, write};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

impl Engine {
    /// Writes the transcripts of a thread that has ended, and of all below it, into the folder of all threads.
    pub(crate) fn pull(
        &self,
        thread: &ThreadId,
        threads: &Path,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let mirror = Mirror::of(self, thread.clone(), environment)?;
        // By its records: a part of them would go on here, and there as well.
        if mirror.is_driven() || !Outcome::read(&mirror, environment)?.state().is_final() {
            return Err(Failure::failed(format!(
                "thread `{thread}` has not ended; a copy here could go on twice"
            )));
        }
        let mut missing = Vec::new();
        for (id, text) in mirror.transcripts() {
            let folder = threads.join(id.as_str());
            let copied = read_plain(&folder.join(TRANSCRIPT), text.len() as u64);
            let is_copied = copied.is_ok_and(|it| it == text.as_bytes());
            // Also a link to nothing is in the way.
            match folder.symlink_metadata().is_ok() {
                false => missing.push((id, text)),
                // A copy that broke off left it.
                true if is_copied && id != thread => {}
                true => return Err(crate::key_store::exists(&folder)),
            }
        }
        // The root is the last, so that it stands for a whole tree.
        missing.sort_by_key(|(id, _)| *id == thread);
        copy(&missing, threads)?;
        let pulled: Vec<&ThreadId> = mirror.ids().collect();
        if environment.json() {
            let rows = pulled.into_iter().map(|id| json!({"thread": id.as_str()}));
            Answer::of("threads", rows).print();
        } else {
            eprintln!("thread {thread}: {}", output::counted(pulled.len(), "transcript"));
        }
        Ok(Exit::Fine)
    }
}

/// Writes transcripts into a folder beside those of the threads, and then moves each to its place.
fn copy(transcripts: &[(&ThreadId, &str)], threads: &Path) -> Result<(), Failure> {
    let failed = |source: &io::Error| Failure::io("write", threads, source);
    fs::create_dir_all(threads).map_err(|source| failed(&source))?;
    let part = tempfile::Builder::new().prefix(".pull-").tempdir_in(threads);
    let part = part.map_err(|source| failed(&source))?;
    transcripts.iter().try_for_each(|(id, text)| write(part.path(), id, text))?;
    for (id, _) in transcripts {
        let (from, to) = (part.path().join(id.as_str()), threads.join(id.as_str()));
        fs::rename(from, &to).map_err(|source| Failure::io("write", &to, &source))?;
    }
    Ok(())
}
