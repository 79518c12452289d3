//! Tables over whole configs with one thing changed.

use serde_json::json;

use super::*;
use crate::ModelPreference;

fn whole() -> Value {
    json!({
        "name": "anthropic",
        "description": "Claude",
        "version": "1.0.0",
        "protocol": "anthropic_messages",
        "base_url": "https://api.anthropic.com/",
        "auth": { "env": "ANTHROPIC_API_KEY", "header": "X-Api-Key" },
        "headers": { "Anthropic-Version": "2023-06-01" },
        "tiers": { "low": "small", "high": "large" },
        "models": {
            "small": { "context_window": 200_000, "max_output": 8_000, "prices": { "input": 1, "output": "5" } },
            "large": {
                "context_window": 1_000_000,
                "max_output": 64_000,
                "prices": { "input": "15", "output": "75", "cache_read": 1.5, "cache_write": "18.75" },
            },
        },
        "prompts": { "system_template": "You follow {directive_name}." },
        "returns": "tool",
        "retry": { "attempts": 2, "first_delay_ms": 10, "max_delay_ms": 100, "total_seconds": 5 },
        "timeout_seconds": 0.5,
        "idle_seconds": 0.25,
        "stream": false,
    })
}

#[test]
fn every_key_is_read() {
    let config = ProviderConfig::from_value(&whole()).unwrap();
    assert_eq!((config.name(), config.base_url()), ("anthropic", "https://api.anthropic.com"));
    assert_eq!(config.protocol(), Protocol::AnthropicMessages);
    let auth = Auth { env: "ANTHROPIC_API_KEY".to_owned(), header: "x-api-key".to_owned() };
    assert_eq!(config.auth(), Some(&auth));
    assert_eq!(config.headers().get("anthropic-version").map(String::as_str), Some("2023-06-01"));
    assert_eq!(config.tiers().get("high").map(String::as_str), Some("large"));
    let prices = config.models().get("large").and_then(|model| model.prices).unwrap();
    assert_eq!((prices.input.get(), prices.cache_write.get()), (15_000_000_000, 18_750_000_000));
    let prices = config.models().get("small").and_then(|model| model.prices).unwrap();
    assert_eq!((prices.output.get(), prices.cache_read.get()), (5_000_000_000, 1_000_000_000));
    assert_eq!(config.system_template(), Some("You follow {directive_name}."));
    assert_eq!(config.returns(), Some(rye_types::ReturnStyle::Tool));
    assert_eq!((config.retry().attempts, config.retry().total), (2, Duration::from_secs(5)));
    assert_eq!(config.timeout(), Duration::from_millis(500));
    assert_eq!((config.idle(), config.delivery()), (Duration::from_millis(250), Delivery::Whole));
}

#[test]
fn a_config_is_called_by_its_own_name_first() {
    let mut value = whole();
    let config = ProviderConfig::from_value(&value).unwrap();
    assert_eq!(config.or_called("mine").name(), "anthropic");
    value.as_object_mut().unwrap().remove("name");
    let config = ProviderConfig::from_value(&value).unwrap();
    assert_eq!(config.name(), "anthropic_messages");
    assert_eq!(config.or_called("mine").name(), "mine");
}

#[test]
fn a_config_needs_little() {
    let config = ProviderConfig::from_value(&json!({
        "protocol": "anthropic_messages",
        "base_url": "http://gpu-box:8080",
        "models": { "local": { "context_window": 8192, "max_output": 1024 } },
    }))
    .unwrap();
    assert_eq!(
        (config.name(), config.auth(), config.returns()),
        ("anthropic_messages", None, None)
    );
    assert_eq!(config.retry(), &RetryPolicy::default());
    assert_eq!(config.models().get("local").and_then(|model| model.prices), None);
    assert_eq!(config.delivery(), Delivery::Streamed, "streaming is the default");
}

#[test]
fn a_server_may_know_the_old_name_of_the_most_tokens() {
    for (word, field) in [
        (json!(null), MaxTokensField::MaxCompletionTokens),
        (json!("max_completion_tokens"), MaxTokensField::MaxCompletionTokens),
        (json!("max_tokens"), MaxTokensField::MaxTokens),
    ] {
        let model = json!({ "context_window": 8192, "max_output": 1024 });
        let mut config = json!({
            "protocol": "openai_chat",
            "base_url": "http://localhost",
            "models": { "a": model, "b": model },
        });
        if word.is_string() {
            config["max_tokens_field"] = word;
        }
        let config = ProviderConfig::from_value(&config).unwrap();
        let wish =
            ModelPreference { id: Some("a"), fallback: Some("b"), ..ModelPreference::default() };
        let choice = config.choose(&wish).unwrap();
        let fallback = choice.fallback.unwrap().max_tokens_field;
        assert_eq!([config.max_tokens_field(), choice.max_tokens_field, fallback], [field; 3]);
    }
}

