//! The one browser that may decide.
//!
//! The token in each path is enough to read, and other programs may come to know it. The right to decide is a cookie. The first
//! request with a code gets it, and no later one does. So neither the token nor a code that was used decides anything.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use hyper::HeaderMap;
use hyper::header::COOKIE;
use rye_sign::Digest;
use rye_transcript::{PendingApproval, ThreadId};

use super::Decisions;

/// The name of the cookie.
const NAME: &str = "rye-decide";

/// The way of decisions from the one browser that may make them.
pub struct Deciding {
    pub(super) decisions: Arc<dyn Decisions>,
    code: String,
    cookie: String,
    is_code_used: AtomicBool,
}

impl fmt::Debug for Deciding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deciding").field("is_code_used", &self.is_code_used).finish_non_exhaustive()
    }
}

impl Deciding {
    /// Takes two random texts of letters and digits. Neither may be computed from the other one or from the server's token.
    #[must_use]
    pub fn new(decisions: Arc<dyn Decisions>, code: &str, cookie: &str) -> Self {
        let (code, cookie) = (code.to_owned(), cookie.to_owned());
        Self { decisions, code, cookie, is_code_used: AtomicBool::new(false) }
    }

    /// Returns the path that gives the first browser the right to decide, and leads it to the thread or to the list of threads.
    #[must_use]
    pub fn path(&self, token: &str, thread: Option<&ThreadId>) -> String {
        let thread = thread.map_or(String::new(), |thread| format!("?thread={thread}"));
        format!("/{token}/enter/{}{thread}", self.code)
    }

    /// Returns the cookie for a browser that has the unused code, or that has the right already.
    pub(super) fn admit(&self, code: &str, headers: &HeaderMap, path: &str) -> Option<String> {
        let is_code = Digest::of(code.as_bytes()) == Digest::of(self.code.as_bytes());
        let may_enter = is_code
            && (self.has_right(headers) || !self.is_code_used.swap(true, Ordering::Relaxed));
        // Each server has a path of its own, because ports do not separate cookies.
        let below = path.split('/').nth(1).unwrap_or_default();
        let (cookie, rules) = (&self.cookie, "HttpOnly; SameSite=Strict");
        may_enter.then(|| format!("{NAME}={cookie}; Path=/{below}/; {rules}"))
    }

    /// Returns `true` if the request is one of the browser that may decide.
    pub(super) fn has_right(&self, headers: &HeaderMap) -> bool {
        let expected = Digest::of(self.cookie.as_bytes());
        let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|it| it.split_once('='));
        pairs.any(|(name, value)| {
            name.trim() == NAME && Digest::of(value.trim().as_bytes()) == expected
        })
    }

    /// Returns the token of a decision about this call, which holds for this question alone: another call, another place in the
    /// transcript or other arguments have another token.
    pub(super) fn token_of(&self, asked: &PendingApproval) -> String {
        let PendingApproval { seq, request, .. } = asked;
        let parts = [request.thread.as_str(), &seq.to_string(), &request.call_id, &request.sha256];
        Digest::of(format!("decisions\n{}\n{}", self.cookie, parts.join("\n")).as_bytes())
            .to_string()
    }
}
