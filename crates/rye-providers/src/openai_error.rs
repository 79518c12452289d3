//! Errors of OpenAI and of compatible servers, with their classes.

use rye_thread::ProviderErrorClass;
use serde::Deserialize;
use serde_json::Value;

use crate::raw::Small;
use crate::refusal::{Refusal, TOO_LONG};

/// Reads the body of an error; `None` if it is not an error of this format, such as the page of a gateway.
pub(crate) fn read_error(status: u16, body: &[u8]) -> Option<Refusal> {
    let Envelope { error, base_resp } = serde_json::from_slice(body).ok()?;
    let error = error.and_then(|error| refusal(status, &error.0));
    error.or_else(|| of_base_response(&base_resp?.0))
}

/// Reads MiniMax's report about a request, which it sends with status 200; `None` if the request succeeded.
pub(crate) fn of_base_response(report: &Value) -> Option<Refusal> {
    let code = report.get("status_code")?.as_i64().filter(|code| *code != 0)?;
    let message = report.get("status_msg").and_then(Value::as_str).unwrap_or_default();
    let class = match code {
        1001 => Some(ProviderErrorClass::Timeout),
        1002 => Some(ProviderErrorClass::RateLimited),
        1004 => Some(ProviderErrorClass::Auth),
        1008 => Some(ProviderErrorClass::SpendLimit),
        _ => None,
    };
    Some(Refusal::new(class, &code.to_string(), message))
}

