//! Decisions about a call that waits.

use std::collections::BTreeMap;

use http_body_util::{BodyExt as _, Limited};
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

/// The longest form that is read.
const MOST_BYTES: usize = 16 * 1024;

impl Shared {
    /// The token that decides about the call that the thread waits with, if the server takes decisions.
    ///
    /// It holds for this question alone: another call, another place in the transcript or other arguments have another token.
    pub(super) fn decision_token(&self, source: &Source<'_>) -> Option<String> {
        self.decisions.as_ref()?;
        pending_approval(source.reading).map(|asked| self.token_of(&asked))
    }

    fn token_of(&self, asked: &PendingApproval) -> String {
        let PendingApproval { seq, request, .. } = asked;
        let parts = [request.thread.as_str(), &seq.to_string(), &request.call_id, &request.sha256];
        Digest::of(format!("{}\n{}", self.secret, parts.join("\n")).as_bytes()).to_string()
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
) -> Result<u64, String> {
    let decisions = shared
        .decisions
        .as_ref()
        .ok_or("this server takes no decisions; start it with `--approve`")?;
    let mut asked = None;
    shared.threads.thread(thread, &mut |source| asked = pending_approval(source.reading))?;
    let is_meant = |asked: &PendingApproval| {
        let expected = Digest::of(shared.token_of(asked).as_bytes());
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
    decisions.decide(&asked, &verdict)?;
    Ok(asked.seq)
}
