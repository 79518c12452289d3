//! A provider against a local server.

use std::error::Error;
use std::sync::Mutex;
use std::time::Duration;

use rye_providers::{ConnectError, ModelPreference, ProviderConfig, connect};
use rye_thread::{Delta, DeltaSink, ProviderError, ProviderErrorClass};
use rye_types::Usage;
use serde_json::json;

use crate::server::Answer;
use crate::vendor::{KEY, Vendor, error, hello, no_randomness, request};

#[tokio::test]
async fn a_request_carries_what_the_config_says() {
    let vendor = Vendor::answering(vec![hello()]);
    let mut config = vendor.config();
    config["headers"] = json!({ "anthropic-version": "2026-10-21", "anthropic-beta": "x" });
    let provider = vendor.provider(&config);
    let reply = provider.complete(&request()).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.usage.output), ("Hello.", 2));
    let received = vendor.received().remove(0);
    assert_eq!(received.line, "POST /v1/messages");
    for (name, value) in [
        ("x-api-key", KEY),
        ("content-type", "application/json"),
        ("anthropic-version", "2026-10-21"),
        ("anthropic-beta", "x"),
    ] {
        assert_eq!(received.header(name), Some(value), "{name}");
    }
    let body = r#"{"model":"m","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"Say hello."}]}"#;
    assert_eq!(received.text(), body);
    let info = provider.describe();
    assert_eq!(
        (info.provider.as_str(), info.model.as_str(), info.max_output),
        ("vendor", "m", 100)
    );
}

#[tokio::test]
async fn the_authorization_header_carries_a_bearer_and_the_version_has_a_default() {
    let vendor = Vendor::answering(vec![hello()]);
    let mut config = vendor.config();
    config["auth"]["header"] = json!("Authorization");
    vendor.provider(&config).complete(&request()).await.unwrap();
    let received = vendor.received().remove(0);
    assert_eq!(received.header("authorization"), Some(&*format!("Bearer {KEY}")));
    assert_eq!(received.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(received.header("x-api-key"), None);
}

#[tokio::test]
async fn a_server_without_auth_gets_no_key() {
    let vendor = Vendor::answering(vec![hello()]);
    let mut config = vendor.config();
    config.as_object_mut().unwrap().remove("auth");
    vendor.provider(&config).complete(&request()).await.unwrap();
    assert_eq!(vendor.received().remove(0).header("x-api-key"), None);
}

/// Returns the error of a provider whose server sends these answers, and the number of requests.
#[track_caller]
fn fails(answers: Vec<Answer>) -> (ProviderError, usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let vendor = Vendor::answering(answers);
        let error = vendor.complete().await.unwrap_err();
        (error, vendor.received().len())
    })
}

#[track_caller]
fn check(answers: Vec<Answer>, class: ProviderErrorClass, n_requests: usize, message: &str) {
    let (error, n_received) = fails(answers);
    assert_eq!((error.class, error.to_string().as_str(), n_received), (class, message, n_requests));
    assert!(!format!("{error:?}").contains(KEY));
}

#[tokio::test]
async fn passing_trouble_is_waited_out() {
    let limited = error(429, "rate_limit_error", "slow down").with("retry-after-ms", "1");
    let vendor = Vendor::answering(vec![limited, error(529, "overloaded_error", "busy"), hello()]);
    assert_eq!(vendor.complete().await.unwrap().text, "Hello.");
    let received = vendor.received();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|request| request.body == received[0].body));
}

#[test]
fn attempts_end() {
    let message = "`vendor` answered 529 (`overloaded_error`): busy; gave up after 3 attempts";
    check(vec![error(529, "overloaded_error", "busy")], ProviderErrorClass::Overloaded, 3, message);
    let message = "`vendor` answered 500 (`api_error`): oops; gave up after 3 attempts";
    check(vec![error(500, "api_error", "oops")], ProviderErrorClass::Server, 3, message);
}

#[test]
fn a_wait_that_does_not_fit_is_not_begun() {
    let answer = error(429, "rate_limit_error", "slow down").with("retry-after", "3600");
    let message = "`vendor` answered 429 (`rate_limit_error`): slow down; gave up after 1 attempt; it asked for a wait of 1 h";
    check(vec![answer], ProviderErrorClass::RateLimited, 1, message);
}

