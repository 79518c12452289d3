//! Failures of servers, in every protocol.

use rye_providers::Protocol;
use rye_thread::{ProviderError, ProviderErrorClass, Reply};
use rye_types::Usage;
use serde_json::json;

use crate::fixtures::fixture;
use crate::server::Answer;
use crate::vendor::{KEY, Vendor, request};

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
    let vendor = Vendor::answering(answers);
    let answer = vendor.provider(&vendor.config_in(protocol)).complete(&request()).await;
    let received = vendor.received();
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
        check_hello(ask(protocol, vec![Answer::events(&events)]).await, 1);
        // A server without streaming.
        check_hello(ask(protocol, vec![Answer::json(200, &body)]).await, 1);
        let crlf = format!(": welcome\r\nevent: x\r\n{}", events.replace('\n', "\r\n"));
        check_hello(ask(protocol, vec![Answer::events(&crlf)]).await, 1);
    }
}

/// If the protocol marks the end of an answer, the end of the connection is not awaited.
#[tokio::test]
async fn an_open_end_is_not_waited_for() {
    for &protocol in Protocol::ALL {
        // Gemini has no last event.
        if protocol != Protocol::Gemini {
            let (events, _) = hello(protocol);
            check_hello(ask(protocol, vec![Answer::events(&events).open()]).await, 1);
        }
    }
}

#[tokio::test]
async fn a_cut_stream_is_no_answer_and_not_asked_for_again() {
    for &protocol in Protocol::ALL {
        let (events, body) = hello(protocol);
        let half = events.split_inclusive("\n\n").next().unwrap();
        for answer in [Answer::events(half).cut(), Answer::events(half)] {
            let error =
                check(ask(protocol, vec![answer]).await, ProviderErrorClass::Network, BROKE, 1);
            assert!(error.may_have_cost());
        }
        let cut = Answer::json(200, &body).cut();
        check(ask(protocol, vec![cut]).await, ProviderErrorClass::Network, BROKE, 1);
    }
}

/// A body of which HTTP marks neither the length nor the last chunk, so the end of the connection is its end.
fn unmarked(body: &str) -> Answer {
    Answer::raw(format!("HTTP/1.1 200 x\r\nconnection: close\r\n\r\n{body}"))
        .with("content-type", "text/event-stream")
}

/// The last event counts without the blank line behind it, and without any line end.
#[tokio::test]
async fn an_answer_may_end_without_a_blank_line() {
    for &protocol in Protocol::ALL {
        let (events, _) = hello(protocol);
        for end in ["\n", ""] {
            let events = format!("{}{end}", events.trim_end());
            check_hello(ask(protocol, vec![Answer::events(&events)]).await, 1);
            check_hello(ask(protocol, vec![unmarked(&events)]).await, 1);
            // The connection breaks behind the last event.
            if protocol != Protocol::Gemini {
                check_hello(ask(protocol, vec![Answer::events(&events).cut()]).await, 1);
            }
        }
    }
}

/// The events of the answer `text` without the last ones, which say only that it ends.
fn without_closing_events(protocol: Protocol) -> String {
    let (events, _) = hello(protocol);
    let all: Vec<&str> = events.split_inclusive("\n\n").collect();
    let closing = match protocol {
        Protocol::OpenAiChat => 2,
        Protocol::Gemini => 0,
        _ => 1,
    };
    all[..all.len() - closing].concat()
}

/// If HTTP says that the body is complete, so is an answer that lacks only the last event of its protocol.
#[tokio::test]
async fn http_may_mark_the_end_of_an_answer() {
    for &protocol in Protocol::ALL {
        let events = without_closing_events(protocol);
        for answer in [Answer::events(&events), Answer::new(200, "text/event-stream", &events)] {
            check_hello(ask(protocol, vec![answer]).await, 1);
        }
        // Gemini has no such event.
        if protocol != Protocol::Gemini {
            for answer in [unmarked(&events), Answer::events(&events).cut()] {
                check(ask(protocol, vec![answer]).await, ProviderErrorClass::Network, BROKE, 1);
            }
        }
    }
}

