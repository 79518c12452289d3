//! The transcripts that an engine keeps, as a folder of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rye::sign::PublicKey;
use rye::thread::ThreadId;
use rye::{RecordSigner, Rye, ThreadReadError, ThreadReading};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Engine;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key;

/// The transcripts of a tree, as far as they were read.
#[derive(Default)]
struct Transcripts {
    /// The number of steps that were read.
    steps: u64,
    texts: BTreeMap<ThreadId, String>,
    /// The bytes that were read so far, with a fixed number for each step and change.
    bytes: usize,
}

impl Transcripts {
    /// Reads the steps before this number that are new, and returns the threads that changed.
    fn read_on(
        &mut self,
        engine: &Engine,
        thread: &ThreadId,
        number: u64,
    ) -> Result<BTreeSet<ThreadId>, Failure> {
        let mut changed = BTreeSet::new();
        while self.steps < number {
            let steps = engine.call(thread, "steps", &json!(self.steps))?;
            let steps =
                steps.as_array().filter(|steps| !steps.is_empty()).ok_or_else(incomplete)?;
            self.steps += steps.len() as u64;
            self.count(steps.len() * FIXED_BYTES)?;
            for change in steps.iter().filter_map(|step| step["changes"].as_array()).flatten() {
                changed.insert(self.apply(change)?);
            }
        }
        Ok(changed)
    }

    fn apply(&mut self, change: &Value) -> Result<ThreadId, Failure> {
        let id = change["thread"].as_str().and_then(|id| id.parse().ok());
        let at = change["at"].as_u64().and_then(|at| usize::try_from(at).ok());
        let text = change["text"].as_str();
        let ((Some(id), Some(at)), Some(text)) = ((id, at), text) else { return Err(incomplete()) };
        self.count(FIXED_BYTES + text.len())?;
        let id: ThreadId = id;
        let transcript = self.texts.entry(id.clone()).or_default();
        if !transcript.is_char_boundary(at) {
            return Err(incomplete());
        }
        transcript.truncate(at);
        transcript.push_str(text);
        Ok(id)
    }

    fn count(&mut self, bytes: usize) -> Result<(), Failure> {
        self.bytes += bytes;
        if self.bytes <= MOST_BYTES {
            return Ok(());
        }
        Err(Failure::failed(format!("the engine keeps more than {MOST_BYTES} bytes of the thread")))
    }
}

/// The most bytes of one tree, so that a server cannot answer without end.
const MOST_BYTES: usize = 1 << 30;

/// The bytes that a step or a change counts beside its text, which may be empty.
const FIXED_BYTES: usize = 256;

fn incomplete() -> Failure {
    Failure::failed("the engine lacks a part of the thread".to_owned())
}

/// A thread of an engine, in a folder that goes with this value.
///
/// The folder has the records up to the last signature of the operator's key. The server may have added what follows, which needs no
/// key, so it is left out until a signature covers it.
pub(crate) struct Mirror<'a> {
    engine: &'a Engine,
    pub(crate) thread: ThreadId,
    /// The answer about its state from before its transcripts were copied last. It is not signed.
    pub(super) standing: Value,
    transcripts: Transcripts,
    /// The number of signed bytes of each thread that has begun.
    signed: BTreeMap<ThreadId, usize>,
    folder: TempDir,
    rye: Rye,
    operator: PublicKey,
}

impl<'a> Mirror<'a> {
    /// Copies what the engine keeps of the thread now.
    pub(crate) fn of(
        engine: &'a Engine,
        thread: ThreadId,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        // An engine that cannot be reached is named before a missing key.
        engine.standing(&thread)?;
        let folder = tempfile::tempdir().map_err(|error| Failure::of(&error, Exit::Failed))?;
        let operator = signing_key(environment)?.public();
        let rye = environment.rye()?;
        let (standing, transcripts, signed) = Default::default();
        let mut mirror =
            Self { engine, thread, standing, transcripts, signed, folder, rye, operator };
        mirror.refresh()?;
        Ok(mirror)
    }

    /// Copies what the engine keeps of the thread after an order that it says to be carried out.
    pub(super) fn after_order(
        engine: &'a Engine,
        thread: &ThreadId,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        let what = "the engine says that the order is carried out, and its records cannot be read";
        Self::of(engine, thread.clone(), environment).map_err(|failure| failure.within(what))
    }

