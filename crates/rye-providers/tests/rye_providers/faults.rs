//! Failures of servers, in every protocol.

use rye_providers::Protocol;
use rye_thread::{ProviderError, ProviderErrorClass, Reply, Usage};
use serde_json::json;

use crate::fixtures::fixture;
use crate::scripted::{Answer, End, Scripted, refusing, streamed, whole};
use crate::vendor::{KEY, request};

/// The answer `text` as events and as one body.
fn hello(protocol: Protocol) -> (String, String) {
    let hello = fixture(protocol, "text").unwrap();
    (hello.events().unwrap(), hello.whole().unwrap())
}

/// The error of a protocol for an overloaded server.
fn busy(protocol: Protocol) -> String {
    let error = match protocol {
        Protocol::AnthropicMessages => {
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } })
        }
        Protocol::Gemini => {
            json!({ "error": { "code": 503, "message": "busy", "status": "UNAVAILABLE" } })
        }
        Protocol::OpenAiResponses => {
            json!({ "type": "error", "error": { "code": "server_overloaded", "message": "busy" } })
        }
        _ => json!({ "error": { "message": "busy", "code": "server_overloaded" } }),
    };
    error.to_string()
}

async fn ask(protocol: Protocol, answers: Vec<Answer>) -> (Result<Reply, ProviderError>, usize) {
    let server = Scripted::answering(answers).await;
    let answer = server.provider(protocol, |_| {}).complete(&request()).await;
    let received = server.received();
    assert!(received.iter().all(|request| request.body == received[0].body));
    (answer, received.len())
}

#[track_caller]
fn check(
    (answer, n_requests): (Result<Reply, ProviderError>, usize),
    class: ProviderErrorClass,
    message: &str,
    n_expected: usize,
) -> ProviderError {
    let error = answer.unwrap_err();
    assert_eq!((error.class, error.to_string().as_str(), n_requests), (class, message, n_expected));
    assert!(!format!("{error:?}").contains(KEY));
    error
}

#[track_caller]
fn check_hello((answer, n_requests): (Result<Reply, ProviderError>, usize), n_expected: usize) {
    assert_eq!((answer.unwrap().text.as_str(), n_requests), ("Hello.", n_expected));
}

const BROKE: &str = "the connection to `vendor` broke before its answer was whole";

#[tokio::test]
async fn an_answer_comes_in_pieces_or_whole() {
    for &protocol in Protocol::ALL {
        let (events, body) = hello(protocol);
        check_hello(ask(protocol, vec![streamed(&events)]).await, 1);
        // A server without streaming.
        check_hello(ask(protocol, vec![whole(&body)]).await, 1);
        let crlf = format!(": welcome\r\nevent: x\r\n{}", events.replace('\n', "\r\n"));
        check_hello(ask(protocol, vec![streamed(&crlf)]).await, 1);
    }
}

/// If the protocol marks the end of an answer, the end of the connection is not awaited.
#[tokio::test]
async fn an_open_end_is_not_waited_for() {
    for &protocol in Protocol::ALL {
        // Gemini has no last event.
        if protocol != Protocol::Gemini {
            let (events, _) = hello(protocol);
            check_hello(
                ask(protocol, vec![Answer { end: End::Open, ..streamed(&events) }]).await,
                1,
            );
        }
    }
}

#[tokio::test]
async fn a_cut_stream_is_no_answer_and_not_asked_for_again() {
    for &protocol in Protocol::ALL {
        let (events, body) = hello(protocol);
        let half = events.split_inclusive("\n\n").next().unwrap();
        for end in [End::Cut, End::Clean] {
            let answer = Answer { end, ..streamed(half) };
            let error =
                check(ask(protocol, vec![answer]).await, ProviderErrorClass::Network, BROKE, 1);
            assert!(error.may_have_cost());
        }
        let cut = Answer { end: End::Cut, ..whole(&body[..10]) };
        check(ask(protocol, vec![cut]).await, ProviderErrorClass::Network, BROKE, 1);
    }
}

