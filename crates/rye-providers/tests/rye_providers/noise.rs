//! Invalid bytes from a server.

use proptest::prelude::*;
use rye_providers::{Protocol, StreamDecoder, decode};

use crate::fixtures::fixtures;

#[test]
fn deep_nesting_is_an_error_and_no_crash() {
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    for &protocol in Protocol::ALL {
        let body =
            format!(r#"{{"content":{deep},"choices":{deep},"output":{deep},"candidates":{deep}}}"#);
        assert!(decode(protocol, body.as_bytes()).is_err());
        let mut decoder = StreamDecoder::new(protocol);
        let fed = decoder.feed(format!("data: {body}\n\n").as_bytes(), &());
        assert!(fed.is_err() || decoder.finish().is_err());
    }
}

proptest! {
    /// Decoding never panics, whatever the bytes are, and the raw answer is part of the body, unless it
    /// is mended.
    #[test]
    fn no_response_panics(row in 0_usize..200, noise in ".*", at in 0_usize..400, cut in 0_usize..400) {
        for &protocol in Protocol::ALL {
            let fixtures = fixtures(protocol);
            let fixture = &fixtures[row % fixtures.len()];
            let Some(whole) = fixture.whole() else { continue };
            let head = whole.get(..at.min(whole.len())).unwrap_or_default();
            let tail = whole.get(cut.min(whole.len())..).unwrap_or_default();
            for body in [noise.clone(), format!("{head}{noise}{tail}")] {
                if let Ok(reply) = decode(protocol, body.as_bytes()) {
                    let line = body.replace(['\n', '\r'], " ");
                    let is_mended = fixture.mends() || noise.contains("\\ud");
                    // Content of Gemini's without parts gets an empty list of them.
                    let raw = reply.raw().get();
                    let is_made = raw == r#"{"role":"model","parts":[]}"#;
                    let given = raw.strip_suffix(r#","parts":[]}"#).unwrap_or(raw);
                    prop_assert!(is_mended || is_made || line.contains(given), "{body}\n{raw}");
                }
            }
        }
    }

    /// The same for streams with lost, repeated or inserted pieces.
    #[test]
    fn no_stream_panics(row in 0_usize..200, noise in ".*", at in 0_usize..900, cut in 0_usize..900) {
        for &protocol in Protocol::ALL {
            let fixtures = fixtures(protocol);
            let fixture = &fixtures[row % fixtures.len()];
            let Some(events) = fixture.events() else { continue };
            let head = events.get(..at.min(events.len())).unwrap_or_default();
            let tail = events.get(cut.min(events.len())..).unwrap_or_default();
            let mut decoder = StreamDecoder::new(protocol);
            let bytes = format!("{head}{noise}{tail}");
            if decoder.feed(bytes.as_bytes(), &()).is_ok() {
                drop(decoder.finish());
            }
        }
    }
}
