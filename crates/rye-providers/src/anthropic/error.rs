//! Errors of the protocol, with their classes.

use rye_thread::ProviderErrorClass;
use serde::Deserialize;

use crate::refusal::{Refusal, TOO_LONG};

/// Reads the body of an error; `None` if it is not an error of this format, such as the page of a gateway.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<Refusal> {
    let Envelope { kind, error } = serde_json::from_slice(body).ok()?;
    // Compatible servers may send only the inner part.
    if kind.is_some_and(|kind| kind != "error")
        || (error.kind.is_empty() && error.message.is_empty())
    {
        return None;
    }
    Some(refusal(status, &error))
}

/// Reads an error without its envelope, as compatible servers send it in events.
pub(super) fn bare_error(status: u16, event: &[u8]) -> Option<Refusal> {
    let error: WireError = serde_json::from_slice(event).ok()?;
    error.kind.ends_with("_error").then(|| refusal(status, &error))
}

fn refusal(status: u16, error: &WireError) -> Refusal {
    let code = error.details.as_ref().and_then(|details| details.error_code.as_deref());
    let class = class(status, error, code);
    let kind =
        [code.unwrap_or_default(), &error.kind, "error"].into_iter().find(|it| !it.is_empty());
    let mut refusal = Refusal::new(class, kind.unwrap_or_default(), &error.message);
    refusal.lacks_model = error.kind == "not_found_error" && error.message.contains("model");
    refusal
}

#[derive(Deserialize)]
struct Envelope {
    #[serde(rename = "type")]
    kind: Option<String>,
    error: WireError,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    message: String,
    details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    error_code: Option<String>,
}

fn class(status: u16, error: &WireError, code: Option<&str>) -> Option<ProviderErrorClass> {
    let message = error.message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    // A spend limit of the account has the status 400 and is recognized only by its message.
    if code == Some("enforced_spend_limit_reached")
        || says(&["credit balance is too low", "usage limits"])
    {
        return Some(ProviderErrorClass::SpendLimit);
    }
    let class = match error.kind.as_str() {
        "authentication_error" | "permission_error" => ProviderErrorClass::Auth,
        "billing_error" => ProviderErrorClass::SpendLimit,
        "request_too_large" | "exceed_context_size_error" => ProviderErrorClass::ContextTooLong,
        "invalid_request_error" if says(&["prompt is too long", "exceed context limit"]) => {
            ProviderErrorClass::ContextTooLong
        }
        "invalid_request_error" if says(&["content filtering policy"]) => {
            ProviderErrorClass::ContentRefused
        }
        "invalid_request_error" | "not_found_error" => ProviderErrorClass::InvalidRequest,
        "rate_limit_error" => ProviderErrorClass::RateLimited,
        "timeout_error" => ProviderErrorClass::Timeout,
        "overloaded_error" => ProviderErrorClass::Overloaded,
        "api_error" if status >= 500 => ProviderErrorClass::Server,
        "" if says(&TOO_LONG) => ProviderErrorClass::ContextTooLong,
        _ => return None,
    };
    Some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: u16, body: &str, expected: Option<(Option<ProviderErrorClass>, &str, &str)>) {
        let refusal = read_error(status, body.as_bytes());
        let refusal = refusal.map(|refusal| (refusal.class, refusal.kind, refusal.message));
        let expected =
            expected.map(|(class, kind, message)| (class, kind.to_owned(), message.to_owned()));
        assert_eq!(refusal, expected, "{body}");
    }

    #[test]
    fn each_type_has_its_class() {
        for (status, kind, class) in [
            (401, "authentication_error", ProviderErrorClass::Auth),
            (403, "permission_error", ProviderErrorClass::Auth),
            (402, "billing_error", ProviderErrorClass::SpendLimit),
            (413, "request_too_large", ProviderErrorClass::ContextTooLong),
            (400, "exceed_context_size_error", ProviderErrorClass::ContextTooLong),
            (400, "invalid_request_error", ProviderErrorClass::InvalidRequest),
            (404, "not_found_error", ProviderErrorClass::InvalidRequest),
            (429, "rate_limit_error", ProviderErrorClass::RateLimited),
            (504, "timeout_error", ProviderErrorClass::Timeout),
            (529, "overloaded_error", ProviderErrorClass::Overloaded),
            (500, "api_error", ProviderErrorClass::Server),
        ] {
            let body = format!(
                r#"{{"type":"error","error":{{"type":"{kind}","message":"m"}},"request_id":"r"}}"#
            );
            check(status, &body, Some((Some(class), kind, "m")));
        }
    }

    #[test]
    fn a_missing_model_is_told_from_a_missing_path() {
        for (message, expected) in [("model: claude-9", true), ("Not found", false)] {
            let body = format!(
                r#"{{"type":"error","error":{{"type":"not_found_error","message":"{message}"}}}}"#
            );
            let refusal = read_error(404, body.as_bytes()).unwrap();
            assert_eq!(refusal.lacks_model, expected, "{message}");
        }
    }

    #[test]
    fn some_classes_are_told_by_code_or_words() {
        let body = r#"{"type":"error","error":{"type":"rate_limit_error","message":"m",
            "details":{"error_code":"enforced_spend_limit_reached"}}}"#;
        check(
            429,
            body,
            Some((Some(ProviderErrorClass::SpendLimit), "enforced_spend_limit_reached", "m")),
        );
        for (message, class) in [
            (
                "prompt is too long: 210000 tokens > 200000 maximum",
                ProviderErrorClass::ContextTooLong,
            ),
            ("Your credit balance is too low to access the API", ProviderErrorClass::SpendLimit),
            ("You have reached your specified API usage limits.", ProviderErrorClass::SpendLimit),
            ("Output blocked by content filtering policy", ProviderErrorClass::ContentRefused),
        ] {
            let kind = "invalid_request_error";
            let body =
                format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}}}}"#);
            check(400, &body, Some((Some(class), kind, message)));
        }
    }

    #[test]
    fn what_is_no_error_of_this_format_is_none() {
        check(
            500,
            r#"{"type":"error","error":{"type":"new_error"}}"#,
            Some((None, "new_error", "")),
        );
        check(502, "<html>Bad gateway</html>", None);
        check(
            503,
            r#"{"error":{"code":503,"type":"unavailable_error","message":"loading"}}"#,
            Some((None, "unavailable_error", "loading")),
        );
        check(500, r#"{"error":"down"}"#, None);
        check(200, r#"{"type":"message","error":{"type":"x"}}"#, None);
        check(500, "", None);
    }
}