#[tokio::test]
async fn malformed_answers_are_told() {
    for &protocol in Protocol::ALL {
        let unreadable = "the answer of `vendor` cannot be read";
        let answer = ask(protocol, vec![whole(r#"{"half":"#)]).await;
        check(answer, ProviderErrorClass::Server, unreadable, 1);
        let answer = ask(protocol, vec![streamed("data: {\"half\":\n\n")]).await;
        check(answer, ProviderErrorClass::Server, unreadable, 1);
        // A stream without a readable event.
        let answer = ask(protocol, vec![streamed("<html>\n\nWelcome\n\n")]).await;
        check(answer, ProviderErrorClass::Network, BROKE, 1);
        let page = Answer { content_type: "text/html", ..whole("<html>Welcome</html>") };
        let message = "`vendor` answered with `text/html` and not with JSON; check `base_url`";
        check(ask(protocol, vec![page]).await, ProviderErrorClass::Server, message, 1);
    }
}

#[tokio::test]
async fn a_huge_event_is_not_kept() {
    check_too_long(&format!("data: {}\n\n", " ".repeat(32 * 1024 * 1024))).await;
}

/// The limit on a streamed answer is that of a whole one, however small its events are.
#[tokio::test]
async fn a_huge_answer_in_pieces_is_not_kept() {
    let text = "x".repeat(1024 * 1024);
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    let end = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "stop" }] });
    let pieces = format!("data: {chunk}\n\n").repeat(33);
    check_too_long(&format!("{pieces}data: {end}\n\ndata: [DONE]\n\n")).await;
}

async fn check_too_long(events: &str) {
    let answer = ask(Protocol::OpenAiChat, vec![streamed(events)]).await;
    let error =
        check(answer, ProviderErrorClass::Server, "the answer of `vendor` cannot be read", 1);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the stream has more than 33554432 bytes, which are not read");
}

/// A server may send an error as plain JSON under the content type of a stream.
#[tokio::test]
async fn an_error_in_one_piece_is_told_whatever_it_is_called() {
    for &protocol in Protocol::ALL {
        let (answer, n_requests) = ask(protocol, vec![streamed(&busy(protocol))]).await;
        let message = answer.unwrap_err().to_string();
        assert!(message.starts_with("`vendor` answered 200 (`"), "{message}");
        assert!(message.contains("busy"), "{message}");
        assert_eq!(n_requests, 1, "{}", protocol.as_str());
    }
}

/// An error without an answer before it counts as if the status had said so.
#[tokio::test]
async fn an_error_in_place_of_an_answer_is_waited_out() {
    for &protocol in Protocol::ALL {
        let (events, _) = hello(protocol);
        let error = streamed(&format!("data: {}\n\n", busy(protocol)));
        check_hello(ask(protocol, vec![error.clone(), streamed(&events)]).await, 2);
        let (answer, n_requests) = ask(protocol, vec![error]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.class, n_requests), (ProviderErrorClass::Overloaded, 3));
        assert!(error.to_string().ends_with("busy; gave up after 3 attempts"), "{error}");
        assert!(!error.may_have_cost() && error.is_for_the_fallback());
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_ends_it() {
    for &protocol in Protocol::ALL {
        let (events, _) = hello(protocol);
        let first = events.split_inclusive("\n\n").next().unwrap();
        let answer = streamed(&format!("{first}data: {}\n\n", busy(protocol)));
        let (answer, n_requests) = ask(protocol, vec![answer]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.class, n_requests), (ProviderErrorClass::Overloaded, 1), "{error}");
        assert!(error.to_string().starts_with("`vendor` ended its answer ("), "{error}");
        assert!(error.may_have_cost() && !error.is_for_the_fallback());
    }
}

/// A request with a temporary status is sent again, after the wait that the server asks for.
#[tokio::test]
async fn passing_trouble_is_waited_out() {
    for &protocol in Protocol::ALL {
        let (events, _) = hello(protocol);
        for status in [408, 409, 429, 500, 502, 503, 504, 529] {
            let trouble = refusing(status, "{}");
            check_hello(ask(protocol, vec![trouble, streamed(&events)]).await, 2);
        }
        let hinted =
            Answer { headers: vec![("retry-after-ms", "1")], ..refusing(429, &busy(protocol)) };
        check_hello(ask(protocol, vec![hinted, streamed(&events)]).await, 2);
        let too_long = Answer { headers: vec![("retry-after", "3600")], ..refusing(503, "{}") };
        let message = "`vendor` answered 503; gave up after 1 attempt";
        check(ask(protocol, vec![too_long]).await, ProviderErrorClass::Overloaded, message, 1);
        let forbidden =
            Answer { headers: vec![("x-should-retry", "false")], ..refusing(503, "{}") };
        check(
            ask(protocol, vec![forbidden]).await,
            ProviderErrorClass::Overloaded,
            "`vendor` answered 503",
            1,
        );
    }
}

