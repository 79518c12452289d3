//! The transcripts that an engine keeps, as a folder of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rye::RecordSigner;
use rye::thread::{ThreadId, ThreadState};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::Engine;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// The transcripts of a tree, as far as they were read.
#[derive(Default)]
struct Transcripts {
    /// The number of steps that were read.
    steps: usize,
    texts: BTreeMap<ThreadId, String>,
    bytes: usize,
}

impl Transcripts {
    /// Reads what is new, and returns the threads that changed.
    fn read_on(
        &mut self,
        engine: &Engine,
        thread: &ThreadId,
    ) -> Result<BTreeSet<ThreadId>, Failure> {
        let mut changed = BTreeSet::new();
        loop {
            let steps = engine.call(thread, "steps", &json!(self.steps))?;
            let steps = steps.as_array().ok_or_else(incomplete)?;
            if steps.is_empty() {
                return Ok(changed);
            }
            self.steps += steps.len();
            for change in steps.iter().filter_map(|step| step["changes"].as_array()).flatten() {
                changed.insert(self.apply(change)?);
            }
        }
    }

    fn apply(&mut self, change: &Value) -> Result<ThreadId, Failure> {
        let id = change["thread"].as_str().and_then(|id| id.parse().ok());
        let at = change["at"].as_u64().and_then(|at| usize::try_from(at).ok());
        let text = change["text"].as_str();
        let ((Some(id), Some(at)), Some(text)) = ((id, at), text) else { return Err(incomplete()) };
        self.bytes += text.len();
        if MOST_BYTES < self.bytes {
            return Err(Failure::failed(format!(
                "the engine keeps more than {MOST_BYTES} bytes of the thread"
            )));
        }
        let id: ThreadId = id;
        let transcript = self.texts.entry(id.clone()).or_default();
        if !transcript.is_char_boundary(at) {
            return Err(incomplete());
        }
        transcript.truncate(at);
        transcript.push_str(text);
        Ok(id)
    }
}

/// The most bytes of one tree, so that a server cannot answer without end.
const MOST_BYTES: usize = 1 << 30;

fn incomplete() -> Failure {
    Failure::failed("the engine lacks a part of the thread".to_owned())
}

/// A thread of an engine, in a folder that goes with this value. What reads the folder verifies the records as those of this machine.
pub(crate) struct Mirror<'a> {
    engine: &'a Engine,
    pub(crate) thread: ThreadId,
    /// The answer about its state from before its transcripts were copied last.
    pub(crate) standing: Value,
    transcripts: Transcripts,
    folder: TempDir,
}

impl<'a> Mirror<'a> {
    /// Copies what the engine keeps of the thread now.
    pub(crate) fn of(engine: &'a Engine, thread: ThreadId) -> Result<Self, Failure> {
        let folder = tempfile::tempdir().map_err(|error| Failure::of(&error, Exit::Failed))?;
        let (standing, transcripts) = (Value::Null, Transcripts::default());
        let mut mirror = Self { engine, thread, standing, transcripts, folder };
        mirror.refresh()?;
        Ok(mirror)
    }

    /// Copies what is new.
    pub(crate) fn refresh(&mut self) -> Result<(), Failure> {
        self.standing = self.engine.standing(&self.thread)?;
        for id in self.transcripts.read_on(self.engine, &self.thread)? {
            write(self.folder.path(), &id, &self.transcripts.texts[&id])?;
        }
        Ok(())
    }

    /// Returns `true` if a worker drives the thread or is about to.
    pub(crate) fn is_driven(&self) -> bool {
        self.standing["end"].is_null()
    }

    /// Returns `true` if the engine keeps a record of the thread. One that was just started has none.
    pub(crate) fn has_begun(&self) -> bool {
        self.transcripts.texts.contains_key(&self.thread)
    }

    /// Returns the folder of the threads.
    pub(crate) fn threads(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

impl Engine {
    /// Writes the transcripts of a thread that has ended, and of all below it, into the folder of all threads.
    pub(crate) fn pull(
        &self,
        thread: &ThreadId,
        threads: &Path,
        environment: &Environment,
    ) -> Result<Exit, Failure> {
        let state = self.end(thread)?.unwrap_or_default()["state"].clone();
        let state: Option<ThreadState> = state.as_str().and_then(|state| state.parse().ok());
        if !state.is_some_and(ThreadState::is_final) {
            return Err(Failure::failed(format!(
                "thread `{thread}` has not ended; a copy here could go on twice"
            )));
        }
        let mut transcripts = Transcripts::default();
        transcripts.read_on(self, thread)?;
        let transcripts = transcripts.texts;
        for id in transcripts.keys() {
            let folder = threads.join(id.as_str());
            if folder.exists() {
                return Err(crate::key_store::exists(&folder));
            }
        }
        let copied = copy(&transcripts, threads, environment);
        if copied.is_err() {
            // What cannot be removed is refused by whatever reads it.
            let remove = |id: &ThreadId| fs::remove_dir_all(threads.join(id.as_str()));
            transcripts.keys().map(remove).for_each(drop);
        }
        copied?;
        eprintln!("thread {thread}: {}", output::counted(transcripts.len(), "transcript"));
        Ok(Exit::Fine)
    }
}

/// Writes the transcripts, and verifies that a trusted key signed each.
fn copy(
    transcripts: &BTreeMap<ThreadId, String>,
    threads: &Path,
    environment: &Environment,
) -> Result<(), Failure> {
    for (id, text) in transcripts {
        write(threads, id, text)?;
    }
    let rye = environment.rye()?;
    for id in transcripts.keys() {
        let reading = rye.thread(threads, id);
        let reading = reading.map_err(|error| Failure::of(&error, Exit::Refused))?;
        if reading.vouched_by != RecordSigner::TrustedKey {
            let message = format!("thread `{id}` is not signed by a key that is trusted here");
            return Err(Failure::refused(message));
        }
    }
    Ok(())
}

fn write(threads: &Path, thread: &ThreadId, text: &str) -> Result<(), Failure> {
    let folder = threads.join(thread.as_str());
    fs::create_dir_all(&folder).map_err(|source| Failure::io("make", &folder, &source))?;
    let path = folder.join("transcript.jsonl");
    fs::write(&path, text).map_err(|source| Failure::io("write", &path, &source))
}
