//! A provider's response: read or refused, and what the model said is kept as it was received.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rye_providers::anthropic;

fuzz_target!(|body: &[u8]| {
    let Ok(reply) = anthropic::decode(body) else { return };
    let text = std::str::from_utf8(body).expect("JSON is UTF-8");
    // A record of the transcript is one line, so line ends between tokens become spaces.
    let line = text.replace(['\n', '\r'], " ");
    assert!(line.contains(reply.raw().get()), "content is kept byte for byte");
    let again = anthropic::decode(body).expect("it was read before");
    assert_eq!(format!("{reply:?}"), format!("{again:?}"), "equal bytes give equal replies");
});