/// The caller may have less time than the provider's policy allows, for example because it can use a
/// fallback.
#[tokio::test]
async fn no_wait_is_longer_than_the_patience_of_the_caller() {
    let limited = error(429, "rate_limit_error", "slow down").with("retry-after", "9");
    let vendor = Vendor::answering(vec![limited]);
    let provider = vendor.provider(&vendor.config());
    for seconds in [0, 1, 9] {
        let mut request = request();
        request.patience = Some(Duration::from_secs(seconds));
        let error = provider.complete(&request).await.unwrap_err();
        let message = "`vendor` answered 429 (`rate_limit_error`): slow down; gave up after 1 attempt; it asked for a wait of 9 s";
        assert_eq!(error.to_string(), message, "{seconds}");
        assert!(error.is_for_the_fallback() && !error.may_have_cost(), "{seconds}");
    }
}

#[test]
fn the_server_may_forbid_another_attempt() {
    let answer = error(503, "api_error", "down").with("x-should-retry", "false");
    check(vec![answer], ProviderErrorClass::Server, 1, "`vendor` answered 503 (`api_error`): down");
}

#[test]
fn an_enforced_spend_limit_is_final() {
    let details = json!({ "error_code": "enforced_spend_limit_reached" });
    let body = json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "used up", "details": details } });
    let message = "`vendor` answered 429 (`enforced_spend_limit_reached`): used up; raise the limit or add credit at the provider";
    let answer = Answer::json(429, body).with("x-should-retry", "true");
    check(vec![answer], ProviderErrorClass::SpendLimit, 1, message);
}

#[test]
fn what_another_attempt_cannot_mend_is_not_tried_again() {
    let message = "`vendor` answered 400 (`invalid_request_error`): bad";
    check(
        vec![error(400, "invalid_request_error", "bad")],
        ProviderErrorClass::InvalidRequest,
        1,
        message,
    );
    let message = "`vendor` answered 404 (`not_found_error`): model: m; name another model, or mend its name in the file";
    check(
        vec![error(404, "not_found_error", "model: m.")],
        ProviderErrorClass::InvalidRequest,
        1,
        message,
    );
    let message = "`vendor` answered 400 (`invalid_request_error`): prompt is too long: 9 > 8";
    let answer = error(400, "invalid_request_error", "prompt is too long: 9 > 8");
    check(vec![answer], ProviderErrorClass::ContextTooLong, 1, message);
}

#[test]
fn a_key_that_comes_back_is_taken_out() {
    let message = "`vendor` answered 401 (`authentication_error`): invalid key [key]; check the key in `VENDOR_KEY`";
    let answer = error(401, "authentication_error", &format!("invalid\nkey {KEY}"));
    check(vec![answer], ProviderErrorClass::Auth, 1, message);
}

/// A gateway writes the header that it refuses into its answer as it pleases.
#[tokio::test]
async fn a_key_that_comes_back_in_another_form_is_taken_out() {
    const SECRET: &str = "sk-Test/0123+4567=ABCDEF";
    for form in [
        SECRET.to_owned(),
        "sk-test/0123+4567=abcdef".to_owned(),
        "c2stVGVzdC8wMTIzKzQ1Njc9QUJDREVG".to_owned(),
        // `Bearer ` before it.
        "QmVhcmVyIHNrLVRlc3QvMDEyMys0NTY3PUFCQ0RFRg==".to_owned(),
        SECRET.bytes().map(|byte| format!("{byte:02x}")).collect(),
        SECRET.bytes().map(|byte| format!("{byte:02X}")).collect(),
        "sk-Test%2F0123%2B4567%3DABCDEF".to_owned(),
        "sk-Test%252F0123%252B4567%253DABCDEF".to_owned(),
        r"sk-Test\/0123+4567=ABCDEF".to_owned(),
        "sk-Test&#x2F;0123+4567&#x3D;ABCDEF".to_owned(),
    ] {
        let answer = error(401, "authentication_error", &format!("no <{form}> here"));
        let (error, _) = told_by(answer, SECRET).await;
        let message = error.to_string();
        assert!(message.contains("[key]"), "{form}: {message}");
        let middle = form.len() / 2;
        assert!(!message.contains(&form[middle..middle + 6]), "{form}: {message}");
    }
}

#[test]
fn a_page_is_told_from_an_answer() {
    let page = |status, html| Answer::new(status, "text/html", html);
    let message = "`vendor` answered with `text/html` and not with JSON; check `base_url`";
    check(vec![page(200, "<html>Welcome</html>")], ProviderErrorClass::Server, 1, message);
    check(
        vec![page(502, "<html>Bad gateway</html>")],
        ProviderErrorClass::Server,
        3,
        "`vendor` answered 502; gave up after 3 attempts",
    );
}

