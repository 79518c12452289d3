//! Decisions about a call that waits.

use std::collections::BTreeMap;

use http_body_util::{BodyExt as _, Limited};
use hyper::HeaderMap;
use hyper::body::Incoming;
use rye_sign::Digest;
use rye_transcript::{PendingApproval, ThreadId, pending_approval};

use super::Shared;
use crate::Source;
use crate::listed::decode;

/// The decision on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// The call may run once, with just these arguments.
    Approve,
    /// The call does not run. The model is told the reason, where there is one.
    Deny {
        /// The reason: one line of text.
        reason: Option<String>,
    },
}

/// The sentence for a browser that has no right to decide.
const READS_ONLY: &str = "this browser may only read; the one that opened the address of `rye view --approve` first may decide";

/// The longest form that is read.
const MOST_BYTES: usize = 16 * 1024;

impl Shared {
    /// Returns the token that decides about the call that the thread waits with, for the browser that may decide.
    pub(super) fn decision_token(&self, source: &Source<'_>, may_decide: bool) -> Option<String> {
        let deciding = self.deciding.as_ref().filter(|_| may_decide)?;
        pending_approval(source.reading).map(|asked| deciding.token_of(&asked))
    }

    /// Returns `true` if the request is one of the browser that may decide.
    pub(super) fn may_decide(&self, headers: &HeaderMap) -> bool {
        self.deciding.as_ref().is_some_and(|deciding| deciding.has_right(headers))
    }
}

/// Reads the form of a request. Returns `None` for a body that is too long or breaks off.
pub(super) async fn form(body: Incoming) -> Option<BTreeMap<String, String>> {
    let bytes = Limited::new(body, MOST_BYTES).collect().await.ok()?.to_bytes();
    let text = std::str::from_utf8(&bytes).ok()?;
    let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
    Some(pairs.map(|(name, value)| (decode(name), decode(value))).collect())
}

/// Decides about the call that the form names, and returns the record that asked.
///
/// # Errors
///
/// A sentence for the page, if the thread waits with another call by now or the decision was not recorded.
pub(super) fn decide(
    shared: &Shared,
    thread: &ThreadId,
    form: &BTreeMap<String, String>,
    may_decide: bool,
) -> Result<u64, String> {
    let deciding = shared
        .deciding
        .as_ref()
        .ok_or("this server takes no decisions; start it with `--approve`")?;
    if !may_decide {
        return Err(READS_ONLY.to_owned());
    }
    let mut asked = None;
    shared.threads.thread(thread, &mut |source| asked = pending_approval(source.reading))?;
    let is_meant = |asked: &PendingApproval| {
        let expected = Digest::of(deciding.token_of(asked).as_bytes());
        form.get("call").is_some_and(|token| Digest::of(token.as_bytes()) == expected)
    };
    let asked = asked.filter(is_meant).ok_or_else(|| {
        format!(
            "the thread `{thread}` does not wait with that call any more; look at its page again"
        )
    })?;
    let verdict = match form.get("decision").map(String::as_str) {
        Some("approve") => Verdict::Approve,
        Some("deny") => {
            let reason = form.get("reason").map(|reason| reason.trim().to_owned());
            Verdict::Deny { reason: reason.filter(|reason| !reason.is_empty()) }
        }
        _ => return Err("the form says neither `approve` nor `deny`".to_owned()),
    };
    deciding.decisions.decide(&asked, &verdict)?;
    Ok(asked.seq)
}