/// Events without data keep a connection open.
#[tokio::test]
async fn events_of_nothing_are_passed_over() {
    for &protocol in Protocol::ALL {
        let (events, _) = hello(protocol);
        let pause = "data:\n\n: pause\n\ndata: \n\n";
        let events = events.replace("\n\n", &format!("\n\n{pause}"));
        check_hello(ask(protocol, vec![Answer::events(&format!("{pause}{events}"))]).await, 1);
    }
}

/// llama.cpp writes an error in a field of its own, and its code in place of the status.
#[tokio::test]
async fn an_error_in_a_field_of_its_own_is_told() {
    let message = "the request exceeds the available context size (512 tokens)";
    let error = json!({ "code": 400, "message": message });
    for &protocol in Protocol::ALL {
        let events = format!("error: {error}\n\ndata: [DONE]\n\n");
        let (answer, n_requests) = ask(protocol, vec![Answer::events(&events)]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.class, n_requests), (ProviderErrorClass::ContextTooLong, 1), "{error}");
        assert!(error.to_string().contains(message) && !error.may_have_cost(), "{error}");
    }
}

/// A report of a failure has status 200 and no answer.
#[tokio::test]
async fn a_failure_in_place_of_choices_is_told() {
    let report = json!({ "choices": null, "base_resp": { "status_code": 1004, "status_msg": "login fail" } });
    let events = format!("data: {report}\n\n");
    for answer in [Answer::json(200, &report), Answer::events(&events)] {
        let (answer, n_requests) = ask(Protocol::OpenAiChat, vec![answer]).await;
        let error = answer.unwrap_err();
        assert_eq!((error.class, n_requests), (ProviderErrorClass::Auth, 1), "{error}");
        assert!(error.to_string().contains("(`1004`): login fail"), "{error}");
        assert!(!error.may_have_cost());
    }
}

/// The body decides what it is, and not its type.
#[tokio::test]
async fn the_content_type_does_not_matter() {
    for &protocol in Protocol::ALL {
        let (events, body) = hello(protocol);
        let pretty: serde_json::Value = serde_json::from_str(&body).unwrap();
        let pretty = format!("\n{pretty:#}");
        let named = format!(": welcome\n\nevent: x\n{events}");
        for begin in ["", "\u{feff}", "\r\n \n"] {
            for text in [&events, &body, &pretty, &named] {
                let text = format!("{begin}{text}");
                for kind in ["application/json", "text/plain", "text/event-stream", "text/html"] {
                    check_hello(ask(protocol, vec![Answer::new(200, kind, &text)]).await, 1);
                }
                check_hello(ask(protocol, vec![Answer::untyped(200, &text)]).await, 1);
            }
        }
    }
}

/// Gemini sends its chunks as a list if it is not asked for events.
#[tokio::test]
async fn geminis_chunks_may_come_as_a_list() {
    let (events, _) = hello(Protocol::Gemini);
    let chunks = events.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    let list = format!("[{}]", chunks.collect::<Vec<_>>().join(",\r\n"));
    for kind in ["application/json", "text/event-stream"] {
        check_hello(ask(Protocol::Gemini, vec![Answer::new(200, kind, &list)]).await, 1);
    }
    let failed = list.replace(']', &format!(",{}]", busy(Protocol::Gemini)));
    let (answer, _) = ask(Protocol::Gemini, vec![Answer::json(200, failed)]).await;
    let error = answer.unwrap_err();
    assert_eq!(error.class, ProviderErrorClass::Overloaded, "{error}");
}

