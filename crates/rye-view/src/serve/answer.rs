//! The responses to requests.

use std::sync::Arc;

use http_body_util::{Either, Full};
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use rye_transcript::ThreadId;

use super::Shared;
use super::events::{self, Events};
use super::request::{Place, Refusal};
use crate::model::Part;
use crate::{Source, page};

/// A page, or the events of a thread.
pub(super) type Answer = Response<Either<Full<Bytes>, Events>>;

/// Makes the page that a request names.
pub(super) fn answer(shared: &Shared, place: &Place) -> Answer {
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
        // Decisions and events have answers of their own.
        Place::Decide(_) | Place::Events { .. } => return refuse(Refusal::NotFound),
        Place::Thread(thread, part) => {
            let mut made = None;
            let mut show = |source: &Source<'_>| {
                made = Some(page::served_page(source, part, shared.decision_token(source)));
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
pub(super) fn follow(shared: Arc<Shared>, thread: ThreadId, part: Part, since: u64) -> Answer {
    let mut response = respond(StatusCode::OK, "text/event-stream", String::new());
    *response.body_mut() = Either::Right(events::follow(shared, thread, part, since));
    response
}

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