/// A wrong address and a wrong model are the most common mistakes.
#[tokio::test]
async fn what_is_not_there_is_told_with_where_it_was_looked_for() {
    let page = Answer::new(404, "text/html", "<html>Not found</html>");
    let vendor = Vendor::answering(vec![page]);
    let config = vendor.config();
    let error = vendor.provider(&config).complete(&request()).await.unwrap_err();
    let address = config["base_url"].as_str().unwrap();
    let told = "`vendor` answered 404; nothing is there: check `base_url`, which is";
    assert_eq!(error.to_string(), format!("{told} `{address}`"));
}

#[tokio::test]
async fn a_server_that_wants_a_key_where_none_is_configured() {
    let vendor = Vendor::answering(vec![error(401, "authentication_error", "no key.")]);
    let mut config = vendor.config();
    config.as_object_mut().unwrap().remove("auth");
    let error = vendor.provider(&config).complete(&request()).await.unwrap_err();
    let message = "`vendor` answered 401 (`authentication_error`): no key; it wants a key: add `auth` to its file";
    assert_eq!(error.to_string(), message);
}

/// An answer that contains the key is not forwarded, whole or streamed, wherever the key occurs.
#[tokio::test]
async fn a_key_that_comes_back_is_not_told() {
    const SECRET: &str = "sk-Test-0123456789ABCDEF";
    let text = format!("You sent {SECRET}, thanks.");
    let answer = |content| json!({ "content": content, "stop_reason": "tool_use", "usage": { "input_tokens": 5, "output_tokens": 2 } });
    let bodies = [
        answer(json!([{ "type": "text", "text": text }])),
        answer(json!([{ "type": "thinking", "thinking": text, "signature": "s" }])),
        answer(json!([{ "type": "tool_use", "id": "1", "name": "n", "input": { "a": [SECRET] } }])),
        answer(json!([{ "type": "new", "of": SECRET }])),
    ];
    let pieces: String = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": 5 } } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "You sent sk-Test-0123" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "456789ABCDEF" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        json!({ "type": "message_stop" }),
    ]
    .iter()
    .map(|event| format!("data: {event}\n\n"))
    .collect();
    let whole = bodies.map(|body| Answer::json(200, body));
    let streamed = Answer::new(200, "text/event-stream", pieces);
    // The key in an ignored member, escaped, as a reader of the record would see it.
    let escaped = answer(json!([{ "type": "new", "of": SECRET }])).to_string();
    let escaped = Answer::json(200, escaped.replace("sk-T", r"\u0073k\u002dT"));
    let message = "the answer of `vendor` repeats the key that it was sent and is not used; check `base_url`, and replace the key";
    for answer in whole.into_iter().chain([streamed, escaped]) {
        let (error, told) = told_by(answer, SECRET).await;
        assert_eq!((error.to_string().as_str(), error.may_have_cost()), (message, true));
        assert!(matches!(told.as_str(), "" | "You sent "), "{told}");
    }
    let page = Answer::new(200, &format!("text/{SECRET}"), "x");
    let (error, _) = told_by(page, SECRET).await;
    let message = "`vendor` answered with `text/[key]` and not with JSON; check `base_url`";
    assert_eq!(error.to_string(), message);
}

/// Returns the error of a provider with this key, and the pieces that it forwarded before.
async fn told_by(answer: Answer, key: &str) -> (ProviderError, String) {
    #[derive(Default)]
    struct Heard(Mutex<String>);
    impl DeltaSink for Heard {
        fn delta(&self, delta: Delta<'_>) {
            if let Delta::Text(text) | Delta::Reasoning(text) | Delta::Call(text) = delta {
                self.0.lock().unwrap().push_str(text);
            }
        }
    }
    let vendor = Vendor::answering(vec![answer]);
    let provider = vendor.provider_with(&vendor.config(), key);
    let heard = Heard::default();
    let error = provider.stream(&request(), &heard).await.unwrap_err();
    assert!(!format!("{error:?}").contains(key));
    (error, heard.0.into_inner().unwrap())
}

/// The message names the setting that was the limit.
#[tokio::test]
async fn the_time_of_all_attempts_is_told_by_its_name() {
    let vendor = Vendor::answering(vec![Answer::never()]);
    let mut config = vendor.config();
    config["retry"]["total_seconds"] = json!(0.05);
    let error = vendor.provider(&config).complete(&request()).await.unwrap_err();
    let message =
        "`vendor` gave no whole answer within 50ms; raise `total_seconds` if it may take longer";
    assert_eq!((error.class, error.to_string().as_str()), (ProviderErrorClass::Timeout, message));
}