    /// Copies what is new, and verifies it.
    pub(crate) fn refresh(&mut self) -> Result<(), Failure> {
        self.standing = self.engine.standing(&self.thread)?;
        let steps = self.standing["steps"].as_u64().ok_or_else(incomplete)?;
        for id in self.transcripts.read_on(self.engine, &self.thread, steps)? {
            let text = self.transcripts.texts.get(&id).map_or("", String::as_str);
            write(self.folder.path(), &id, text)?;
            let signed = self.verify(&id)?.map_or(0, |reading| signed_bytes(&reading, text));
            write(self.folder.path(), &id, text.get(..signed).unwrap_or_default())?;
            self.signed.insert(id, signed);
        }
        Ok(())
    }

    /// Reads a thread of the tree; `None` if it has not begun.
    ///
    /// # Errors
    ///
    /// When its records are not as a run wrote them, another key than the operator's signed them, or it is in another tree.
    fn verify(&self, thread: &ThreadId) -> Result<Option<ThreadReading>, Failure> {
        let reading = match self.rye.thread(self.folder.path(), thread) {
            Err(ThreadReadError::Unbegun { .. }) => return Ok(None),
            reading => reading.map_err(|error| Failure::of(&error, Exit::Refused))?,
        };
        let signers = &reading.transcript.signers;
        let is_own = reading.vouched_by == RecordSigner::TrustedKey
            && signers.iter().all(|signer| self.operator.is_named(signer));
        if !is_own {
            return Err(Failure::refused(format!(
                "the engine's records of thread `{thread}` are not signed with your key"
            )));
        }
        if reading.record.root != self.thread {
            return Err(Failure::refused(format!(
                "the engine's records of thread `{}` hold `{thread}` of another tree",
                self.thread
            )));
        }
        Ok(Some(reading))
    }

    /// Reads a thread of the tree that has begun.
    pub(super) fn reading(&self, thread: &ThreadId) -> Result<ThreadReading, Failure> {
        self.verify(thread)?.ok_or_else(incomplete)
    }

    /// Returns the signed part of each transcript, with its thread.
    pub(super) fn transcripts(&self) -> impl Iterator<Item = (&ThreadId, &str)> {
        let texts = &self.transcripts.texts;
        let begun = self.signed.iter().filter(|(_, signed)| 0 < **signed);
        begun.filter_map(|(id, signed)| Some((id, texts.get(id)?.get(..*signed)?)))
    }

    /// Returns the threads of the tree that have begun.
    pub(super) fn ids(&self) -> impl Iterator<Item = &ThreadId> {
        self.transcripts().map(|(id, _)| id)
    }

    /// Returns the arguments that name the thread to other commands.
    pub(crate) fn arguments(&self) -> String {
        format!("{} --engine {}", self.thread, self.engine.named)
    }

    /// Returns `true` if a worker drives the thread or is about to.
    pub(crate) fn is_driven(&self) -> bool {
        self.standing["end"].is_null()
    }

    /// Returns the sentence with which the last worker refused to go on.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.standing["refused"].as_str()
    }

    /// Returns `true` if the engine keeps a signed record of the thread. One that was just started has none.
    pub(crate) fn has_begun(&self) -> bool {
        self.ids().any(|id| *id == self.thread)
    }

    /// Returns the folder of the threads.
    pub(crate) fn threads(&self) -> PathBuf {
        self.folder.path().to_owned()
    }
}

/// Returns the length of the lines up to the last checkpoint.
fn signed_bytes(reading: &ThreadReading, text: &str) -> usize {
    let covered = usize::try_from(reading.transcript.signed).unwrap_or(usize::MAX);
    match covered {
        0 => 0,
        _ => text.split_inclusive('\n').take(covered.saturating_add(1)).map(str::len).sum(),
    }
}

/// The name of the file with the records of a thread.
pub(super) const TRANSCRIPT: &str = "transcript.jsonl";

pub(super) fn write(threads: &Path, thread: &ThreadId, text: &str) -> Result<(), Failure> {
    let folder = threads.join(thread.as_str());
    fs::create_dir_all(&folder).map_err(|source| Failure::io("make", &folder, &source))?;
    let path = folder.join(TRANSCRIPT);
    fs::write(&path, text).map_err(|source| Failure::io("write", &path, &source))
}
