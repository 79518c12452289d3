//! `rye threads pull`.

use std::fs;
use std::path::Path;

use rye::thread::ThreadId;
use serde_json::json;

use super::client::Engine;
use super::outcome::Outcome;
use super::transcripts::{Mirror, write};
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
        let transcripts = mirror.transcripts();
        for id in transcripts.keys() {
            let folder = threads.join(id.as_str());
            if folder.exists() {
                return Err(crate::key_store::exists(&folder));
            }
        }
        let copied = transcripts.iter().try_for_each(|(id, text)| write(threads, id, text));
        if copied.is_err() {
            // What cannot be removed is refused by whatever reads it.
            let remove = |id: &ThreadId| fs::remove_dir_all(threads.join(id.as_str()));
            transcripts.keys().map(remove).for_each(drop);
        }
        copied?;
        if environment.json() {
            let rows = transcripts.keys().map(|id| json!({"thread": id.as_str()}));
            Answer::of("threads", rows).print();
        } else {
            eprintln!("thread {thread}: {}", output::counted(transcripts.len(), "transcript"));
        }
        Ok(Exit::Fine)
    }
}
