//! The providers as a thread uses them: the requests that they send, and the replies that they return.

#![expect(clippy::unwrap_used, reason = "what cannot be made for a test fails the test")]

mod attempts;
mod bodies;
mod fixtures;
#[path = "../../../../tests/server.rs"]
#[expect(dead_code, reason = "each vendor here repeats its last answer")]
mod server;
mod small_parts;
#[path = "../../../rye-thread/tests/rye_thread/spans.rs"]
mod spans;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod telemetry;
mod vendor;

mod answers;
mod conversations;
mod deep;
mod encode;
mod faults;
mod http;
mod noise;
mod orders;
mod patience;
mod runs;
mod sent_back;
mod wires;
