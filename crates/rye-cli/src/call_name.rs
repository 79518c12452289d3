//! The names of a call that waits.

use std::fmt;
use std::str::FromStr;

use rye::thread::{PendingApproval, ThreadId};

/// The call that a decision is about, as `--call` gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CallReference {
    /// The record of the thread that asks about it. No other question of the thread has that number.
    Record(u64),
    /// Its whole name.
    Name(CallName),
}

impl CallReference {
    /// Returns `true` if this is the call that the thread waits with. A number is one of the thread that was named with it.
    pub(crate) fn is(&self, asked: &PendingApproval, thread: &ThreadId) -> bool {
        match self {
            Self::Record(seq) => asked.seq == *seq && asked.request.thread == *thread,
            Self::Name(name) => CallName::of(asked) == *name,
        }
    }
}

impl fmt::Display for CallReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Record(seq) => seq.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

impl FromStr for CallReference {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse() {
            Ok(seq) => Ok(Self::Record(seq)),
            Err(_) => Ok(Self::Name(text.parse()?)),
        }
    }
}

/// A call that was shown: the record that asks for it, the hash of its arguments, and its item.
///
/// An order names all of it, so that a worker carries it out for no other call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallName {
    pub(crate) thread: ThreadId,
    pub(crate) seq: u64,
    pub(crate) sha256: String,
    pub(crate) item: String,
}

impl CallName {
    pub(crate) fn of(asked: &PendingApproval) -> Self {
        let request = &asked.request;
        let (thread, item) = (request.thread.clone(), request.item_id.clone());
        Self { thread, seq: asked.seq, sha256: request.sha256.clone(), item }
    }
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}:{}", self.thread, self.seq, self.sha256, self.item)
    }
}

impl FromStr for CallName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || {
            "a call is the number of the record that asks, or `THREAD:RECORD:SHA256:ITEM`, as `rye run` shows it"
                .to_owned()
        };
        let mut parts = text.splitn(4, ':');
        let mut part = || parts.next().filter(|part| !part.is_empty()).ok_or_else(malformed);
        let thread = part()?.parse().map_err(|_| malformed())?;
        let seq = part()?.parse().map_err(|_| malformed())?;
        let sha256 = part()?.to_owned();
        let item = part()?.to_owned();
        let is_hash = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_hash { Ok(Self { thread, seq, sha256, item }) } else { Err(malformed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_call_is_read_as_it_is_shown() {
        let hash = "0a".repeat(32);
        let text = format!("one-019a0000-0000-7000-8000-000000000001:7:{hash}:notes/a:b");
        let call: CallName = text.parse().unwrap();
        assert_eq!((call.seq, call.item.as_str()), (7, "notes/a:b"));
        assert_eq!(call.to_string(), text);
        let shorter = text.replace(&hash, "0a");
        for wrong in [shorter.as_str(), &text.replace(":7:", ":x:"), "one", "", &text[..100]] {
            wrong.parse::<CallName>().unwrap_err();
        }
    }
}
