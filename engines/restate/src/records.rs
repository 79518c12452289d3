//! The values that the engine keeps: what a step of a thread recorded, and where the thread stands after it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One change of a transcript.
///
/// The text belongs at byte `at`. A transcript that is longer is truncated to `at` first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The thread, which is in the tree of the object's key.
    pub thread: String,
    /// The byte of the transcript.
    pub at: u64,
    /// Lines in UTF-8, or a part of one.
    pub text: String,
}

/// The changes between two syncs of a thread tree. The engine keeps each as one value of the object's state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The changes, in their order.
    pub changes: Vec<Change>,
    /// The end, after the last change; `None` while the tree is driven.
    pub end: Option<End>,
    /// The signature of the worker that made the step, over all steps up to it (`rye::StepChain`).
    #[serde(default)]
    pub signature: String,
}

impl Step {
    /// Returns the length of the changes in bytes.
    pub fn bytes(&self) -> usize {
        self.changes.iter().map(|change| change.text.len()).sum()
    }

    /// Returns the digest of the step, behind one with the digest `last`.
    pub fn digest(&self, last: Option<&str>) -> String {
        rye::step_digest(last, &json!(self.changes), &json!(self.end))
    }
}

/// The state in which a run left its thread. Outputs and texts are in the records, whose size has no bound.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The state: `completed`, `error`, `cancelled`, or `suspended` while a call waits for a decision.
    pub state: String,
    /// The reason of state `error`, as far as it fits into [`End::MOST_CHARS`].
    pub failure: Option<String>,
    /// `limit` if a limit ended the thread, and `refused` if trust or permission stood against it.
    pub class: Option<String>,
    /// The number of answered requests.
    pub turns: u64,
    /// The cost of the tree in billionths of a US dollar.
    pub cost_nanos: u64,
    /// The call that waits, in state `suspended`.
    pub asked: Option<AskedCall>,
}

impl End {
    /// The most characters of a reason.
    pub const MOST_CHARS: usize = 4_000;

    /// Returns the end with this reason.
    pub fn because(mut self, failure: &str) -> Self {
        self.failure = Some(failure.chars().take(Self::MOST_CHARS).collect());
        self
    }
}

/// A call that waits for a decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskedCall {
    /// The thread, which may be a child.
    pub thread: String,
    /// The sequence number of the record that asks.
    pub seq: u64,
    /// The item that is called.
    pub item: String,
    /// The SHA-256 of the arguments that a decision is about, as compact JSON, in hex.
    pub sha256: String,
}

/// The state of a thread tree on the engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Its directive; `None` if there is no such thread. The signed request that started it is not given away.
    pub directive: Option<String>,
    /// The number of steps that are kept.
    pub steps: u64,
    /// The end of the last run; `None` while a worker drives the tree or is about to.
    pub end: Option<End>,
    /// The sentence with which the last worker refused to go on, until another one does.
    pub refused: Option<String>,
}

/// How a thread stands, for the list of all threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The id of the thread.
    pub thread: String,
    /// Its directive.
    pub directive: String,
    /// The number of steps with which it stands so.
    pub step: u64,
    /// The state: `running` while a worker drives the thread or is about to, or that of [`End`].
    pub state: String,
    /// The number of answered requests.
    pub turns: u64,
    /// The cost of the tree in billionths of a US dollar, as of the end.
    pub cost_nanos: u64,
}

impl Row {
    /// Returns the row of a thread that was started with this request and stands so.
    pub fn of(thread: &str, start: &Value, head: &Head) -> Self {
        let end = head.end.as_ref();
        Self {
            thread: thread.to_owned(),
            directive: start["directive"].as_str().unwrap_or_default().to_owned(),
            step: head.steps,
            state: end.map_or("running", |end| &end.state).to_owned(),
            turns: end.map_or(0, |end| end.turns),
            cost_nanos: end.map_or(0, |end| end.cost_nanos),
        }
    }
}

/// A row with its times, as RFC 3339 in UTC by the clocks of workers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// How the thread stands.
    #[serde(flatten)]
    pub row: Row,
    /// The time of its first row.
    pub created: String,
    /// The time of this row.
    pub updated: String,
}

