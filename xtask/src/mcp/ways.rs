//! Servers that differ from the protocol, a scripted one for each way, and a server that uses every part of it.

use std::path::Path;

use anyhow::bail;

use super::Place;
use super::servers::{Reference, Wrapped};
use super::tools::Tools;
use crate::process::Rye;

/// A way of `scripted.py`, and a part of what is printed for a call of its tool.
type Way = (&'static str, &'static str);

/// The ways over stdio.
const STDIO: [Way; 24] = [
    ("exits", "said"),
    ("is silent", "said"),
    ("talks nonsense", "said"),
    ("bad tools", "said"),
    ("half a character", "a \u{fffd} b"),
    ("a float as the code", "full"),
    ("a word as the code", "EFAIL: full"),
    ("a text as the error", "full"),
    ("an error of no call", "full"),
    ("pretty", "said"),
    ("glued", "said"),
    ("batched", "said"),
    ("latin-1", "the answer cannot be read: it is not UTF-8"),
    ("no error beside a result", "said"),
    ("text beside data", "See also b."),
    ("data twice", "\"a\": 1"),
    ("text beside no data", "It failed."),
    ("a new kind", "hologram"),
    ("no content", "completed (2 turns"),
    ("null as the content", "completed (2 turns"),
    ("a text as the content", "said"),
    ("a word as the flag", "said"),
    ("a link", "file:///var/log/a.log"),
    ("an object in a text", "\"a\": 1"),
];

/// The ways over HTTP.
const HTTP: [Way; 4] =
    [("is silent", "said"), ("500", "said"), ("202", "said"), ("an empty 200", "said")];

/// A tool of the server that uses every part of the protocol, its arguments, and a part of what is printed.
const EVERYTHING: [(&str, &[&str], &str); 5] = [
    ("get-sum", &["a=2", "b=40"], "The sum of 2 and 40 is 42."),
    ("get-resource-links", &["count=2"], "demo://resource/dynamic/text/2"),
    (
        "get-resource-reference",
        &["resourceType=Text", "resourceId=1"],
        "This is a plaintext resource",
    ),
    ("get-structured-content", &["location=Chicago"], "\"humidity\": 82"),
    ("get-tiny-image", &[], "an image (image/png, 4035 bytes)"),
];

/// Wraps each of the servers and calls it.
pub(super) fn run(root: &Path, rye: &Rye<'_>, place: &Place, tools: &Tools) -> anyhow::Result<()> {
    let everything = Reference { name: "everything", is_far: false, words: tools.everything(root) };
    let wrapped = Wrapped { root, rye, place, server: &everything };
    let _served = wrapped.lock()?;
    for (tool, arguments, shows) in EVERYTHING {
        check(&wrapped, tool, arguments, shows)?;
    }
    println!("server everything: {} tools called", EVERYTHING.len());
    for (name, ways) in [("scripted", STDIO.as_slice()), ("scripted_far", &HTTP)] {
        for (way, shows) in ways {
            let server = Reference {
                name,
                is_far: name != "scripted",
                words: [tools.scripted(root).as_slice(), &[(*way).to_owned()]].concat(),
            };
            let wrapped = Wrapped { root, rye, place, server: &server };
            let _served = wrapped.lock()?;
            check(&wrapped, "say", &[], shows)
                .map_err(|error| error.context(format!("the server that differs by: {way}")))?;
        }
        println!("server {name}: called in {} ways", ways.len());
    }
    Ok(())
}

fn check(wrapped: &Wrapped<'_>, tool: &str, arguments: &[&str], shows: &str) -> anyhow::Result<()> {
    let printed = wrapped.call(tool, arguments)?;
    if !printed.contains(shows) {
        bail!("`{tool}` prints no {shows:?}:\n{printed}");
    }
    Ok(())
}
