//! The answers of the conformance tables, kept to be read by the vendors' own SDKs (`cargo xtask sdk`).

use std::fs;
use std::path::Path;

use rye_providers::{Protocol, decode};
use rye_thread::Reply;
use serde_json::json;

use crate::fixtures::{Fixture, stream, summary};

/// Writes an answer and what it is read as to the folder that `cargo xtask sdk` reads.
fn keep(protocol: Protocol, name: &str, sent: &str, read: &Result<Reply, String>) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("answers").join(protocol.as_str());
    fs::create_dir_all(&folder).unwrap();
    let (read, refused) = match read {
        Ok(reply) => (Some(summary(reply)), None),
        Err(error) => (None, Some(error)),
    };
    let kept = json!({ "sent": sent, "read": read, "refused": refused });
    fs::write(folder.join(format!("{name}.json")), kept.to_string()).unwrap();
}

/// Keeps the whole answer of a row.
pub(crate) fn keep_whole(protocol: Protocol, fixture: &Fixture) {
    if let Some(body) = fixture.whole() {
        let read = decode(protocol, body.as_bytes()).map_err(|error| error.to_string());
        keep(protocol, &format!("{}.whole", fixture.name), &body, &read);
    }
}

/// Keeps the stream of a row.
pub(crate) fn keep_stream(protocol: Protocol, fixture: &Fixture) {
    if let Some(events) = fixture.events() {
        let read = stream(protocol, &events, 1 << 20, &()).map_err(|error| error.to_string());
        keep(protocol, &format!("{}.stream", fixture.name), &events, &read);
    }
}
