//! The responses to requests.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Response, StatusCode};

use super::Threads;
use super::request::{Place, Refusal};
use crate::page;

type Answer = Response<Full<Bytes>>;

/// Makes the page that a request names.
pub(super) fn answer(threads: &dyn Threads, place: &Place) -> Answer {
    let project = threads.project();
    let made = match place {
        Place::Threads(filter) => threads.list().map(|all| page::threads(&all, filter, &project)),
        Place::Thread(thread) => {
            let mut made = None;
            threads
                .thread(thread, &mut |source| made = Some(page::served(source)))
                .map(|()| made.unwrap_or_default())
        }
    };
    match made {
        Ok(page) => html(StatusCode::OK, page),
        Err(sentence) => html(StatusCode::NOT_FOUND, page::problem(&sentence, &project)),
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
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    let policy = format!("{}; frame-ancestors 'none'", page::served_policy());
    let policy = HeaderValue::from_str(&policy).expect("because the policy is plain text");
    let rows: [(HeaderName, &'static str); 6] = [
        (CONTENT_TYPE, kind),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
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
