//! The values that the engine keeps: what a step of a thread recorded, and where the thread stands after it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

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
}

impl Step {
    /// Returns the length of the changes in bytes.
    pub fn bytes(&self) -> usize {
        self.changes.iter().map(|change| change.text.len()).sum()
    }

    /// Returns `true` if a model is asked next, so that the following step may run on another worker.
    pub fn begins_turn(&self, root: &str) -> bool {
        const REQUEST: &str = "\"event\":\"step_start\"";
        self.changes.iter().any(|change| change.thread == root && change.text.contains(REQUEST))
    }
}

/// The state in which a run left its thread.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// The state: `completed`, `error`, `cancelled`, or `suspended` while a call waits for a decision.
    pub state: String,
    /// The returned outputs.
    pub outputs: Option<Value>,
    /// The last text of the model.
    pub text: String,
    /// The reason of state `error`.
    pub failure: Option<String>,
    /// `limit` if a limit ended the thread, and `refused` if trust or permission stood against it.
    pub class: Option<String>,
    /// The number of answered requests.
    pub turns: u64,
    /// The cost of the tree in billionths of a US dollar.
    pub cost_nanos: u64,
    /// The call that waits, in state `suspended`.
    pub asked: Option<AskedCall>,
    /// Problems that did not stop the thread.
    pub warnings: Vec<String>,
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
    /// The arguments that a decision is about.
    pub arguments: Value,
}

/// The state of a thread tree on the engine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// The signed request that started it; `None` if there is no such thread.
    pub start: Option<Value>,
    /// The number of steps that are kept.
    pub steps: u64,
    /// The end of the last run; `None` while a worker drives the tree or is about to.
    pub end: Option<End>,
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
    fn a_missing_step_is_an_error() {
        let error = assemble([change("a", 4, "two\n")].iter()).unwrap_err();
        assert_eq!(error.to_string(), "the engine lacks a step of thread `a` before byte 4");
    }
}
