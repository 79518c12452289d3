//! A provider's response, whole or as a stream: it is read or refused, what is kept of it is what was received, and
//! no text and no argument that a naive reader finds in it is lost.

use rye_providers::{Protocol, StreamDecoder, decode};
use rye_thread::Reply;

use crate::naive::{self, Found};

/// Reads the response behind the first byte, which is the size of the pieces of a stream.
pub fn check(protocol: Protocol, input: &[u8]) {
    let Some((&piece, body)) = input.split_first() else { return };
    whole(protocol, body);
    let at_once = streamed(protocol, body, body.len().max(1));
    let in_pieces = streamed(protocol, body, usize::from(piece) + 1);
    let shown =
        [&at_once, &in_pieces].map(|reply| reply.as_ref().map(|reply| format!("{reply:?}")));
    assert_eq!(shown[0], shown[1], "where a stream is cut does not matter");
    if let (Some(reply), Some(found)) = (at_once, naive::stream(protocol, body)) {
        lose_nothing(&reply, &found);
    }
}

fn whole(protocol: Protocol, body: &[u8]) {
    let Ok(reply) = decode(protocol, body) else { return };
    let raw = reply.raw().get();
    let text = std::str::from_utf8(body).expect("JSON is UTF-8");
    // A record of the transcript is one line, so line ends between tokens become spaces.
    let line = text.replace(['\n', '\r'], " ");
    if !line.contains(raw) {
        let mended = decode(protocol, around(protocol, raw).as_bytes());
        let mended = mended.expect("what was mended is an answer");
        assert_eq!(mended.raw().get(), raw, "content is kept byte for byte, or mended once");
        let views = [&reply, &mended].map(|reply| (&reply.text, &reply.reasoning, &reply.calls));
        assert_eq!(views[0], views[1], "what is mended says the same");
    }
    let again = decode(protocol, body).expect("it was read before");
    assert_eq!(format!("{reply:?}"), format!("{again:?}"), "equal bytes give equal replies");
    if let Some(found) = naive::whole(protocol, body) {
        lose_nothing(&reply, &found);
    }
}

/// A response with this content.
fn around(protocol: Protocol, raw: &str) -> String {
    match protocol {
        Protocol::AnthropicMessages => format!(r#"{{"content":{raw},"stop_reason":"end_turn"}}"#),
        Protocol::Gemini => {
            format!(r#"{{"candidates":[{{"content":{raw},"finishReason":"STOP"}}]}}"#)
        }
        Protocol::OpenAiChat => {
            format!(r#"{{"choices":[{{"message":{raw},"finish_reason":"stop"}}]}}"#)
        }
        _ => format!(r#"{{"output":{raw},"status":"completed"}}"#),
    }
}

/// The reply that the stream is read as, if it is read.
fn streamed(protocol: Protocol, body: &[u8], piece: usize) -> Option<Reply> {
    let mut decoder = StreamDecoder::new(protocol);
    for bytes in body.chunks(piece) {
        decoder.feed(bytes, &()).ok()?;
    }
    decoder.finish().ok()
}

/// The reply has each text that was found, whole but for white space, and each object of arguments.
fn lose_nothing(reply: &Reply, found: &Found) {
    let without_space = |text: &str| text.split_whitespace().collect::<String>();
    let text = without_space(&reply.text);
    for pieces in found.texts.values() {
        let whole = without_space(&pieces.concat());
        assert!(text.contains(&whole), "{pieces:?} is not in {reply:?}");
    }
    for arguments in found.arguments.values() {
        let Ok(object) = serde_json::from_str::<serde_json::Value>(arguments) else { continue };
        if object.as_object().is_none_or(serde_json::Map::is_empty) {
            continue;
        }
        // A call that cannot be run says so.
        let is_there =
            |call: &rye_thread::ToolCall| call.arguments.as_ref().map_or(true, |it| *it == object);
        assert!(reply.calls.iter().any(is_there), "{arguments} is not in {reply:?}");
    }
}
