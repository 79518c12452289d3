//! Request states: the value that a client of the newer era carries from a question to its answer.
//!
//! It comes back from outside. It counts only if this process signed it, for this very request of this client
//! and not long ago, and if it comes back for the first time.

use std::collections::BTreeMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rye_sign::{Digest, SigningKey, canonical_json, sign_json, verify_json};
use rye_thread::{ApprovalRequest, ThreadId};
use rye_types::Moment;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::session::Waiting;

/// The open questions of one process.
#[derive(Debug, Default)]
pub(super) struct RequestStates {
    /// The key, made at its first use. It is never stored and has no other use.
    key: OnceLock<SigningKey>,
    open: Mutex<Open>,
}

/// The numbers of states that may still come back, with when they expire in milliseconds.
#[derive(Debug, Default)]
struct Open {
    last: u64,
    expires: BTreeMap<u64, i64>,
}

/// The content of a state.
#[derive(Deserialize)]
struct State {
    purpose: String,
    number: u64,
    expires: i64,
    /// The digest over the client, the tool and its arguments.
    request: String,
    thread: String,
    call: String,
}

/// The subject of a state that came back.
#[derive(Debug, PartialEq)]
pub(super) struct Opened {
    pub(super) thread: ThreadId,
    /// The [identity](call_identity) of the call in the question.
    pub(super) call: String,
}

/// The reason why a state is worth nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum StateError {
    #[error("`requestState` has expired; nothing was decided")]
    Expired,
    #[error("`requestState` is not what this server gave; nothing was decided")]
    Forged,
    #[error("`requestState` belongs to another request or client; nothing was decided")]
    OtherRequest,
    #[error("`requestState` was used before; nothing was decided by this request")]
    Used,
}

/// As many questions wait for answers at a time.
const MOST_OPEN: usize = 256;

/// The longest state; what this process makes is far shorter.
const MOST_BYTES: usize = 2_048;

const PURPOSE: &str = "rye-mcp-approval-1";

impl RequestStates {
    /// Returns the state that the client of `request` brings back with its answer about a call. The call is
    /// given by its [identity](call_identity).
    ///
    /// # Errors
    ///
    /// The method returns the reason if no question is possible now.
    pub(super) fn seal(
        &self,
        request: &Digest,
        (thread, call): (&ThreadId, &str),
        now: Moment,
        within: Duration,
    ) -> Result<String, &'static str> {
        let key = self.key().ok_or("the system gives no randomness for a key")?;
        let within = i64::try_from(within.as_millis()).unwrap_or(i64::MAX);
        let expires = now.as_unix_millis().saturating_add(within);
        let number = self.opened_at(now, expires).ok_or("too many questions wait for an answer")?;
        let state = json!({
            "purpose": PURPOSE,
            "number": number,
            "expires": expires,
            "request": request.to_string(),
            "thread": thread.as_str(),
            "call": call,
        });
        let signed = sign_json(&state, key, now.timestamp());
        Ok(signed.expect("because it is an object").to_string())
    }

    /// Returns the subject of a state, and does so only once.
    ///
    /// # Errors
    ///
    /// The method fails if the state is not one of this process for this request, is out of its time, or came
    /// back before.
    pub(super) fn open(
        &self,
        state: &str,
        request: &Digest,
        now: Moment,
    ) -> Result<Opened, StateError> {
        let state = self.verify(state).ok_or(StateError::Forged)?;
        if state.request != request.to_string() {
            return Err(StateError::OtherRequest);
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_open = open.expires.remove(&state.number).is_some();
        if state.expires <= now.as_unix_millis() {
            return Err(StateError::Expired);
        }
        if !is_open {
            return Err(StateError::Used);
        }
        let thread = state.thread.parse().map_err(|_| StateError::Forged)?;
        Ok(Opened { thread, call: state.call })
    }

    fn verify(&self, state: &str) -> Option<State> {
        let key = self.key.get().filter(|_| state.len() <= MOST_BYTES)?;
        let state: Value = serde_json::from_str(state).ok()?;
        verify_json(&state, &[key.public()]).ok()?;
        State::deserialize(state).ok().filter(|state| state.purpose == PURPOSE)
    }

    /// The number of one more question, where there is room for it.
    fn opened_at(&self, now: Moment, expires: i64) -> Option<u64> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.expires.retain(|_, expires| now.as_unix_millis() < *expires);
        if open.expires.len() >= MOST_OPEN {
            return None;
        }
        open.last += 1;
        let number = open.last;
        open.expires.insert(number, expires);
        Some(number)
    }

    fn key(&self) -> Option<&SigningKey> {
        if let Some(key) = self.key.get() {
            return Some(key);
        }
        let made = SigningKey::generate().ok()?;
        // Another question may have been quicker.
        Some(self.key.get_or_init(|| made))
    }
}

/// Tells a call from every other one: the thread, the place of the record that asks about it, the provider's id, tool, arguments
/// and why it waits.
pub(super) fn call_identity(waiting: &Waiting) -> String {
    let ApprovalRequest { thread, call_id, item_id, sha256, reason, .. } = waiting.request();
    let place = (thread.as_str(), waiting.seq());
    let value = json!([place, call_id, item_id, sha256, reason.as_str()]);
    Digest::of(value.to_string().as_bytes()).to_string()
}

/// Returns the digest over the tool, its arguments in any order, and the client's name for itself.
pub(super) fn request_digest(tool: &str, arguments: &Value, client: &Value) -> Digest {
    let request = json!({ "tool": tool, "arguments": arguments, "client": client });
    Digest::of(canonical_json(&request).as_bytes())
}

#[cfg(test)]
mod tests;
