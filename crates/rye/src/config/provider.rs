//! `tools/rye/agent/providers/*.yaml`: how to reach a model, and what it costs (SPEC 11.1).
//!
//! The provider crate reads these files; the structs here only make their JSON schema.

use std::collections::BTreeMap;

use rye_resolve::ItemId;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) const PROVIDER: &str = "provider";

/// The folder of provider configurations among the tools, as a prefix of their ids.
pub(crate) const PROVIDERS: &str = "rye/agent/providers/";

/// Whether a file of the tools is a provider's configuration and not a tool.
pub(crate) fn is_provider(id: &ItemId) -> bool {
    id.as_str().starts_with(PROVIDERS)
}

/// How to reach a model, and what it costs.
#[derive(Deserialize, JsonSchema)]
#[schemars(title = "provider", deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
pub(crate) struct Provider {
    /// What messages call it; default: the protocol's name.
    #[serde(default)]
    #[schemars(with = "String")]
    name: Option<String>,
    /// For people.
    #[serde(default)]
    #[schemars(with = "String")]
    description: Option<String>,
    /// For people.
    #[serde(default)]
    #[schemars(with = "String")]
    version: Option<String>,
    /// For people.
    #[serde(default)]
    #[schemars(with = "String")]
    category: Option<String>,
    /// The wire format.
    protocol: Protocol,
    /// Where requests go, without the protocol's own path. OpenAI's protocols have the version in it, as in
    /// `https://api.openai.com/v1`; a server without any path gets `/v1` added.
    base_url: String,
    /// Where the key comes from; left out for a server that wants none.
    #[serde(default)]
    #[schemars(with = "Auth")]
    auth: Option<Auth>,
    /// Headers that are sent with every request.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    headers: Option<BTreeMap<String, String>>,
    /// The model of each tier.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    tiers: Option<BTreeMap<String, String>>,
    /// The models, by the vendor's names.
    models: BTreeMap<String, Model>,
    /// Texts for the model.
    #[serde(default)]
    #[schemars(with = "Prompts")]
    prompts: Option<Prompts>,
    /// How results are asked for.
    #[serde(default)]
    #[schemars(with = "Returns")]
    returns: Option<Returns>,
    /// How failed requests are tried again.
    #[serde(default)]
    #[schemars(with = "Retry")]
    retry: Option<Retry>,
    /// How long one attempt may take; default 600.
    #[serde(default)]
    #[schemars(with = "u64")]
    timeout_seconds: Option<u64>,
    /// How long an answer may pause while it comes in pieces; default 300.
    #[serde(default)]
    #[schemars(with = "u64")]
    idle_seconds: Option<u64>,
    /// The most bytes of one answer that are read and kept, at most 134217728; default 33554432.
    #[serde(default)]
    #[schemars(with = "u64")]
    max_answer_bytes: Option<u64>,
    /// Whether answers come in pieces; default `true`.
    #[serde(default)]
    #[schemars(with = "bool")]
    stream: Option<bool>,
    /// What the server calls the most tokens of an answer, for `openai_chat` alone: many servers know only `max_tokens`.
    /// Default: `max_completion_tokens`.
    #[serde(default)]
    #[schemars(with = "MaxTokensField")]
    max_tokens_field: Option<MaxTokensField>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, rename_all = "snake_case")]
enum Protocol {
    AnthropicMessages,
    Gemini,
    OpenaiChat,
    OpenaiResponses,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, rename_all = "snake_case")]
enum MaxTokensField {
    MaxCompletionTokens,
    MaxTokens,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
struct Auth {
    /// The environment variable that holds the key; never the key itself.
    env: String,
    /// The header that carries it; `authorization` carries `Bearer KEY`. Default: the one of the vendor's own clients.
    #[serde(default)]
    #[schemars(with = "String")]
    header: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
struct Model {
    /// How many tokens a conversation may have.
    context_window: u64,
    /// The most tokens that one answer may have, which is what is reserved before each request.
    max_output: u64,
    /// US dollars per million tokens; without them the model runs only under `spend="unlimited"`.
    #[serde(default)]
    #[schemars(with = "Prices")]
    prices: Option<Prices>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
struct Prices {
    /// Input that no cache served.
    input: Dollars,
    /// Output, reasoning included.
    output: Dollars,
    /// Input read from the vendor's cache; default: as `input`.
    #[serde(default)]
    #[schemars(with = "Dollars")]
    cache_read: Option<Dollars>,
    /// Input written to the vendor's cache; default: as `input`.
    #[serde(default)]
    #[schemars(with = "Dollars")]
    cache_write: Option<Dollars>,
}

/// An amount in US dollars: decimal text such as `0.30`, or a number.
#[derive(Deserialize, JsonSchema)]
#[schemars(inline, untagged)]
#[expect(dead_code, reason = "read by the schema generator alone")]
enum Dollars {
    Text(String),
    Number(f64),
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
struct Prompts {
    /// What the system message begins with; may hold `{directive_name}`, `{directive_description}`,
    /// `{directive_steps}`, `{directive_inputs}` and `{tool_names}`.
    #[serde(default)]
    #[schemars(with = "String")]
    system_template: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, rename_all = "snake_case")]
enum Returns {
    Call,
    Block,
    Tool,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(inline, deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
struct Retry {
    /// The most attempts, the first one included.
    #[serde(default)]
    #[schemars(with = "u64")]
    attempts: Option<u64>,
    /// The wait before the second attempt; it doubles from there.
    #[serde(default)]
    #[schemars(with = "u64")]
    first_delay_ms: Option<u64>,
    /// The longest wait of our own choosing.
    #[serde(default)]
    #[schemars(with = "u64")]
    max_delay_ms: Option<u64>,
    /// The time for all attempts and waits together.
    #[serde(default)]
    #[schemars(with = "u64")]
    total_seconds: Option<u64>,
}
