//! The answers of `wires/*.json`: each as a whole response, as a stream, and as the expected reply.

use std::sync::LazyLock;

use rye_providers::{Protocol, StreamDecoder, StreamError, decode};
use rye_thread::{Counted, DeltaSink, Reply};
use serde::Deserialize;
use serde_json::{Value, json};

/// A row: the received answer and the expected reply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture {
    pub(crate) name: String,
    body: Option<Value>,
    /// A body that is not JSON, or whose exact bytes matter.
    text: Option<String>,
    /// The data of each event. A JSON text is sent as it is.
    stream: Option<Vec<Value>>,
    /// The expected raw answer, if there is only a stream or the stream gives another one.
    raw: Option<String>,
    whole_raw: Option<String>,
    reply: Option<Value>,
    stream_reply: Option<Value>,
    error: Option<String>,
    stream_error: Option<String>,
    /// `true` if no piece of the stream announces some part of the answer.
    #[serde(default)]
    pub(crate) untold: bool,
}

/// The rows of a protocol, read once for all tests.
pub(crate) fn fixtures(protocol: Protocol) -> &'static [Fixture] {
    static ANTHROPIC: Rows = Rows::new(|| rows(include_str!("wires/anthropic_messages.json")));
    static GEMINI: Rows = Rows::new(|| rows(include_str!("wires/gemini.json")));
    static CHAT: Rows = Rows::new(|| rows(include_str!("wires/openai_chat.json")));
    static RESPONSES: Rows = Rows::new(|| rows(include_str!("wires/openai_responses.json")));
    match protocol {
        Protocol::AnthropicMessages => &ANTHROPIC,
        Protocol::Gemini => &GEMINI,
        Protocol::OpenAiChat => &CHAT,
        Protocol::OpenAiResponses => &RESPONSES,
        _ => panic!("a protocol without fixtures"),
    }
}

type Rows = LazyLock<Vec<Fixture>>;

fn rows(text: &str) -> Vec<Fixture> {
    serde_json::from_str(text).unwrap()
}

/// The row with this name.
pub(crate) fn fixture(protocol: Protocol, name: &str) -> Option<&'static Fixture> {
    fixtures(protocol).iter().find(|fixture| fixture.name == name)
}

/// The answer with this name, or `None` if the protocol has none.
pub(crate) fn answer(protocol: Protocol, name: &str) -> Option<Reply> {
    let fixture = fixture(protocol, name)?;
    let whole = fixture.whole().map(|body| decode(protocol, body.as_bytes()).unwrap());
    Some(
        whole
            .unwrap_or_else(|| stream(protocol, &fixture.events().unwrap(), 1 << 20, &()).unwrap()),
    )
}

impl Fixture {
    /// Returns `true` if the whole answer is mended before it is recorded.
    pub(crate) fn mends(&self) -> bool {
        self.whole_raw.is_some()
    }

    pub(crate) fn whole(&self) -> Option<String> {
        self.text.clone().or(self.body.as_ref().map(Value::to_string))
    }

    pub(crate) fn events(&self) -> Option<String> {
        let data = |event: &Value| event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        let event = |event: &Value| format!("data: {}\n\n", data(event));
        Some(self.stream.as_ref()?.iter().map(event).collect())
    }

    /// Reads the whole response and returns the difference to the expected reply, if any.
    pub(crate) fn judge_whole(&self, protocol: Protocol) -> Option<String> {
        let body = self.whole()?;
        let found = decode(protocol, body.as_bytes());
        if let Ok(reply) = &found {
            let raw = reply.raw().get();
            let expected = self.whole_raw.as_deref();
            if expected.map_or(!body.contains(raw), |expected| expected != raw) {
                return Some(format!("kept {raw}"));
            }
        }
        let found = found.map_err(|error| with_cause(&error));
        differs(found, self.reply.as_ref(), self.error.as_ref())
    }

    /// Reads the stream in pieces of `piece` bytes and returns the difference to the expected reply, if any.
    pub(crate) fn judge_stream(&self, protocol: Protocol, piece: usize) -> Option<String> {
        let events = self.events()?;
        let found = stream(protocol, &events, piece, &());
        if let Ok(reply) = &found {
            let whole = || decode(protocol, self.whole()?.as_bytes()).ok();
            let expected = self.raw.clone().or_else(|| Some(whole()?.raw().get().to_owned()));
            if expected.as_deref() != Some(reply.raw().get()) {
                return Some(format!("assembled {} and not {expected:?}", reply.raw().get()));
            }
        }
        let found = found.map_err(|error| with_cause(&error));
        let reply = self.stream_reply.as_ref().or(self.reply.as_ref());
        differs(found, reply, self.stream_error.as_ref())
    }
}

/// Reads a stream in pieces of `piece` bytes.
pub(crate) fn stream(
    protocol: Protocol,
    events: &str,
    piece: usize,
    deltas: &dyn DeltaSink,
) -> Result<Reply, StreamError> {
    let mut decoder = StreamDecoder::new(protocol);
    for bytes in events.as_bytes().chunks(piece) {
        decoder.feed(bytes, deltas)?;
    }
    decoder.finish()
}

fn differs(
    found: Result<Reply, String>,
    reply: Option<&Value>,
    error: Option<&String>,
) -> Option<String> {
    let found = found.map(|reply| summary(&reply));
    let fits = match &found {
        Ok(found) => reply.is_some_and(|expected| &filled(expected) == found),
        Err(found) => error == Some(found),
    };
    let found = found.map(|found| found.to_string());
    (!fits).then(|| format!("read {found:?}"))
}

/// The parts of a reply that a thread reads, in the form of the fixtures.
pub(crate) fn summary(reply: &Reply) -> Value {
    let calls = reply.calls.iter().map(|call| match &call.arguments {
        Ok(arguments) => json!([call.id, call.name, arguments]),
        Err(reason) => json!([call.id, call.name, null, reason]),
    });
    let usage = &reply.usage;
    let usage = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    json!({
        "text": reply.text,
        "reasoning": reply.reasoning,
        "calls": calls.collect::<Vec<_>>(),
        "stop": reply.stop.to_string(),
        "usage": (reply.counted == Counted::ByProvider).then_some(usage),
    })
}

fn filled(expected: &Value) -> Value {
    let mut expected = expected.clone();
    if expected.get("reasoning").is_none() {
        expected["reasoning"] = json!("");
    }
    expected
}

fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}
