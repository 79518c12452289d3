//! Threads driven from their opening to their end, by a provider that follows a script.

#![expect(clippy::unwrap_used, reason = "what cannot be made for a test fails the test")]

mod doubles;
mod family;
mod spans;
#[path = "../../../../tests/sweep.rs"]
mod sweep;
mod world;

mod answering;
mod approving;
mod calling;
mod claiming;
mod failing;
mod finishing;
mod full;
mod hooking;
mod interrupting;
mod naming;
mod power;
mod raising;
mod recording;
mod replaying;
mod resuming;
mod spawning;
mod spending;
mod stopping;
mod telemetry;
mod thinking;
mod unusable;
