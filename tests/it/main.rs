//! Tests of all crates together, on real files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod answers;
mod authority;
mod cassettes;
mod ceiling;
mod chain;
mod children;
mod continuing;
mod creating;
mod defaults;
mod drafts;
mod holes;
mod hooks;
mod inheriting;
mod inline;
mod model;
mod needs;
mod programs;
mod prompts;
mod quickstart;
mod refusal;
mod reopening;
mod review;
mod seeds;
#[path = "../server.rs"]
#[expect(dead_code, reason = "a model's server here always answers, and as HTTP requires")]
mod server;
mod shipped;
mod spoilt;
#[path = "../sweep.rs"]
mod sweep;
mod vouching;
mod wires;
