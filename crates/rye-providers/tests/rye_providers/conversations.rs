//! A table of conversations, encoded in every protocol.

use std::sync::Arc;

use rye_providers::{Delivery, EncodeError, MaxTokensField, ModelChoice, Protocol, body};
use rye_thread::{History, Message, Opening, Reply, Request, ToolResult, ToolSpec};
use serde_json::{Value, json};

use crate::bodies::keep;
use crate::fixtures::answer;

/// An entry of a conversation.
enum Say {
    /// A text of the user.
    User(&'static str),
    /// An answer from the fixtures, by name.
    Model(&'static str),
    /// A result for each call of the last answer, with `true` for an error.
    Results(Vec<(Value, bool)>),
}
use Say::{Model, Results, User};

struct Conversation {
    name: &'static str,
    system: Option<&'static str>,
    tools: Vec<ToolSpec>,
    says: Vec<Say>,
    max_output: u64,
    delivery: Delivery,
}

fn tool(name: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(name, &format!("Does {name}."), schema)
}

fn schema() -> Value {
    json!({ "type": "object", "properties": { "item_id": { "type": "string" } }, "required": ["item_id"], "additionalProperties": false })
}

fn tools() -> Vec<ToolSpec> {
    let nothing = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    vec![tool("rye_file_system_read", nothing), tool("rye_execute", schema())]
}

fn conversation(name: &'static str, says: Vec<Say>) -> Conversation {
    let tools = tools();
    let delivery = Delivery::Whole;
    Conversation { name, system: Some("Be brief."), tools, says, max_output: 4_000, delivery }
}

fn plain(name: &'static str, text: &'static str) -> Conversation {
    let mut plain = conversation(name, vec![User(text)]);
    (plain.system, plain.tools) = (None, Vec::new());
    plain
}

fn ok(content: Value) -> Say {
    Results(vec![(content, false)])
}

fn failed(content: Value) -> Say {
    Results(vec![(content, true)])
}

/// A conversation of one call with this result.
fn one_result(name: &'static str, result: Say) -> Conversation {
    conversation(name, vec![User("Go."), Model("call"), result])
}

fn conversations() -> Vec<Conversation> {
    let mut all = openings();
    all.extend(results());
    all.extend(answers());
    all
}

fn openings() -> Vec<Conversation> {
    let nested = json!({ "type": "object", "properties": {
        "mode": { "type": "string", "enum": ["a", "b"], "description": "How" },
        "list": { "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } },
    } });
    let output = tool("rye_execute", schema()).with_output_schema(json!({ "type": "object" }));
    let go = |name| conversation(name, vec![User("Go.")]);
    vec![
        plain("hello", "Say hello."),
        plain("text_unicode", "é 😀 漢字"),
        plain("text_escapes", "\"q\" \\ \n\t\u{7}</system>"),
        Conversation { tools: Vec::new(), ..go("system") },
        Conversation { system: Some(""), ..go("system_empty") },
        Conversation { system: None, ..go("tools_sorted") },
        Conversation {
            tools: vec![tool("a", json!({ "type": "object" }))],
            ..go("tool_without_properties")
        },
        Conversation { tools: vec![tool("a", nested)], ..go("tool_nested") },
        Conversation { tools: vec![output], ..go("tool_with_output_schema") },
        Conversation { max_output: 1, ..go("output_least") },
        Conversation { max_output: 1_000_000, ..go("output_held_at_the_models") },
        Conversation { delivery: Delivery::Streamed, ..go("streamed") },
        Conversation { delivery: Delivery::Streamed, ..plain("streamed_plain", "Say hello.") },
        conversation("two_texts", vec![User("One."), User("Two.")]),
    ]
}

fn results() -> Vec<Conversation> {
    let both = |a: (Value, bool), b: (Value, bool)| {
        vec![User("Go."), Model("two_calls"), Results(vec![a, b])]
    };
    vec![
        one_result("result_text", ok(json!("a \"b\""))),
        one_result("result_text_empty", ok(json!(""))),
        one_result("result_object", ok(json!({ "path": "a", "n": 1 }))),
        one_result("result_list", ok(json!([1, "b"]))),
        one_result("result_null", ok(json!(null))),
        one_result("result_number", ok(json!(7))),
        one_result("result_object_with_error", ok(json!({ "error": "not one" }))),
        one_result("failed_text", failed(json!("not allowed"))),
        one_result("failed_object", failed(json!({ "problems": ["x"] }))),
        one_result("failed_object_with_error", failed(json!({ "error": "not found" }))),
        conversation("two_results", both((json!("a"), false), (json!({ "b": 1 }), false))),
        conversation("one_of_two_failed", both((json!("a"), false), (json!("denied"), true))),
        conversation(
            "text_behind_results",
            vec![User("Go."), Model("call"), ok(json!("a")), User("Return now.")],
        ),
        conversation(
            "text_before_results",
            vec![User("Go."), Model("call"), User("Be quick."), ok(json!("a"))],
        ),
        conversation(
            "result_made_id",
            vec![
                User("Go."),
                Model("made_ids"),
                Results(vec![(json!("a"), false), (json!("b"), true)]),
            ],
        ),
    ]
}

fn answers() -> Vec<Conversation> {
    let then = |name, model| conversation(name, vec![User("Go."), Model(model), User("And?")]);
    let called =
        |name, model| conversation(name, vec![User("Go."), Model(model), ok(json!("done"))]);
    let run = vec![
        User("Go."),
        Model("reasoning_and_call"),
        ok(json!("a")),
        Model("two_calls"),
        Results(vec![(json!("b"), false), (json!("c"), false)]),
        Model("text_and_call"),
        ok(json!("d")),
    ];
    let mut streamed_run = conversation(
        "run_streamed",
        vec![User("Go."), Model("reasoning_and_call"), ok(json!("a"))],
    );
    streamed_run.delivery = Delivery::Streamed;
    vec![
        then("answer_text", "text"),
        then("answer_unicode", "unicode"),
        then("answer_empty_is_left_out", "empty"),
        then("answer_signed", "signed_empty_last_text"),
        then("answer_with_reasoning_alone", "reasoning_only"),
        then("answer_official", "official_members"),
        called("call_with_reasoning", "reasoning_and_call"),
        called("call_with_text", "text_and_call"),
        called("call_without_arguments", "no_arguments"),
        called("call_beside_unknown_parts", "unknown_parts"),
        conversation(
            "call_unreadable",
            vec![User("Go."), Model("unreadable"), failed(json!("no JSON"))],
        ),
        conversation("run", run),
        streamed_run,
    ]
}

impl Conversation {
    /// The request, or `None` if the protocol has no such answer.
    fn request(&self, protocol: Protocol) -> Option<Request> {
        let opening =
            Opening { system: self.system.map(str::to_owned), first_user_message: String::new() };
        let mut request = Request::new(&opening, self.tools.clone(), self.max_output);
        request.messages = History::default();
        let mut last: Option<Arc<Reply>> = None;
        for say in &self.says {
            request.messages.push(match say {
                User(text) => Message::User { text: (*text).to_owned() },
                Model(name) => {
                    let reply = Arc::new(answer(protocol, name)?);
                    last = Some(Arc::clone(&reply));
                    Message::Assistant { reply }
                }
                Results(results) => {
                    let calls = &last.as_ref().unwrap().calls;
                    assert_eq!(calls.len(), results.len(), "{}", self.name);
                    let result = |(call, (content, is_error)): (_, &(Value, bool))| match is_error {
                        true => ToolResult::error(call, content.clone()),
                        false => ToolResult::ok(call, content.clone()),
                    };
                    Message::ToolResults {
                        results: calls.iter().zip(results).map(result).collect(),
                    }
                }
            });
        }
        Some(request)
    }
}

fn choice() -> ModelChoice {
    ModelChoice::new("model-1", 200_000, 64_000)
}

/// All bodies of a protocol, one per line.
fn all(protocol: Protocol) -> String {
    let mut lines = String::new();
    let mut rows = 0;
    for conversation in conversations() {
        let Some(request) = conversation.request(protocol) else { continue };
        let text = body(protocol, &request, &choice(), conversation.delivery).unwrap();
        assert_eq!(text, body(protocol, &request, &choice(), conversation.delivery).unwrap());
        keep(protocol, conversation.name, &text);
        check_growth(protocol, &request, conversation.name);
        lines += &format!("{}: {text}\n", conversation.name);
        rows += 1;
    }
    assert!(rows >= 30, "{rows} rows");
    lines
}

/// Checks that each body begins with the bytes of the preceding one.
#[track_caller]
fn check_growth(protocol: Protocol, request: &Request, name: &str) {
    let encode = |messages: &[Message]| {
        let mut request = request.clone();
        request.messages = messages.to_vec().into();
        body(protocol, &request, &choice(), Delivery::Whole).unwrap()
    };
    check_notes(protocol, request, name);
    let whole = encode(&request.messages);
    for (at, message) in request.messages.iter().enumerate() {
        let Message::Assistant { reply } = message else { continue };
        if reply.text.is_empty() && reply.calls.is_empty() {
            continue;
        }
        let before = encode(&request.messages[..at]);
        let before = before.strip_suffix("]}").unwrap();
        assert!(whole.starts_with(before), "{name}: {before} is not how this begins: {whole}");
    }
}

/// Checks that a growing history, which is written in pieces, gives the same body as one that is written at
/// once. The same is checked for a history that diverges from it.
#[track_caller]
fn check_notes(protocol: Protocol, request: &Request, name: &str) {
    let write = |messages: History| {
        let mut request = request.clone();
        request.messages = messages;
        body(protocol, &request, &choice(), Delivery::Streamed).unwrap()
    };
    let mut grown = History::default();
    for message in &request.messages {
        grown.push(message.clone());
        let once = write(grown.to_vec().into());
        assert_eq!(write(grown.clone()), once, "{name}");
        assert_eq!(write(grown.clone()), once, "{name}, again");
        let mut other = grown.clone();
        other.push(Message::User { text: "Something else.".to_owned() });
        assert_eq!(write(other.clone()), write(other.to_vec().into()), "{name}, apart");
        let mut elsewhere = request.clone();
        elsewhere.messages = grown.clone();
        (elsewhere.system, elsewhere.tools) = (Some("Another.".into()), Vec::new().into());
        let mut fresh = elsewhere.clone();
        fresh.messages = grown.to_vec().into();
        let [kept, fresh] = [elsewhere, fresh]
            .map(|request| body(protocol, &request, &choice(), Delivery::Whole).unwrap());
        assert_eq!(kept, fresh, "{name}, with another frame");
    }
}

#[test]
fn anthropic_messages() {
    insta::assert_snapshot!(all(Protocol::AnthropicMessages));
}

#[test]
fn gemini() {
    insta::assert_snapshot!(all(Protocol::Gemini));
}

#[test]
fn openai_chat() {
    insta::assert_snapshot!(all(Protocol::OpenAiChat));
}

#[test]
fn openai_responses() {
    insta::assert_snapshot!(all(Protocol::OpenAiResponses));
}

/// The member with the old name has the place of the new one.
#[test]
fn the_most_tokens_have_the_name_that_the_server_knows() {
    let request = plain("", "Say hello.").request(Protocol::OpenAiChat).unwrap();
    let mut choice = choice();
    let new = body(Protocol::OpenAiChat, &request, &choice, Delivery::Streamed).unwrap();
    choice.max_tokens_field = MaxTokensField::MaxTokens;
    let old = body(Protocol::OpenAiChat, &request, &choice, Delivery::Streamed).unwrap();
    keep(Protocol::OpenAiChat, "old_name_of_the_most_tokens", &old);
    assert!(old.starts_with(r#"{"model":"model-1","max_tokens":4000,"#), "{old}");
    assert_eq!(old.replace("max_tokens", "max_completion_tokens"), new);
}

/// An answer is sent back byte for byte if nothing had to be added to it.
#[test]
fn answers_are_sent_back_as_they_came() {
    for &protocol in Protocol::ALL {
        for name in [
            "text",
            "call",
            "two_calls",
            "reasoning_and_call",
            "text_and_call",
            "unicode",
            "unknown_parts",
        ] {
            let reply = Arc::new(answer(protocol, name).unwrap());
            let mut request = conversation("", Vec::new()).request(protocol).unwrap();
            request.messages.push(Message::Assistant { reply: Arc::clone(&reply) });
            let text = body(protocol, &request, &choice(), Delivery::Whole).unwrap();
            let raw = reply.raw().get();
            let sent = raw.strip_prefix('[').and_then(|raw| raw.strip_suffix(']')).unwrap_or(raw);
            assert!(text.contains(sent), "{protocol:?}, {name}: {text}");
        }
    }
}

/// Reasoning and ids belong to one protocol, so no other protocol takes the history.
#[test]
fn another_protocols_answer_is_refused() {
    for &giver in Protocol::ALL {
        for &taker in Protocol::ALL {
            let mut request = conversation("", vec![User("Go.")]).request(giver).unwrap();
            let reply = Arc::new(answer(giver, "reasoning_and_call").unwrap());
            request.messages.push(Message::Assistant { reply });
            let taken = body(taker, &request, &choice(), Delivery::Whole);
            let refused = matches!(taken, Err(EncodeError::Foreign { index: 1 }));
            assert_eq!(refused, giver != taker, "{giver:?} to {taker:?}: {taken:?}");
        }
    }
}
