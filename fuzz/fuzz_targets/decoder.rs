//! A provider's response, whole or as a stream: read or refused, and what the model said is kept as it was received.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_providers::{Protocol, StreamDecoder, decode};

fuzz_target!(|input: &[u8]| {
    let Some((&first, body)) = input.split_first() else { return };
    let protocol = Protocol::ALL[usize::from(first) % Protocol::ALL.len()];
    whole(protocol, body);
    let at_once = streamed(protocol, body, body.len().max(1));
    let in_pieces = streamed(protocol, body, usize::from(first / 4) + 1);
    assert_eq!(at_once, in_pieces, "where a stream is cut does not matter");
});

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

/// What the stream is read as, or nothing.
fn streamed(protocol: Protocol, body: &[u8], piece: usize) -> Option<String> {
    let mut decoder = StreamDecoder::new(protocol);
    for bytes in body.chunks(piece) {
        decoder.feed(bytes, &()).ok()?;
    }
    decoder.finish().ok().map(|reply| format!("{reply:?}"))
}