#[tokio::test]
async fn malformed_answers_are_told() {
    for &protocol in Protocol::ALL {
        let unreadable = "the answer of `vendor` cannot be read";
        let answer = ask(protocol, vec![Answer::json(200, r#"{"half":"#)]).await;
        check(answer, ProviderErrorClass::Server, unreadable, 1);
        let answer = ask(protocol, vec![Answer::events("data: {\"half\":\n\n")]).await;
        check(answer, ProviderErrorClass::Server, unreadable, 1);
        // A stream without a readable event.
        let answer = ask(protocol, vec![Answer::events("<html>\n\nWelcome\n\n")]).await;
        check(answer, ProviderErrorClass::Network, BROKE, 1);
        let page = Answer::new(200, "text/html", "<html>Welcome</html>");
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
    let answer = ask(Protocol::OpenAiChat, vec![Answer::events(events)]).await;
    let error =
        check(answer, ProviderErrorClass::Server, "the answer of `vendor` cannot be read", 1);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the stream has more than 33554432 bytes, which are not read");
}

/// A server may send an error as plain JSON under the content type of a stream.
#[tokio::test]
async fn an_error_in_one_piece_is_told_whatever_it_is_called() {
    for &protocol in Protocol::ALL {
        let (answer, n_requests) = ask(protocol, vec![Answer::events(&busy(protocol))]).await;
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
        let error = Answer::events(&format!("data: {}\n\n", busy(protocol)));
        check_hello(ask(protocol, vec![error.clone(), Answer::events(&events)]).await, 2);
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
        let answer = Answer::events(&format!("{first}data: {}\n\n", busy(protocol)));
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
            let trouble = Answer::json(status, "{}");
            check_hello(ask(protocol, vec![trouble, Answer::events(&events)]).await, 2);
        }
        let hinted = Answer::json(429, busy(protocol)).with("retry-after-ms", "1");
        check_hello(ask(protocol, vec![hinted, Answer::events(&events)]).await, 2);
        let too_long = Answer::json(503, "{}").with("retry-after", "3600");
        let message = "`vendor` answered 503; gave up after 1 attempt; it asked for a wait of 1 h";
        check(ask(protocol, vec![too_long]).await, ProviderErrorClass::Overloaded, message, 1);
        let forbidden = Answer::json(503, "{}").with("x-should-retry", "false");
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
        Answer::json(429, json!([{ "error": error }]))
    };
    let (events, _) = hello(Protocol::Gemini);
    check_hello(ask(Protocol::Gemini, vec![wait("0.001s"), Answer::events(&events)]).await, 2);
    let message = "`vendor` answered 429 (`RESOURCE_EXHAUSTED`): slow down; gave up after 1 attempt; it asked for a wait of 1 h";
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
        let answer = ask(protocol, vec![Answer::json(429, &openai)]).await;
        check(answer, ProviderErrorClass::SpendLimit, message, 1);
    }
    let failed = json!({ "status": "failed", "output": [], "error": { "code": "invalid_prompt", "message": "no" } });
    let answer = ask(Protocol::OpenAiResponses, vec![Answer::json(200, failed)]).await;
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
    let vendor = Vendor::answering(vec![Answer::json(404, missing), Answer::events(&events)]);
    let provider = vendor.provider(&vendor.config_in(Protocol::OpenAiChat));
    let error = provider.complete(&request()).await.unwrap_err();
    assert!(error.is_for_the_fallback());
    let fallback = provider.fallback().unwrap();
    assert_eq!(fallback.describe().model, "n");
    assert_eq!(fallback.complete(&request()).await.unwrap().usage, Usage::new(7, 3));
    let models = vendor.received().into_iter().map(|request| request.text()[..12].to_owned());
    assert_eq!(models.collect::<Vec<_>>(), [r#"{"model":"m""#, r#"{"model":"n""#]);
}

#[tokio::test]
async fn each_wire_has_its_path_and_its_key() {
    let bearer = format!("Bearer {KEY}");
    for (protocol, path, header, key) in [
        (Protocol::AnthropicMessages, "/v1/messages", "x-api-key", KEY),
        (Protocol::Gemini, "/v1beta/models/m:streamGenerateContent?alt=sse", "x-goog-api-key", KEY),
        (Protocol::OpenAiChat, "/v1/chat/completions", "authorization", &bearer),
        (Protocol::OpenAiResponses, "/v1/responses", "authorization", &bearer),
    ] {
        let (events, _) = hello(protocol);
        let vendor = Vendor::answering(vec![Answer::events(&events)]);
        vendor.provider(&vendor.config_in(protocol)).complete(&request()).await.unwrap();
        let received = vendor.received().remove(0);
        assert_eq!(received.line, format!("POST {path}"));
        assert_eq!(received.header(header), Some(key), "{path}");
    }
    let (_, body) = hello(Protocol::Gemini);
    let vendor = Vendor::answering(vec![Answer::json(200, &body)]);
    let mut config = vendor.config_in(Protocol::Gemini);
    config["stream"] = json!(false);
    vendor.provider(&config).complete(&request()).await.unwrap();
    assert_eq!(vendor.received()[0].line, "POST /v1beta/models/m:generateContent");
}