/// Each row has a URL as written and as requested.
#[test]
fn a_base_url_is_shown_as_it_is_requested() {
    for (written, requested) in [
        ("https://evil.test\\@api.anthropic.com/", "https://evil.test/@api.anthropic.com"),
        ("HTTPS://API.Anthropic.com", "https://api.anthropic.com"),
        ("https:evil.test/x", "https://evil.test/x"),
        ("https://api.anthropic.com\t.evil.test", "https://api.anthropic.com.evil.test"),
        ("https://a.test/b/../c", "https://a.test/c"),
    ] {
        let mut value = whole();
        value["base_url"] = written.into();
        assert_eq!(ProviderConfig::from_value(&value).unwrap().base_url(), requested);
    }
}

#[test]
fn debug_hides_headers() {
    let config = ProviderConfig::from_value(&whole()).unwrap();
    assert!(!format!("{config:?}").contains("2023-06-01"));
}

#[track_caller]
fn check(change: impl FnOnce(&mut Value), expected: &[&str]) {
    let mut value = whole();
    change(&mut value);
    let error = ProviderConfig::from_value(&value).unwrap_err();
    let problems: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected);
}

macro_rules! problems {
    ($($name:ident: $($key:literal).+ = $value:tt => $problems:expr;)*) => {$(
        #[test]
        fn $name() {
            check(|config| config $([$key])+ = json!($value), &$problems);
        }
    )*};
}

problems! {
    unknown_key: "tieres" = {} => ["`tieres` is not a key of a provider config; did you mean `tiers`?"];
    unknown_retry_key: "retry"."jitter" = 1 => ["`retry.jitter` is not a key of a provider config; valid: `attempts`, \
        `first_delay_ms`, `max_delay_ms`, `total_seconds`"];
    unknown_protocol: "protocol" = "anthropic_message" => ["`protocol` has no value `anthropic_message`; valid: \
        `anthropic_messages`, `gemini`, `openai_chat`, `openai_responses`; did you mean `anthropic_messages`?"];
    header_of_the_connection: "auth"."header" = "Host" => ["`auth.header` is set by the program itself and carries no key"];
    header_of_the_length: "auth"."header" = "content-length" => ["`auth.header` is set by the program itself and carries no key"];
    stream_as_text: "stream" = "no" => ["`stream` is not `true` or `false`"];
    unknown_max_tokens_field: "max_tokens_field" = "max_token" => ["`max_tokens_field` is for the protocol `openai_chat` \
        alone; the others have one name for it", "`max_tokens_field` has no value `max_token`; valid: \
        `max_completion_tokens`, `max_tokens`; did you mean `max_tokens`?"];
    no_idle: "idle_seconds" = 0 => ["`idle_seconds` is not a number of seconds over 0 and up to 86400"];
    beta_in_url: "base_url" = "https://x/v1beta" => ["`base_url` ends in `/v1beta`, which the protocol adds; leave it out"];
    unknown_returns: "returns" = "calls" => ["`returns` has no value `calls`; valid: `call`, `block`, `tool`; did you mean `call`?"];
    no_url: "base_url" = "api.anthropic.com" => ["`base_url` is not a URL; write it with `https://`"];
    other_scheme: "base_url" = "ftp://x" => ["`base_url` is neither `http` nor `https`"];
    password_in_url: "base_url" = "https://u:p@x" => ["`base_url` has a user name or a password; use `auth`"];
    query_in_url: "base_url" = "https://x?a=b" => ["`base_url` has a query or a fragment"];
    version_in_url: "base_url" = "https://x/v1/" => ["`base_url` ends in `/v1`, which the protocol adds; leave it out"];
    key_in_clear_text: "base_url" = "http://x" => ["`base_url` would send the key in clear text; use `https`"];
    key_as_variable: "auth"."env" = "sk-ant-123" =>
        ["`auth.env` is not the name of an environment variable; never put a key here"];
    no_header: "auth"."header" = "x api key" => ["`auth.header` is the name of no header; write the name alone"];
    key_in_header: "auth"."header" = "Bearer sk-1" => ["`auth.header` is the name of no header; write the name alone"];
    key_as_auth: "auth" = "sk-1" => ["`auth` is not a mapping"];
    key_as_key: "auth" = { "env": "A", "sk-1": null } => ["`auth` has a key that is none; valid: `env`, `header`"];
    near_key: "auth"."enf" = "A" => ["`auth.enf` is not a key of a provider config; did you mean `env`?"];
    key_in_header_name: "headers"."X: sk-1" = "a" => ["`headers` has a name that is that of no header"];
    key_as_list: "headers"."x" = ["sk-1"] => ["`headers.x` is not text; put it in quotes"];
    auth_header_again: "headers"."x-api-key" = "k" => ["`headers.x-api-key` is set by the program itself"];
    header_value: "headers"."x" = "a\nb" => ["`headers.x` has a character that no header may have"];
    header_twice: "headers"."anthropic-version" = "x" => ["`headers.anthropic-version` is there twice, in another case"];
    number_as_text: "version" = 1.0 => ["`version` is not text; put it in quotes"];
    tier_without_model: "tiers"."low" = "smal" =>
        ["`tiers.low` names the model `smal`, which is not under `models`; did you mean `small`?"];
    unknown_tier: "tiers"."medium" = "small" => ["`tiers.medium` is not a tier; valid: `balanced`, `fast`, `general`, \
        `haiku`, `high`, `low`, `max`, `opus`, `orchestrator`, `sonnet`, `standard`"];
    no_price: "models"."small"."prices"."input" = "cheap" =>
        ["`models.small.prices.input` is not an amount in dollars; write a decimal such as `0.30`"];
    no_window: "models"."small"."context_window" = 0 =>
        ["`models.small.context_window` is not a whole number from 1 to 1000000000"];
    no_models: "models" = [] => ["`models` is not a mapping", "`tiers.low` names the model `small`, which is not under \
        `models`", "`tiers.high` names the model `large`, which is not under `models`"];
    no_timeout: "timeout_seconds" = 0 => ["`timeout_seconds` is not a number of seconds over 0 and up to 86400"];
    too_many_attempts: "retry"."attempts" = 21 => ["`retry.attempts` is not a whole number from 1 to 20"];
}

