//! `tools/rye/agent/providers/*.yaml`: how to reach a model, and what it costs (SPEC 11.1).
//!
//! The provider crate reads these files; the structs here only make their JSON schema.

use std::collections::BTreeMap;

use rye_resolve::ItemId;
use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) const PROVIDER: &str = "provider";

/// The folder of provider configurations among the tools, as a prefix of their ids.
pub const PROVIDERS: &str = "rye/agent/providers/";

/// Returns `true` for a provider's configuration, which lies among the tools and is no tool.
pub(crate) fn is_provider(id: &ItemId) -> bool {
    id.as_str().starts_with(PROVIDERS)
}

/// The address and the prices of a model.
#[derive(Deserialize, JsonSchema)]
#[schemars(title = "provider", deny_unknown_fields)]
#[expect(dead_code, reason = "read by the schema generator alone")]
pub(crate) struct Provider {
    /// The name in messages; default: the protocol's name.
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
    /// The address for requests, without the protocol's own path. OpenAI's protocols have the version in it,
    /// as in `https://api.openai.com/v1`; a server without any path gets `/v1` added.
    base_url: String,
    /// The source of the key; left out for a server that wants none.
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
    /// The form in which Rye asks for results.
    #[serde(default)]
    #[schemars(with = "Returns")]
    returns: Option<Returns>,
    /// The rule for repeating failed requests.
    #[serde(default)]
    #[schemars(with = "Retry")]
    retry: Option<Retry>,
    /// The longest time of one attempt in seconds; default 600.
    #[serde(default)]
    #[schemars(with = "u64")]
    timeout_seconds: Option<u64>,
    /// The longest pause in an answer that comes in pieces, in seconds; default 300.
    #[serde(default)]
    #[schemars(with = "u64")]
    idle_seconds: Option<u64>,
    /// The most bytes of one answer that are read and kept, at most 134217728; default 33554432.
    #[serde(default)]
    #[schemars(with = "u64")]
    max_answer_bytes: Option<u64>,
    /// `true` for answers that come in pieces, which is the default.
    #[serde(default)]
    #[schemars(with = "bool")]
    stream: Option<bool>,
    /// The server's name for the most tokens of an answer, for `openai_chat` alone: many servers know only
    /// `max_tokens`. Default: `max_completion_tokens`.
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
    /// The most tokens of a conversation.
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
    /// The beginning of the system message. It may hold `{directive_name}`, `{directive_description}`,
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
    /// The most attempts, the first one included. By default 8, which have patience for more than a minute.
    #[serde(default)]
    #[schemars(with = "u64")]
    attempts: Option<u64>,
    /// The wait before the second attempt; it doubles from there. By default 1 s without a connection, 2 s after an
    /// overload, 4 s after too many requests, 5 s otherwise. A longer wait that the server asks for counts instead.
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