/// What a step of the engine did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advance {
    /// The new records.
    pub step: Step,
    /// The time by the worker's clock, in milliseconds since 1970.
    #[serde(default)]
    pub millis: i64,
    /// `true` if a thread asks its model once the step is kept.
    pub asks: bool,
    /// `true` if nothing but requests to models comes next, so that the following step may run on another worker.
    pub is_before_request: bool,
    /// The files with which the thread began, signed; `None` where the engine knows them.
    pub bundle: Option<Value>,
}

/// What changes with each step of a tree, as the engine keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The number of steps that are kept.
    pub steps: u64,
    /// The digest of the last step, which covers those before it.
    #[serde(default)]
    pub last: Option<String>,
    /// The number of the turn that is next. Any other one does nothing.
    #[serde(default)]
    pub turn: u64,
    /// The end of the last run.
    pub end: Option<End>,
    /// The refusals since the last turn that came to its end.
    pub refusals: Option<Refusals>,
}

impl Head {
    /// Counts a step that is kept.
    ///
    /// The refusals stay until a turn comes to its end: an attempt to go on records that it began, and may fail each time.
    pub fn keep(&mut self, step: &Step) {
        self.steps += 1;
        self.last = Some(step.digest(self.last.as_deref()));
        self.end.clone_from(&step.end);
        if self.end.is_some() {
            self.refusals = None;
        }
    }

    /// Counts a refusal, and returns the time after which the next worker is asked.
    pub fn refuse(&mut self, last: String) -> Duration {
        let count = self.refusals.as_ref().map_or(0, |refusals| refusals.count) + 1;
        self.refusals.insert(Refusals { count, last }).pause()
    }
}

/// An order on its way to the object of its tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Carrying {
    /// The signed order.
    pub order: Value,
    /// `true` if the tree had no end when the order came.
    pub is_running: bool,
}

/// The state of a thread that was cancelled.
pub const CANCELLED: &str = "cancelled";

/// Workers that refused one after the other to go on with a tree.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Their number.
    pub count: u32,
    /// The last one's sentence.
    pub last: String,
}

impl Refusals {
    /// Returns the time after which the next worker is asked: half a second at first, and half a minute in the end.
    pub fn pause(&self) -> Duration {
        Duration::from_millis(500) * 2_u32.pow(self.count.saturating_sub(1).min(6))
    }
}

/// Puts changes in their order into whole transcripts.
///
/// # Errors
///
/// A change that lies beyond the end of its transcript, so that one before it is missing.
pub fn assemble<'a>(
    changes: impl Iterator<Item = &'a Change>,
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut transcripts: BTreeMap<String, String> = BTreeMap::new();
    for Change { thread, at, text } in changes {
        let transcript = transcripts.entry(thread.clone()).or_default();
        let at = usize::try_from(*at)?;
        if !transcript.is_char_boundary(at) {
            anyhow::bail!("the engine lacks a step of thread `{thread}` before byte {at}");
        }
        transcript.truncate(at);
        transcript.push_str(text);
    }
    Ok(transcripts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(thread: &str, at: u64, text: &str) -> Change {
        Change { thread: thread.to_owned(), at, text: text.to_owned() }
    }

    #[test]
    fn changes_make_whole_transcripts() {
        let changes = [
            change("a", 0, "one\n"),
            change("b", 0, "1\n"),
            change("a", 4, "two\nthr"),
            change("a", 8, ""),
            change("a", 8, "three\n"),
        ];
        let transcripts = assemble(changes.iter()).unwrap();
        assert_eq!(transcripts["a"], "one\ntwo\nthree\n");
        assert_eq!(transcripts["b"], "1\n");
    }

    #[test]
    fn the_pauses_between_refusals_grow_to_half_a_minute() {
        let pause = |count| Refusals { count, last: String::new() }.pause().as_millis();
        assert_eq!(
            [1, 2, 3, 7, 8, u32::MAX].map(pause),
            [500, 1_000, 2_000, 32_000, 32_000, 32_000]
        );
    }

    #[test]
    fn the_pauses_grow_over_attempts_that_record_something() {
        let mut head = Head::default();
        let first = head.refuse("no".to_owned());
        head.keep(&Step::default());
        assert!(first < head.refuse("no".to_owned()));
        head.keep(&Step { end: Some(End::default()), ..Step::default() });
        assert_eq!(head.refusals, None);
    }

    #[test]
    fn a_missing_step_is_an_error() {
        let error = assemble([change("a", 4, "two\n")].iter()).unwrap_err();
        assert_eq!(error.to_string(), "the engine lacks a step of thread `a` before byte 4");
    }
}
