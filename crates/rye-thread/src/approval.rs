//! Asking a person before a call runs (SPEC 10.11).

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::ThreadId;

/// Whether somebody must approve each call of a tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call waits for somebody or it does not")]
pub enum Asking {
    /// Each call waits for a decision.
    Always,
    /// The authority alone decides.
    #[default]
    Never,
}

/// What somebody said about one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call is run or it is not")]
pub enum Decision {
    /// It may run, this once.
    Approved,
    /// It may not; the model is told.
    Denied,
}

impl Decision {
    /// `approved` or `denied`, as the transcript writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::Denied => "denied",
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Decision {
    type Err = DecisionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = [Self::Approved, Self::Denied].into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| DecisionError { text: text.to_owned() })
    }
}

/// A word that is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is no decision; use `approved` or `denied`")]
pub struct DecisionError {
    /// The word.
    pub text: String,
}

/// Who said it, as the transcript writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider(String);

/// The longest name of a client that is recorded, in characters.
const LONGEST_NAME: usize = 64;

impl Decider {
    /// The operator, by a command.
    #[must_use]
    pub fn command() -> Self {
        Self("command".to_owned())
    }

    /// Whoever a client of the Model Context Protocol asked. What the client calls itself is its own word: of it no more than
    /// 64 characters are kept, and each that is no ASCII letter, digit, space or one of `-._/@` is written as `?`.
    #[must_use]
    pub fn client(name: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || " -._/@".contains(c);
        let name: String =
            name.chars().take(LONGEST_NAME).map(|c| if plain(c) { c } else { '?' }).collect();
        Self(format!("mcp client {name}").trim_end().to_owned())
    }

    /// `command`, or `mcp client` with the client's name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Why a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalReason {
    /// The configuration wants every call of this tool to be approved.
    Configured,
    /// A hook wants somebody to decide; the arguments are what it saw.
    Escalated,
    /// The program was killed while the call ran, and running it twice is not the same as running it once.
    Interrupted,
}

impl ApprovalReason {
    /// All of them, sorted by name.
    pub const ALL: [Self; 3] = [Self::Configured, Self::Escalated, Self::Interrupted];

    /// `configured`, `escalated` or `interrupted`, as the transcript writes it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Configured => "configured",
            Self::Escalated => "escalated",
            Self::Interrupted => "interrupted",
        }
    }
}

/// The exact call that waits for a decision.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool that it means.
    pub item_id: String,
    /// The arguments that the tool would get.
    pub arguments: Value,
    /// The SHA-256 of the arguments as compact JSON, in hex; a decision is recorded with it.
    pub sha256: String,
    /// Why it waits.
    pub reason: ApprovalReason,
}

impl ApprovalRequest {
    pub(crate) fn new(
        thread: &ThreadId,
        call_id: &str,
        item_id: &str,
        arguments: &Value,
        reason: ApprovalReason,
    ) -> Self {
        let (call_id, item_id) = (call_id.to_owned(), item_id.to_owned());
        let (thread, arguments, sha256) = (thread.clone(), arguments.clone(), digest(arguments));
        Self { thread, call_id, item_id, arguments, sha256, reason }
    }
}

fn digest(arguments: &Value) -> String {
    Sha256::digest(arguments.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Somebody who can be asked while a thread runs.
#[async_trait]
pub trait Approver: Send + Sync {
    /// What they say; `None` when nobody answers now, which suspends the thread.
    ///
    /// The future is dropped when the thread is stopped; the time that it takes is not the thread's.
    async fn decide(&self, request: &ApprovalRequest) -> Option<Decision>;
}

/// Nobody is there.
#[async_trait]
impl Approver for () {
    async fn decide(&self, _: &ApprovalRequest) -> Option<Decision> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, recorded: &str) {
        assert_eq!(Decider::client(name).as_str(), recorded);
    }

    #[test]
    fn what_a_client_calls_itself_is_kept_within_bounds() {
        check("claude-code", "mcp client claude-code");
        check("An Editor 1.2/x@y_z", "mcp client An Editor 1.2/x@y_z");
        check("", "mcp client");
        check("a\n`b`\u{202e}c\u{1b}[31m*é", "mcp client a??b??c??31m??");
        check(&"x".repeat(1_000), &format!("mcp client {}", "x".repeat(64)));
        assert_eq!(Decider::command().as_str(), "command");
    }
}
