//! Errors of the protocol, with their classes.

use std::time::Duration;

use rye_thread::ProviderErrorClass;
use serde::Deserialize;
use serde_json::Value;

use crate::raw::{Few, Small};
use crate::refusal::{Refusal, TOO_LONG};
use crate::waits;

/// Reads the body of an error, which may be an entry of a list; `None` if it is not an error of this
/// format.
pub(super) fn read_error(_status: u16, body: &[u8]) -> Option<Refusal> {
    let envelope: Envelope = match serde_json::from_slice::<Few<Envelope>>(body) {
        Ok(Few(list)) => list.into_iter().find(|entry| entry.error.is_some())?,
        Err(_) => serde_json::from_slice(body).ok()?,
    };
    let error: WireError = serde_json::from_value(envelope.error?.0).ok()?;
    let kind = if error.status.is_empty() { "error" } else { error.status.as_str() };
    let mut refusal = Refusal::new(class(&error), kind, &error.message);
    refusal.lacks_model = error.status == "NOT_FOUND" && error.message.contains("models/");
    refusal.retry_after = error.details.iter().filter_map(retry_delay).max();
    Some(refusal)
}

#[derive(Deserialize)]
struct Envelope {
    error: Option<Small>,
}

#[derive(Deserialize)]
struct WireError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    details: Vec<Value>,
}

fn class(error: &WireError) -> Option<ProviderErrorClass> {
    let message = error.message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| message.contains(phrase));
    let class = match error.status.as_str() {
        "INVALID_ARGUMENT" if says(&["api key not valid", "api key expired"]) => {
            ProviderErrorClass::Auth
        }
        "INVALID_ARGUMENT" if says(&["exceeds the maximum number of tokens", "token count"]) => {
            ProviderErrorClass::ContextTooLong
        }
        "INVALID_ARGUMENT" | "NOT_FOUND" | "OUT_OF_RANGE" => ProviderErrorClass::InvalidRequest,
        "FAILED_PRECONDITION" if says(&["billing"]) => ProviderErrorClass::SpendLimit,
        "FAILED_PRECONDITION" => ProviderErrorClass::InvalidRequest,
        "PERMISSION_DENIED" | "UNAUTHENTICATED" => ProviderErrorClass::Auth,
        "RESOURCE_EXHAUSTED" => ProviderErrorClass::RateLimited,
        "UNAVAILABLE" => ProviderErrorClass::Overloaded,
        "DEADLINE_EXCEEDED" => ProviderErrorClass::Timeout,
        "INTERNAL" | "UNKNOWN" => ProviderErrorClass::Server,
        "" if says(&TOO_LONG) => ProviderErrorClass::ContextTooLong,
        _ => return None,
    };
    Some(class)
}

/// Reads the delay of a `google.rpc.RetryInfo`, or until the reset of a quota in a `google.rpc.ErrorInfo`.
fn retry_delay(detail: &Value) -> Option<Duration> {
    let reset = || detail.get("metadata")?.get("quotaResetDelay");
    waits::length(detail.get("retryDelay").or_else(reset)?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: &str, message: &str, class: Option<ProviderErrorClass>) {
        let body =
            format!(r#"{{"error":{{"code":400,"message":"{message}","status":"{status}"}}}}"#);
        for body in [body.clone(), format!("[{body}]")] {
            let refusal = read_error(400, body.as_bytes()).unwrap();
            let found = (refusal.class, refusal.kind.as_str(), refusal.message.as_str());
            assert_eq!(found, (class, status, message));
        }
    }

    #[test]
    fn each_status_has_its_class() {
        for (status, class) in [
            ("DEADLINE_EXCEEDED", ProviderErrorClass::Timeout),
            ("FAILED_PRECONDITION", ProviderErrorClass::InvalidRequest),
            ("INTERNAL", ProviderErrorClass::Server),
            ("INVALID_ARGUMENT", ProviderErrorClass::InvalidRequest),
            ("NOT_FOUND", ProviderErrorClass::InvalidRequest),
            ("PERMISSION_DENIED", ProviderErrorClass::Auth),
            ("RESOURCE_EXHAUSTED", ProviderErrorClass::RateLimited),
            ("UNAUTHENTICATED", ProviderErrorClass::Auth),
            ("UNAVAILABLE", ProviderErrorClass::Overloaded),
        ] {
            check(status, "m", Some(class));
        }
        check("SOMETHING_NEW", "m", None);
    }

    #[test]
    fn some_classes_are_told_by_words() {
        let message = "API key not valid. Please pass a valid API key.";
        check("INVALID_ARGUMENT", message, Some(ProviderErrorClass::Auth));
        let message = "The input token count (9) exceeds the maximum number of tokens allowed (8).";
        check("INVALID_ARGUMENT", message, Some(ProviderErrorClass::ContextTooLong));
        let message = "Please enable billing on project 1.";
        check("FAILED_PRECONDITION", message, Some(ProviderErrorClass::SpendLimit));
    }

    #[test]
    fn the_wait_and_the_missing_model_are_read() {
        let body = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.Help"},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}]}}"#;
        let refusal = read_error(429, body.as_bytes()).unwrap();
        assert_eq!(refusal.retry_after, Some(Duration::from_millis(17_500)));
        let body = r#"{"error":{"code":429,"message":"m","status":"RESOURCE_EXHAUSTED","details":[
            {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"QUOTA_EXHAUSTED",
             "metadata":{"quotaResetDelay":"25h0m3.5s","model":"m"}},
            {"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}]}}"#;
        let refusal = read_error(429, body.as_bytes()).unwrap();
        assert_eq!(refusal.retry_after, Some(Duration::from_millis(90_003_500)));
        let body = r#"{"error":{"code":404,"message":"models/x is not found for API version v1beta","status":"NOT_FOUND"}}"#;
        assert!(read_error(404, body.as_bytes()).unwrap().lacks_model);
    }

    #[test]
    fn what_is_no_error_is_none() {
        for body in ["<html></html>", "", "[]", "{}", r#"{"error":7}"#] {
            assert_eq!(read_error(500, body.as_bytes()), None, "{body}");
        }
    }
}
