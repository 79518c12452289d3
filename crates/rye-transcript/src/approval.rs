//! Approval of calls by a person before they run (SPEC 10.11).

use std::fmt;
use std::str::FromStr;

use rye_sign::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::ThreadId;

/// A decision of the operator about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a call is run or it is not")]
#[derive(Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case", parse_err_fn = DecisionError::new, parse_err_ty = DecisionError)]
pub enum Decision {
    /// The call may run, this once.
    Approved,
    /// The call may run, and so may later calls of this thread.
    ///
    /// The later calls may use only the capabilities in [`ApprovalRequest::covers`]. If that list is empty, this means
    /// the same as
    /// [`Decision::Approved`].
    ApprovedInThread,
    /// The call may not run. The model reads the denial, and the operator's reason if there is one.
    Denied(Option<DenialReason>),
}

impl Decision {
    /// A denial without a reason.
    pub const DENIED: Self = Self::Denied(None);

    /// Returns `approved`, `approved_in_thread` or `denied`, as in the transcript.
    #[must_use]
    pub fn as_str(&self) -> &'static str {
        self.into()
    }

    /// Returns `true` if the call may run.
    #[must_use]
    pub const fn is_approval(&self) -> bool {
        !matches!(self, Self::Denied(_))
    }

    /// Returns the operator's reason for a denial, if there is one.
    #[must_use]
    pub fn reason(&self) -> Option<&DenialReason> {
        match self {
            Self::Denied(reason) => reason.as_ref(),
            Self::Approved | Self::ApprovedInThread => None,
        }
    }

    /// Reads the two parts of a recorded decision.
    ///
    /// # Errors
    ///
    /// The reason in words, if they are no decision.
    pub fn read(word: &str, reason: Option<&str>) -> Result<Self, String> {
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

/// The operator's reason for a denial: one line of text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DenialReason(String);

impl DenialReason {
    /// The maximum length of a reason in characters.
    pub const MAX_CHARS: usize = 1_000;

    /// Returns the text.
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

/// The reason why a text is not a reason for a denial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DenialReasonError {
    /// The text holds a line end or another control character.
    #[error("a reason is one line of text, without line ends and other control characters")]
    Control,
    /// The text is empty.
    #[error("a reason has at least one character; leave the option out to give none")]
    Empty,
    /// The text is too long.
    #[error("a reason has at most {} characters", DenialReason::MAX_CHARS)]
    TooLong,
}

/// A word that is not a decision.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[error("`{text}` is not a decision; use `approved`, `approved_in_thread` or `denied`")]
pub struct DecisionError {
    /// The word.
    pub text: String,
}

impl DecisionError {
    fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }
}

/// The source of a decision, as recorded in the transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decider(String);

/// The maximum length of a recorded client name in characters.
const LONGEST_NAME: usize = 64;

impl Decider {
    /// The operator, through the prompt of the process that drives the thread.
    #[must_use]
    pub fn prompt() -> Self {
        Self("prompt".to_owned())
    }

    /// The operator, on a page of the viewer.
    #[must_use]
    pub fn page() -> Self {
        Self("page".to_owned())
    }

    /// The operator, with a command.
    #[must_use]
    pub fn command() -> Self {
        Self("command".to_owned())
    }

    /// The person at a client of the Model Context Protocol.
    ///
    /// The client chooses its own name, so it is recorded in a bounded form. At most 64 characters are kept. Each
    /// character that is not an ASCII letter, digit, space or one of `-._/@` becomes `?`.
    #[must_use]
    pub fn client(name: &str) -> Self {
        Self::with_name("mcp client", name)
    }

    /// A rule of the program that drives the thread, without a person.
    ///
    /// The name is recorded in the same form as that of [`Decider::client`].
    #[must_use]
    pub fn program(name: &str) -> Self {
        Self::with_name("program", name)
    }

    fn with_name(kind: &str, name: &str) -> Self {
        let plain = |c: char| c.is_ascii_alphanumeric() || " -._/@".contains(c);
        let name: String =
            name.chars().take(LONGEST_NAME).map(|c| if plain(c) { c } else { '?' }).collect();
        Self(format!("{kind} {name}").trim_end().to_owned())
    }

    /// Returns `prompt`, `command` or `page`, or `mcp client` or `program` with a name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The reason why a call waits for approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr, VariantArray, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum ApprovalReason {
    /// The configuration requires approval for every call of this tool.
    Configured,
    /// A hook escalated the call. The arguments are those that the hook saw.
    Escalated,
    /// The program was killed while the call ran, and the effect of a second run may differ.
    Interrupted,
}

impl ApprovalReason {
    /// All reasons, sorted by name.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Returns `configured`, `escalated` or `interrupted`, as in the transcript.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// The call that waits for a decision, with its exact arguments.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The provider's id of the call.
    pub call_id: String,
    /// The item id of the tool.
    pub item_id: String,
    /// The arguments of the call.
    pub arguments: Value,
    /// The SHA-256 of the arguments as compact JSON, in hex. The decision is recorded with it.
    pub sha256: String,
    /// The reason why the call waits.
    pub reason: ApprovalReason,
    /// The capabilities that [`Decision::ApprovedInThread`] approves for the rest of the thread.
    ///
    /// The list is empty if each call needs its own decision: a signature, a hook's escalation, or an interrupted call.
    pub covers: Vec<String>,
}

impl ApprovalRequest {
    /// Creates the request of a call, with the digest of its arguments. It covers no later call.
    #[must_use]
    pub fn new(
        thread: &ThreadId,
        call_id: &str,
        item_id: &str,
        arguments: &Value,
        reason: ApprovalReason,
    ) -> Self {
        Self {
            thread: thread.clone(),
            call_id: call_id.to_owned(),
            item_id: item_id.to_owned(),
            arguments: arguments.clone(),
            sha256: Self::digest(arguments),
            reason,
            covers: Vec::new(),
        }
    }

    /// Returns the SHA-256 of the arguments as compact JSON, in hex.
    #[must_use]
    pub fn digest(arguments: &Value) -> String {
        Digest::of(arguments.to_string().as_bytes()).to_string()
    }

    /// Sets the capabilities that may be approved for the rest of the thread.
    #[must_use]
    pub fn covering(self, covers: Vec<String>) -> Self {
        Self { covers, ..self }
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
        assert_eq!(Decider::program("a\nrule").as_str(), "program a?rule");
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
            "`maybe` is not a decision; use `approved`, `approved_in_thread` or `denied`"
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
