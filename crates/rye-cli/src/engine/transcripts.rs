//! The transcripts that an engine keeps, as a folder of threads.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use rye::sign::PublicKey;
use rye::thread::ThreadId;
use rye::{RecordSigner, Rye, StepChain, ThreadReadError, ThreadReading};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::Engine;
use super::ingress::NoAnswer;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key;
use crate::output;

/// The transcripts of a tree, as far as they were read.
struct Transcripts {
    /// The steps that were read.
    chain: StepChain,
    /// The end in the last of them; null while a worker drives the tree or is about to.
    end: Value,
    texts: BTreeMap<ThreadId, String>,
    /// The threads whose texts changed since they were written.
    changed: BTreeSet<ThreadId>,
    /// The bytes that were read so far, with a fixed number for each step and change.
    bytes: usize,
}

impl Transcripts {
    fn new(thread: &ThreadId) -> Self {
        let chain = StepChain::new(thread.as_str());
        let (texts, changed) = Default::default();
        Self { chain, end: Value::Null, texts, changed, bytes: 0 }
    }

    /// Reads the steps before this number that are new. A worker of the operator made them all.
    fn read_on(
        &mut self,
        engine: &Engine,
        thread: &ThreadId,
        number: u64,
        operator: &PublicKey,
    ) -> Result<(), NoAnswer> {
        while self.chain.steps() < number {
            let steps = engine.call(thread, "steps", &json!(self.chain.steps()))?;
            let steps = steps.as_array().ok_or_else(incomplete)?;
            let last = steps.last().ok_or_else(incomplete)?;
            steps.iter().for_each(|step| self.chain.add(&step["changes"], &step["end"]));
            let signature = last["signature"].as_str().unwrap_or_default();
            self.chain.verify(signature, operator).map_err(|error| {
                let what =
                    format!("the engine's steps of thread `{thread}` are not as workers made them");
                Failure::of(&error, Exit::Refused).within(&what)
            })?;
            self.count(steps.len() * CHANGE_BYTES)?;
            self.end = last["end"].clone();
            for change in steps.iter().filter_map(|step| step["changes"].as_array()).flatten() {
                self.apply(change)?;
            }
        }
        Ok(())
    }

    fn apply(&mut self, change: &Value) -> Result<(), Failure> {
        let id = change["thread"].as_str().and_then(|id| id.parse().ok());
        let at = change["at"].as_u64().and_then(|at| usize::try_from(at).ok());
        let text = change["text"].as_str();
        let ((Some(id), Some(at)), Some(text)) = ((id, at), text) else { return Err(incomplete()) };
        let id: ThreadId = id;
        if !self.texts.contains_key(&id) {
            self.count(FOLDER_BYTES)?;
        }
        self.count(CHANGE_BYTES + text.len())?;
        let transcript = self.texts.entry(id.clone()).or_default();
        if !transcript.is_char_boundary(at) {
            return Err(incomplete());
        }
        transcript.truncate(at);
        transcript.push_str(text);
        self.changed.insert(id);
        Ok(())
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

/// The bytes that the folder of a thread, and a step or a change, count beside the texts, which may be empty.
const FOLDER_BYTES: usize = 8 << 10;
const CHANGE_BYTES: usize = 256;

fn incomplete() -> Failure {
    Failure::failed("the engine lacks a part of the thread".to_owned())
}

/// A thread of an engine, in a folder that goes with this value.
///
/// Workers of the operator made its records, and the folder has those up to the last checkpoint. What follows counts for nothing yet.
pub(crate) struct Mirror<'a> {
    engine: &'a Engine,
    pub(crate) thread: ThreadId,
    /// The sentence with which the last worker refused to go on, as the engine says.
    refused: Option<String>,
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
    ) -> Result<Self, NoAnswer> {
        // An engine that cannot be reached is named before a missing key.
        engine.standing(&thread)?;
        let folder = tempfile::tempdir().map_err(|error| Failure::of(&error, Exit::Failed))?;
        let operator = signing_key(environment)?.public();
        let rye = environment.rye()?;
        let transcripts = Transcripts::new(&thread);
        let (refused, signed) = Default::default();
        let mut mirror =
            Self { engine, thread, refused, transcripts, signed, folder, rye, operator };
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
        let mirror = Self::of(engine, thread.clone(), environment);
        mirror.map_err(|error| Failure::from(error).within(what))
    }

    /// Copies what is new, and verifies it.
    pub(crate) fn refresh(&mut self) -> Result<(), NoAnswer> {
        let standing = self.engine.standing(&self.thread)?;
        self.refused = standing["refused"].as_str().map(str::to_owned);
        let steps = standing["steps"].as_u64().ok_or_else(incomplete)?;
        self.transcripts.read_on(self.engine, &self.thread, steps, &self.operator)?;
        while let Some(id) = self.transcripts.changed.pop_first() {
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

    /// Returns `true` if a worker drives the thread or is about to, by the last step that a worker signed.
    pub(crate) fn is_driven(&self) -> bool {
        self.transcripts.end.is_null()
    }

    /// Returns the state in which the last step left the thread; `None` while it is driven.
    pub(super) fn end_state(&self) -> Option<&str> {
        self.transcripts.end["state"].as_str()
    }

    /// Returns a sentence about a thread without a record.
    pub(crate) fn tell_without_record(&self) -> String {
        let thread = &self.thread;
        match (self.end_state(), &self.refused) {
            (Some(state), _) => {
                let failure = self.transcripts.end["failure"].as_str();
                let why =
                    failure.map_or_else(String::new, |why| format!(": {}", output::line(why)));
                format!("thread `{thread}` has ended without a record, as {state}{why}")
            }
            (None, Some(why)) => {
                format!("no worker goes on with thread `{thread}` yet: {}", output::line(why))
            }
            (None, None) => format!("thread `{thread}` has no record yet"),
        }
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
