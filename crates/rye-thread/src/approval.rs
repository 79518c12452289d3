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

/// A decision of the operator about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call is run or it is not")]
pub enum Decision {
    /// The call may run, this once.
    Approved,
    /// The call may run, and so may later calls of this thread that use no other capabilities than
    /// [`ApprovalRequest::covers`] lists. Where that list is empty, this means the same as [`Decision::Approved`].
    ApprovedInThread,
    /// The call may not run; the model is told, with the operator's reason where there is one.
    Denied(Option<DenialReason>),
}

impl Decision {
    /// A denial without a reason.
    pub const DENIED: Self = Self::Denied(None);

    /// `approved`, `approved_in_thread` or `denied`, as the transcript writes it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Approved => "approved",
            Self::ApprovedInThread => "approved_in_thread",
            Self::Denied(_) => "denied",
        }
    }

    /// Returns `true` if the call may run.
    #[must_use]
    pub const fn is_approval(&self) -> bool {
        !matches!(self, Self::Denied(_))
    }

    /// The reason of a denial, where the operator gave one.
    #[must_use]
    pub fn reason(&self) -> Option<&DenialReason> {
        match self {
            Self::Denied(reason) => reason.as_ref(),
            Self::Approved | Self::ApprovedInThread => None,
        }
    }

    /// Reads the two parts of a recorded decision.
    pub(crate) fn read(word: &str, reason: Option<&str>) -> Result<Self, String> {
        let decision: Self = word.parse().map_err(|error: DecisionError| error.to_string())?;
        match (decision, reason) {
            (Self::Denied(_), Some(reason)) => reason
                .parse()
                .map(|reason| Self::Denied(Some(reason)))
                .map_err(|error: DenialReasonError| error.to_string()),
            (decision, None) => Ok(decision),
            (decision, Some(_)) => Err(format!("`{decision}` has no reason")),
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Reads a decision without its reason.
impl FromStr for Decision {
    type Err = DecisionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let all = [Self::Approved, Self::ApprovedInThread, Self::DENIED];
        let found = all.into_iter().find(|decision| decision.as_str() == text);
        found.ok_or_else(|| DecisionError { text: text.to_owned() })
    }
}

/// The operator's reason for a denial: one line of text, which the model is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenialReason(String);

impl DenialReason {
    /// The most characters of a reason.
    pub const MAX_CHARS: usize = 1_000;

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for DenialReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for DenialReason {
    type Err = DenialReasonError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        if text.is_empty() {
            Err(DenialReasonError::Empty)
        } else if text.chars().any(char::is_control) {
            Err(DenialReasonError::Control)
        } else if Self::MAX_CHARS < text.chars().count() {
            Err(DenialReasonError::TooLong)
        } else {
            Ok(Self(text.to_owned()))
        }
    }
}

/// A text that is no reason for a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DenialReasonError {
    /// It holds a line end or another control character.
    #[error("a reason is one line of text, without line ends and other control characters")]
    Control,
    /// It is empty.
    #[error("a reason has at least one character; leave the option out to give none")]
    Empty,
    /// It is too long.
    #[error("a reason has at most {} characters", DenialReason::MAX_CHARS)]
    TooLong,
}

/// A word that is no decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is no decision; use `approved`, `approved_in_thread` or `denied`")]
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
    /// The operator, at the question of the process that drives the thread.
    #[must_use]
    pub fn prompt() -> Self {
        Self("prompt".to_owned())
    }

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
    /// The capabilities that [`Decision::ApprovedInThread`] approves for the rest of the thread. The list is empty where each
    /// call needs a decision of its own: a signature, a hook's escalation, or a call that began before.
    pub covers: Vec<String>,
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
        Self { thread, call_id, item_id, arguments, sha256, reason, covers: Vec::new() }
    }

    /// The same request, which may be approved for the rest of the thread.
    pub(crate) fn covering(self, covers: Vec<String>) -> Self {
        Self { covers, ..self }
    }
}

/// The SHA-256 of arguments as compact JSON, in hex.
pub(crate) fn digest(arguments: &Value) -> String {
    Sha256::digest(arguments.to_string()).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Somebody who can be asked while a thread runs.
#[async_trait]
pub trait Approver: Send + Sync {
    /// The decision, and the person or command that made it; `None` when there is none now, which suspends the thread.
    ///
    /// The future is dropped when the thread is stopped; the time that it takes is not the thread's.
    async fn decide(&self, request: &ApprovalRequest) -> Option<(Decision, Decider)>;
}

/// Nobody is there.
#[async_trait]
impl Approver for () {
    async fn decide(&self, _: &ApprovalRequest) -> Option<(Decision, Decider)> {
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

    #[test]
    fn a_decision_is_read_as_it_was_recorded() {
        let reason = Some("it is Friday".parse().unwrap());
        for decision in [
            Decision::Approved,
            Decision::ApprovedInThread,
            Decision::DENIED,
            Decision::Denied(reason),
        ] {
            let reason = decision.reason().map(DenialReason::as_str);
            assert_eq!(Decision::read(decision.as_str(), reason), Ok(decision.clone()));
        }
        let read = |word, reason| Decision::read(word, reason).unwrap_err();
        assert_eq!(read("approved", Some("x")), "`approved` has no reason");
        assert_eq!(
            read("maybe", None),
            "`maybe` is no decision; use `approved`, `approved_in_thread` or `denied`"
        );
    }

    #[test]
    fn a_reason_is_one_line_of_text() {
        let read = |text: &str| text.parse::<DenialReason>();
        assert_eq!(read(" it is Friday ").unwrap().as_str(), "it is Friday");
        assert_eq!(read(" "), Err(DenialReasonError::Empty));
        assert_eq!(read("a\nb"), Err(DenialReasonError::Control));
        assert_eq!(read("a\u{1b}[31mb"), Err(DenialReasonError::Control));
        assert_eq!(read(&"é".repeat(1_000)).map(|reason| reason.as_str().len()), Ok(2_000));
        assert_eq!(read(&"é".repeat(1_001)), Err(DenialReasonError::TooLong));
    }
}