#[test]
fn a_key_may_go_in_clear_text_to_this_machine() {
    for url in ["http://127.0.0.1:8080", "http://localhost", "http://[::1]:1"] {
        let mut value = whole();
        value["base_url"] = url.into();
        assert_eq!(ProviderConfig::from_value(&value).unwrap().base_url(), url);
    }
}

/// Checks the base URL and the header of the key for a config of this protocol.
#[track_caller]
fn check_place(protocol: &str, url: &str, expected: (&str, &str)) {
    let config = ProviderConfig::from_value(&json!({
        "protocol": protocol,
        "base_url": url,
        "auth": { "env": "KEY" },
        "models": { "m": { "context_window": 8192, "max_output": 1024 } },
    }))
    .unwrap();
    assert_eq!((config.base_url(), config.auth().unwrap().header.as_str()), expected);
}

#[test]
fn each_protocol_has_its_place_for_version_and_key() {
    check_place("anthropic_messages", "http://localhost:1", ("http://localhost:1", "x-api-key"));
    check_place("gemini", "http://localhost:1/", ("http://localhost:1", "x-goog-api-key"));
    for protocol in ["openai_chat", "openai_responses"] {
        for url in [
            "http://localhost:1",
            "http://localhost:1/",
            "http://localhost:1/v1",
            "http://localhost:1/v1/",
        ] {
            check_place(protocol, url, ("http://localhost:1/v1", "authorization"));
        }
        let elsewhere = "https://api.example/openai/v4";
        check_place(protocol, elsewhere, (elsewhere, "authorization"));
    }
}

#[test]
fn all_problems_come_at_once() {
    let value =
        json!({ "protocl": "x", "models": { "a": { "prices": { "input": "1" } } }, "retry": 3 });
    let error = ProviderConfig::from_value(&value).unwrap_err();
    let expected = "the provider config is not valid: `protocl` is not a key of a provider config; did you mean `protocol`?; \
                    `protocol` is missing; `base_url` is missing; `models.a.context_window` is missing; \
                    `models.a.max_output` is missing; `models.a.prices.output` is missing; `retry` is not a mapping";
    assert_eq!(error.to_string(), expected);
    let error = ProviderConfig::from_value(&json!([])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the provider config is not valid: a provider config is a mapping"
    );
}
