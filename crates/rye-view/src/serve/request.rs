//! The requests that are answered.

use hyper::body::Incoming;
use hyper::header::{HOST, HeaderName, ORIGIN};
use hyper::{Method, Request};
use rye_sign::Digest;
use rye_transcript::ThreadId;

use crate::Filter;
use crate::listed::decode;
use crate::model::Part;

/// The header of the last event that a browser got.
const LAST_EVENT: &str = "last-event-id";

/// A page that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Threads(Filter),
    /// Two threads beside each other; without both, their choice.
    Compare {
        first: Option<ThreadId>,
        second: Option<ThreadId>,
    },
    /// The authority of a thread.
    Authority(ThreadId),
    /// A part of a thread.
    Thread(ThreadId, Part),
    /// The changes of a part of a thread since it had so many records.
    Events {
        thread: ThreadId,
        part: Part,
        since: u64,
    },
    /// A decision about the call that a thread waits with.
    Decide(ThreadId),
    /// The first page of the browser that may decide, which leads to a thread or to the list.
    Enter {
        code: String,
        thread: Option<ThreadId>,
    },
}

/// The reason why a request gets no page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The page was not made.
    Failed,
    /// Another host or origin, or another method than the page takes.
    Forbidden,
    /// A wrong token, or no such page.
    NotFound,
}

/// The conditions that each request has to meet.
#[derive(Debug)]
pub(super) struct Guard {
    hosts: [String; 3],
    origins: [String; 3],
    token: Digest,
}

impl Guard {
    pub(super) fn new(port: u16, token: Digest) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"];
        let hosts = names.map(|name| format!("{name}:{port}"));
        let origins = hosts.clone().map(|host| format!("http://{host}"));
        Self { hosts, origins, token }
    }

    /// Returns the page that a request names.
    ///
    /// A page of another origin can send requests here, but only under its own origin; a name that leads here has another host.
    pub(super) fn admit(&self, request: &Request<Incoming>) -> Result<Place, Refusal> {
        let header = |name| request.headers().get(name).map(|value| value.to_str().unwrap_or(""));
        let is_own = |own: &[String; 3], value: &str| own.iter().any(|it| it == value);
        let has_host = header(HOST).is_some_and(|host| is_own(&self.hosts, host));
        let has_origin = header(ORIGIN).is_none_or(|origin| is_own(&self.origins, origin));
        if !has_host || !has_origin {
            return Err(Refusal::Forbidden);
        }
        let query = request.uri().query().unwrap_or_default();
        let place = self.place(request.uri().path(), query);
        // A browser names the origin of each form.
        let takes = match place {
            Some(Place::Decide(_)) => request.method() == Method::POST && header(ORIGIN).is_some(),
            _ => request.method() == Method::GET,
        };
        if !takes {
            return Err(Refusal::Forbidden);
        }
        match place.ok_or(Refusal::NotFound)? {
            // A browser that lost the connection says what it had.
            Place::Events { thread, part, since } => {
                let last =
                    header(HeaderName::from_static(LAST_EVENT)).and_then(|last| last.parse().ok());
                Ok(Place::Events { thread, part, since: last.unwrap_or(since) })
            }
            place => Ok(place),
        }
    }

    /// Digests are compared, so that the time of the comparison tells nothing of the token.
    fn place(&self, path: &str, query: &str) -> Option<Place> {
        let (token, rest) = path.strip_prefix('/')?.split_once('/')?;
        if Digest::of(token.as_bytes()) != self.token {
            return None;
        }
        let named = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
        };
        let part = || match (named("record").and_then(|seq| seq.parse().ok()), named("find")) {
            (Some(seq), _) => Part::Record(seq),
            (None, text) => Part::search(&decode(text.unwrap_or_default())),
        };
        match rest.split_once('/') {
            Some(("threads", "")) => Some(Place::Threads(Filter::read(query))),
            Some(("compare", "")) => {
                let thread = |name| named(name).and_then(|value| value.parse().ok());
                Some(Place::Compare { first: thread("a"), second: thread("b") })
            }
            Some(("authority", thread)) => thread.parse().ok().map(Place::Authority),
            Some(("thread", thread)) => Some(Place::Thread(thread.parse().ok()?, part())),
            Some(("events", thread)) => {
                let since = named("since")?.parse().ok()?;
                let thread = thread.parse().ok()?;
                // The thread may have ended since its page was made.
                let part = if part() == Part::Usual { Part::Newest } else { part() };
                Some(Place::Events { thread, part, since })
            }
            Some(("enter", code)) => {
                let thread = named("thread").and_then(|thread| thread.parse().ok());
                Some(Place::Enter { code: code.to_owned(), thread })
            }
            Some(("decide", thread)) => thread.parse().ok().map(Place::Decide),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(address: &str, expected: Option<&Place>) {
        let guard = Guard::new(8080, Digest::of(b"token"));
        let (path, query) = address.split_once('?').unwrap_or((address, ""));
        assert_eq!(guard.place(path, query).as_ref(), expected, "{address}");
    }

    #[test]
    fn only_paths_below_the_token_lead_to_pages() {
        let thread = "index-019a0000-0000-7000-8000-000000000000";
        check("/token/threads/", Some(&Place::Threads(Filter::default())));
        for (query, part) in [
            ("", Part::Usual),
            ("?record=5", Part::Record(5)),
            ("?record=5&find=x", Part::Record(5)),
            ("?find=A+b%21", Part::Found("a b!".to_owned())),
            ("?find=+", Part::Usual),
            ("?record=x", Part::Usual),
        ] {
            let id = thread.parse().unwrap();
            check(&format!("/token/thread/{thread}{query}"), Some(&Place::Thread(id, part)));
        }
        check(
            &format!("/token/events/{thread}?since=7&record=5"),
            Some(&Place::Events {
                thread: thread.parse().unwrap(),
                part: Part::Record(5),
                since: 7,
            }),
        );
        check(&format!("/token/decide/{thread}"), Some(&Place::Decide(thread.parse().unwrap())));
        check(&format!("/token/events/{thread}"), None);
        let enter = |thread| Place::Enter { code: "x".to_owned(), thread };
        check("/token/enter/x", Some(&enter(None)));
        let id = thread.parse().unwrap();
        check(&format!("/token/enter/x?thread={thread}"), Some(&enter(Some(id))));
        check(
            &format!("/token/authority/{thread}"),
            Some(&Place::Authority(thread.parse().unwrap())),
        );
        check("/token/compare/", Some(&Place::Compare { first: None, second: None }));
        for path in [
            "/",
            "/token",
            "/token/",
            "/other/threads/",
            "/token/threads",
            "/token/x",
            "/token/thread/",
            "/token/thread/../x",
            "//token/threads/",
            "",
            "/TOKEN/threads/",
        ] {
            check(path, None);
        }
    }
}