/// Reads an error object, which may also occur in a stream; `None` if it is not one.
pub(crate) fn refusal(status: u16, error: &Value) -> Option<Refusal> {
    // Some compatible servers send a text in place of the object.
    if let Value::String(message) = error {
        return Some(classify(status, "", "error", message));
    }
    let error = error.as_object()?;
    let word = |key: &str| match error.get(key) {
        Some(Value::String(word)) => word.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let code = word("code");
    // The status of an error that comes after a successful one.
    let status = code.parse().ok().filter(|code| (400..600).contains(code)).unwrap_or(status);
    let kind = word("type");
    let message = word("message");
    let shown = [code.as_str(), kind.as_str(), "error"].into_iter().find(|word| !word.is_empty());
    Some(classify(status, &kind, shown.unwrap_or_default(), &message))
}

#[derive(Deserialize)]
struct Envelope {
    error: Option<Small>,
    base_resp: Option<Small>,
}

fn classify(status: u16, kind: &str, shown: &str, message: &str) -> Refusal {
    let mut refusal = Refusal::new(class(status, kind, shown, message), shown, message);
    let lower = message.to_lowercase();
    refusal.lacks_model = shown == "model_not_found"
        || (lower.contains("model")
            && (lower.contains("does not exist") || lower.contains("not found")));
    refusal
}

/// Returns the class by the code, then by the type, then by the message. `None` leaves it to the status.
fn class(status: u16, kind: &str, code: &str, message: &str) -> Option<ProviderErrorClass> {
    let lower = message.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| lower.contains(phrase));
    let class = match code {
        "billing_hard_limit_reached" | "insufficient_quota" | "billing_not_active" => {
            ProviderErrorClass::SpendLimit
        }
        "context_length_exceeded" | "string_above_max_length" => ProviderErrorClass::ContextTooLong,
        "content_filter" | "content_policy_violation" | "invalid_prompt" | "cyber_policy" => {
            ProviderErrorClass::ContentRefused
        }
        "invalid_api_key" | "account_deactivated" => ProviderErrorClass::Auth,
        "model_not_found" => ProviderErrorClass::InvalidRequest,
        "rate_limit_exceeded" => ProviderErrorClass::RateLimited,
        "slow_down" | "server_overloaded" | "overloaded" => ProviderErrorClass::Overloaded,
        _ if kind == "exceed_context_size_error" => ProviderErrorClass::ContextTooLong,
        _ if (400..500).contains(&status) && status != 429 && says(&TOO_LONG) => {
            ProviderErrorClass::ContextTooLong
        }
        "server_error" => ProviderErrorClass::Server,
        _ => match kind {
            "insufficient_quota" => ProviderErrorClass::SpendLimit,
            "authentication_error" | "permission_error" => ProviderErrorClass::Auth,
            "rate_limit_error" | "rate_limit_exceeded" | "requests" | "tokens" => {
                ProviderErrorClass::RateLimited
            }
            "overloaded_error" | "unavailable_error" => ProviderErrorClass::Overloaded,
            "server_error" => ProviderErrorClass::Server,
            _ => return None,
        },
    };
    Some(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        status: u16,
        error: &str,
        class: Option<ProviderErrorClass>,
        shown: (&str, &str, bool),
    ) {
        let body = format!(r#"{{"error":{error}}}"#);
        let refusal = read_error(status, body.as_bytes()).unwrap();
        let found = (refusal.kind.as_str(), refusal.message.as_str(), refusal.lacks_model);
        assert_eq!((refusal.class, found), (class, shown), "{body}");
    }

    #[test]
    fn codes_and_types_have_classes() {
        for (status, code, class) in [
            (429, "insufficient_quota", ProviderErrorClass::SpendLimit),
            (429, "rate_limit_exceeded", ProviderErrorClass::RateLimited),
            (401, "invalid_api_key", ProviderErrorClass::Auth),
            (400, "context_length_exceeded", ProviderErrorClass::ContextTooLong),
            (400, "content_policy_violation", ProviderErrorClass::ContentRefused),
            (500, "server_error", ProviderErrorClass::Server),
            (503, "server_overloaded", ProviderErrorClass::Overloaded),
        ] {
            let error = format!(r#"{{"message":"m","type":"t","param":null,"code":"{code}"}}"#);
            check(status, &error, Some(class), (code, "m", false));
        }
        for (kind, class) in [
            ("insufficient_quota", ProviderErrorClass::SpendLimit),
            ("rate_limit_error", ProviderErrorClass::RateLimited),
            ("tokens", ProviderErrorClass::RateLimited),
            ("authentication_error", ProviderErrorClass::Auth),
        ] {
            let error = format!(r#"{{"message":"m","type":"{kind}","param":null,"code":null}}"#);
            check(400, &error, Some(class), (kind, "m", false));
        }
    }

    #[test]
    fn a_model_that_is_not_there_is_told() {
        let message = "The model `x` does not exist or you do not have access to it.";
        let error = format!(r#"{{"message":"{message}","code":"model_not_found"}}"#);
        let class = Some(ProviderErrorClass::InvalidRequest);
        check(404, &error, class, ("model_not_found", message, true));
        let message = "model 'x' not found, try pulling it first";
        check(404, &format!(r#""{message}""#), None, ("error", message, true));
    }

    #[test]
    fn compatible_servers_say_it_otherwise() {
        let message = "the request exceeds the available context size (512 tokens)";
        let error = format!(
            r#"{{"code":400,"message":"{message}","type":"exceed_context_size_error","n_ctx":512}}"#
        );
        check(400, &error, Some(ProviderErrorClass::ContextTooLong), ("400", message, false));
        let message = "This model's maximum context length is 4096 tokens.";
        let error =
            format!(r#"{{"object":"error","message":"{message}","type":"BadRequestError"}}"#);
        check(
            400,
            &error,
            Some(ProviderErrorClass::ContextTooLong),
            ("BadRequestError", message, false),
        );
        check(502, r#"{"code":502,"message":"upstream"}"#, None, ("502", "upstream", false));
        check(400, "{}", None, ("error", "", false));
    }

    #[test]
    fn a_report_of_a_failure_is_an_error() {
        for (code, class) in [
            (1002, Some(ProviderErrorClass::RateLimited)),
            (1004, Some(ProviderErrorClass::Auth)),
            (1008, Some(ProviderErrorClass::SpendLimit)),
            (7, None),
        ] {
            let report = format!(r#"{{"status_code":{code},"status_msg":"login fail"}}"#);
            let body = format!(r#"{{"choices":null,"error":null,"base_resp":{report}}}"#);
            let refusal = read_error(200, body.as_bytes()).unwrap();
            assert_eq!((refusal.class, refusal.message.as_str()), (class, "login fail"), "{code}");
        }
        let success = r#"{"choices":[],"base_resp":{"status_code":0,"status_msg":""}}"#;
        assert_eq!(read_error(200, success.as_bytes()), None);
    }

    #[test]
    fn what_is_no_error_is_none() {
        for body in ["<html></html>", "", r#"{"error":null}"#, r#"{"error":7}"#, "{}", "[]"] {
            assert_eq!(read_error(500, body.as_bytes()), None, "{body}");
        }
    }
}
