//! The responses to requests.

use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Request, Response, StatusCode};

use rye_transcript::ThreadId;

use super::Shared;
use super::events::{self, Events, Followed};
use super::request::{Place, Refusal};
use crate::{Source, page};

/// A page, or the events of a thread.
pub(super) type Answer = Response<Either<Full<Bytes>, Events>>;

/// Makes the page that a request names.
pub(super) fn answer(shared: &Shared, place: &Place, may_decide: bool) -> Answer {
    let threads = &shared.threads;
    let project = threads.project();
    let made = match place {
        Place::Threads(filter) => threads.list().map(|all| page::threads(&all, filter, &project)),
        Place::Compare { first, second } => compare(shared, first.as_ref(), second.as_ref()),
        Place::Authority(thread) => {
            let tightened = threads.tighten(thread);
            let mut made = None;
            let mut show = |source: &Source<'_>| {
                made = Some(page::authority(source, &tightened, &project));
            };
            threads.thread(thread, &mut show).map(|()| made.unwrap_or_default())
        }
        // These have answers of their own.
        Place::Decide(_) | Place::Enter { .. } | Place::Events { .. } => {
            return refuse(Refusal::NotFound);
        }
        Place::Thread(thread, part) => {
            let mut made = None;
            let mut show = |source: &Source<'_>| {
                let token = shared.decision_token(source, may_decide);
                made = Some(page::served_page(source, part, token));
            };
            threads.thread(thread, &mut show).map(|()| made.unwrap_or_default())
        }
    };
    match made {
        Ok(page) => html(StatusCode::OK, page),
        Err(sentence) => html(StatusCode::NOT_FOUND, page::problem(&sentence, &project)),
    }
}

/// Makes the page that compares two threads, or the one that asks for them.
fn compare(
    shared: &Shared,
    first: Option<&ThreadId>,
    second: Option<&ThreadId>,
) -> Result<String, String> {
    let (threads, project) = (&shared.threads, shared.threads.project());
    let all = threads.list()?;
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(page::choose(&all, first.or(second), &project));
    };
    let mut made = Ok(String::new());
    threads.thread(first, &mut |one| {
        let mut page = String::new();
        let read = threads.thread(second, &mut |other| {
            page = page::compare(one, other, &all, &project);
        });
        made = read.map(|()| page);
    })?;
    made
}

/// Sends the changes of a thread as they happen.
pub(super) fn follow(shared: Arc<Shared>, followed: Followed, since: u64) -> Answer {
    let mut response = respond(StatusCode::OK, "text/event-stream", String::new());
    *response.body_mut() = Either::Right(events::follow(shared, followed, since));
    response
}

/// Gives the browser the right to decide, if it is the first one with the code, and leads it to its page.
pub(super) fn enter(
    shared: &Shared,
    code: &str,
    thread: Option<ThreadId>,
    request: &Request<Incoming>,
) -> Answer {
    let Some(deciding) = &shared.deciding else { return refuse(Refusal::NotFound) };
    let Some(cookie) = deciding.admit(code, request.headers(), request.uri().path()) else {
        return html(StatusCode::FORBIDDEN, page::problem(ENTERED, &shared.threads.project()));
    };
    let address = thread.map_or("../threads/".to_owned(), |thread| format!("../thread/{thread}"));
    // Not a redirect: a browser that comes from a file keeps a strict cookie to itself until a page of this server leads on.
    let mut response = html(StatusCode::OK, page::entrance(&address));
    let cookie = HeaderValue::from_str(&cookie).expect("because it is letters and digits");
    response.headers_mut().insert(SET_COOKIE, cookie);
    response
}

/// The sentence for a browser that comes too late, or with another code.
const ENTERED: &str = "this address works once, and another browser has opened it or it is not the one that was printed; this one may \
                       only read. If nobody else should have opened it, end `rye view` and deny what waits";

/// Leads back to the record that asked, or says why nothing was decided.
pub(super) fn to_thread(thread: &ThreadId, decided: Result<u64, String>, project: &str) -> Answer {
    match decided {
        Err(sentence) => html(StatusCode::CONFLICT, page::problem(&sentence, project)),
        Ok(seq) => {
            let mut response = respond(StatusCode::SEE_OTHER, "text/plain", String::new());
            let address = HeaderValue::from_str(&format!("../thread/{thread}?record={seq}#r{seq}"))
                .expect("because an id is plain text");
            response.headers_mut().insert(LOCATION, address);
            response
        }
    }
}

/// Answers a request that gets no page.
pub(super) fn refuse(refusal: Refusal) -> Answer {
    let (status, text) = match refusal {
        Refusal::Failed => (StatusCode::INTERNAL_SERVER_ERROR, "the page could not be made\n"),
        Refusal::Forbidden => (StatusCode::FORBIDDEN, "not from here\n"),
        Refusal::NotFound => (StatusCode::NOT_FOUND, "no such page\n"),
    };
    respond(status, "text/plain; charset=utf-8", text.to_owned())
}

fn html(status: StatusCode, page: String) -> Answer {
    respond(status, "text/html; charset=utf-8", page)
}

fn respond(status: StatusCode, kind: &'static str, text: String) -> Answer {
    let mut response = Response::new(Either::Left(Full::new(Bytes::from(text))));
    *response.status_mut() = status;
    let policy = format!("{}; frame-ancestors 'none'", page::served_policy());
    let policy = HeaderValue::from_str(&policy).expect("because the policy is plain text");
    let rows: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        // A form names its origin only under this policy.
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, policy);
    for (name, value) in rows {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