#[tokio::test]
async fn geminis_wait_stands_in_the_error() {
    let wait = |delay: &str| {
        let info =
            json!({ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay });
        let error = json!({ "code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED", "details": [info] });
        refusing(429, &json!([{ "error": error }]).to_string())
    };
    let (events, _) = hello(Protocol::Gemini);
    check_hello(ask(Protocol::Gemini, vec![wait("0.001s"), streamed(&events)]).await, 2);
    let message =
        "`vendor` answered 429 (`RESOURCE_EXHAUSTED`): slow down; gave up after 1 attempt";
    check(
        ask(Protocol::Gemini, vec![wait("3600s")]).await,
        ProviderErrorClass::RateLimited,
        message,
        1,
    );
}

#[tokio::test]
async fn what_no_retry_mends_is_final() {
    let openai = json!({ "error": { "message": "out of money", "type": "insufficient_quota", "code": "insufficient_quota" } });
    let message = "`vendor` answered 429 (`insufficient_quota`): out of money; raise the limit or add credit at the provider";
    for protocol in [Protocol::OpenAiChat, Protocol::OpenAiResponses] {
        let answer = ask(protocol, vec![refusing(429, &openai.to_string())]).await;
        check(answer, ProviderErrorClass::SpendLimit, message, 1);
    }
    let failed = json!({ "status": "failed", "output": [], "error": { "code": "invalid_prompt", "message": "no" } });
    let answer = ask(Protocol::OpenAiResponses, vec![whole(&failed.to_string())]).await;
    check(
        answer,
        ProviderErrorClass::ContentRefused,
        "`vendor` answered 200 (`invalid_prompt`): no",
        1,
    );
}

/// The driver of a thread can use the fallback, whose requests name its own model.
#[tokio::test]
async fn a_missing_model_is_for_the_fallback() {
    let missing = json!({ "error": { "message": "The model `m` does not exist", "code": "model_not_found" } });
    let (events, _) = hello(Protocol::OpenAiChat);
    let server =
        Scripted::answering(vec![refusing(404, &missing.to_string()), streamed(&events)]).await;
    let provider = server.provider(Protocol::OpenAiChat, |_| {});
    let error = provider.complete(&request()).await.unwrap_err();
    assert!(error.is_for_the_fallback());
    let fallback = provider.fallback().unwrap();
    assert_eq!(fallback.describe().model, "n");
    assert_eq!(fallback.complete(&request()).await.unwrap().usage, Usage::new(7, 3));
    let models = server.received().into_iter().map(|request| request.body[..12].to_owned());
    assert_eq!(models.collect::<Vec<_>>(), [r#"{"model":"m""#, r#"{"model":"n""#]);
}

#[tokio::test]
async fn each_wire_has_its_path_and_its_key() {
    for (protocol, path, key) in [
        (Protocol::AnthropicMessages, "/v1/messages", format!("x-api-key: {KEY}")),
        (
            Protocol::Gemini,
            "/v1beta/models/m:streamGenerateContent?alt=sse",
            format!("x-goog-api-key: {KEY}"),
        ),
        (Protocol::OpenAiChat, "/v1/chat/completions", format!("authorization: Bearer {KEY}")),
        (Protocol::OpenAiResponses, "/v1/responses", format!("authorization: Bearer {KEY}")),
    ] {
        let (events, _) = hello(protocol);
        let server = Scripted::answering(vec![streamed(&events)]).await;
        server.provider(protocol, |_| {}).complete(&request()).await.unwrap();
        let head = server.received().remove(0).head;
        assert!(head.starts_with(&format!("POST {path} HTTP/1.1\r\n")), "{head}");
        assert!(head.contains(&key), "{head}");
    }
    let (_, body) = hello(Protocol::Gemini);
    let server = Scripted::answering(vec![whole(&body)]).await;
    let provider = server.provider(Protocol::Gemini, |config| config["stream"] = json!(false));
    provider.complete(&request()).await.unwrap();
    let head = server.received().remove(0).head;
    assert!(head.starts_with("POST /v1beta/models/m:generateContent HTTP/1.1\r\n"), "{head}");
}