#[test]
fn a_redirect_is_not_followed() {
    let answer = Answer::untyped(307, "").with("location", "https://example.com/");
    let message = "`vendor` answered 307, a redirect, which is not followed; set `base_url` to where it leads";
    check(vec![answer], ProviderErrorClass::InvalidRequest, 1, message);
}

#[test]
fn a_huge_body_is_not_read() {
    let answer = Answer::untyped(200, vec![b' '; 32 * 1024 * 1024 + 1]);
    let message = "`vendor` answered with more than 33554432 bytes, which is not read; raise `max_answer_bytes` if it may";
    check(vec![answer], ProviderErrorClass::Server, 1, message);
}

#[test]
fn an_answer_of_another_shape_cannot_be_read() {
    let answer = Answer::json(200, json!({ "choices": [] }));
    let (error, _) = fails(vec![answer]);
    assert_eq!(
        (error.class, error.to_string().as_str()),
        (ProviderErrorClass::Server, "the answer of `vendor` cannot be read")
    );
    assert_eq!(
        error.source().unwrap().to_string(),
        "the response is no answer in the format `anthropic_messages`: missing field `content` at line 1 column 14"
    );
}

#[tokio::test]
async fn an_answer_that_is_late_is_not_asked_for_twice() {
    let vendor = Vendor::answering(vec![Answer::never()]);
    let mut config = vendor.config();
    config["timeout_seconds"] = json!(0.05);
    let error = vendor.provider(&config).complete(&request()).await.unwrap_err();
    let message =
        "`vendor` gave no whole answer within 50ms; raise `timeout_seconds` if it may take longer";
    assert_eq!((error.class, error.to_string().as_str()), (ProviderErrorClass::Timeout, message));
    assert_eq!(vendor.received().len(), 1);
}

#[tokio::test]
async fn an_address_without_a_server_is_tried_again_and_reported() {
    let vendor = Vendor::answering(vec![]);
    let mut config = vendor.config();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    config["base_url"] = json!(address);
    let error = vendor.provider(&config).complete(&request()).await.unwrap_err();
    let message = format!("cannot connect to `vendor` at `{address}`; gave up after 3 attempts");
    assert_eq!((error.class, error.to_string()), (ProviderErrorClass::Network, message));
    assert_eq!(
        error.usage,
        Some(Usage::default()),
        "a request that no server received costs nothing"
    );
    assert!(!format!("{:?}", error.source()).contains(KEY));
    let cause = error.source().unwrap();
    assert!(cause.source().is_none(), "the layers of the client are left out: {cause}");
    assert!(cause.to_string().starts_with("Connection refused"), "{cause}");
}

#[test]
fn an_answer_that_quotes_the_key_is_refused_without_it() {
    let answer = json!({ "content": KEY, "stop_reason": "end_turn" });
    let (error, _) = fails(vec![Answer::json(200, answer)]);
    assert_eq!(error.to_string(), "the answer of `vendor` cannot be read");
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("[key]") && !cause.contains(KEY), "{cause}");
}

#[test]
fn a_key_and_a_config_must_fit() {
    let config = |auth: serde_json::Value| {
        let mut config = json!({
            "protocol": "anthropic_messages",
            "base_url": "https://api.anthropic.com",
            "models": { "m": { "context_window": 1000, "max_output": 100 } },
        });
        if auth.is_object() {
            config["auth"] = auth;
        }
        ProviderConfig::from_value(&config).unwrap()
    };
    let fails = |config: &ProviderConfig, key: Option<&str>| -> ConnectError {
        let choice = config.choose(&ModelPreference::default()).unwrap();
        connect(config, &choice, key.map(|key| key.parse().unwrap()), no_randomness())
            .err()
            .unwrap()
    };
    let missing = fails(&config(json!({ "env": "THE_KEY" })), None).to_string();
    assert_eq!(
        missing,
        "the provider `anthropic_messages` needs a key; set the environment variable `THE_KEY`"
    );
    let unused = fails(&config(json!(null)), Some("k")).to_string();
    let expected = "the provider `anthropic_messages` has no `auth`, so its key would not be sent; add `auth` to its config";
    assert_eq!(unused, expected);
}

#[test]
fn an_encrypted_connection_can_be_set_up() {
    let config = json!({
        "protocol": "anthropic_messages",
        "base_url": "https://api.anthropic.com",
        "models": { "m": { "context_window": 1000, "max_output": 100 } },
    });
    let config = ProviderConfig::from_value(&config).unwrap();
    let choice = config.choose(&ModelPreference::default()).unwrap();
    assert_eq!(
        connect(&config, &choice, None, no_randomness())
            .map(|provider| provider.describe().model)
            .unwrap(),
        "m"
    );
}
