//! Names of providers in telemetry, after OpenTelemetry's GenAI conventions.

use reqwest::Url;
use rye_thread::{ProviderTelemetry, ServerAddress};

use crate::ProviderConfig;
use crate::protocol::Delivery;

pub(crate) fn of(config: &ProviderConfig) -> ProviderTelemetry {
    let server = server(config.base_url());
    let known = server.as_ref().and_then(|server| convention_name(&server.host));
    let mut telemetry = ProviderTelemetry::new(known.unwrap_or(config.name()));
    telemetry.server = server;
    telemetry.is_streamed = config.delivery() == Delivery::Streamed;
    telemetry
}

/// Host and port of a URL.
pub(crate) fn server(url: &str) -> Option<ServerAddress> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.to_owned();
    Some(ServerAddress { host, port: url.port_or_known_default()? })
}

/// Returns the convention's name for a host. A host without one keeps the name of its configuration.
fn convention_name(host: &str) -> Option<&'static str> {
    let is_below = |domain: &str| {
        let below = host.strip_suffix(domain);
        below.is_some_and(|rest| rest.is_empty() || rest.ends_with(['.', '-']))
    };
    let row = PROVIDERS.iter().find(|(domain, _)| is_below(domain));
    let is_bedrock = host.starts_with("bedrock-runtime.") && is_below("amazonaws.com");
    row.map(|(_, name)| *name).or(is_bedrock.then_some("aws.bedrock"))
}

/// Domains with their values of `gen_ai.provider.name`.
const PROVIDERS: [(&str, &str); 15] = [
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("api.anthropic.com", "anthropic"),
    ("api.cohere.ai", "cohere"),
    ("api.cohere.com", "cohere"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.moonshot.ai", "moonshot_ai"),
    ("api.openai.com", "openai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.x.ai", "x_ai"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("ml.cloud.ibm.com", "ibm.watsonx.ai"),
    ("openai.azure.com", "azure.ai.openai"),
    ("services.ai.azure.com", "azure.ai.inference"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(base_url: &str, name: &str, host: &str, port: u16) {
        let config = ProviderConfig::from_value(&json!({
            "name": "mine",
            "protocol": "openai_chat",
            "base_url": base_url,
            "models": { "m": { "context_window": 1000, "max_output": 100 } },
        }));
        let telemetry = of(&config.unwrap());
        let server = Some(ServerAddress { host: host.to_owned(), port });
        assert_eq!((telemetry.name.as_str(), telemetry.server), (name, server));
        assert!(telemetry.is_streamed, "as it is unless the config says otherwise");
    }

    #[test]
    fn providers_of_the_convention_have_its_names() {
        for (domain, name) in PROVIDERS {
            check(&format!("https://{domain}/v1"), name, domain, 443);
        }
        let regional = "europe-west1-aiplatform.googleapis.com";
        check(&format!("https://{regional}"), "gcp.vertex_ai", regional, 443);
        let own = "acme.openai.azure.com";
        check(&format!("https://{own}:8443"), "azure.ai.openai", own, 8443);
        let bedrock = "bedrock-runtime.eu-central-1.amazonaws.com";
        check(&format!("https://{bedrock}"), "aws.bedrock", bedrock, 443);
    }

    #[test]
    fn all_others_keep_their_configurations_name() {
        check("http://localhost:8080", "mine", "localhost", 8080);
        check("http://[::1]:8080/x", "mine", "[::1]", 8080);
        let near = ["notapi.openai.com", "api.openai.com.example.org", "lb.amazonaws.com"];
        for host in near {
            check(&format!("https://{host}"), "mine", host, 443);
        }
    }
}
