//! Tests of the public behaviour of the crate.

mod bind;
mod compose;
mod given;
mod opening;
mod place;
mod prompts;
mod properties;
mod render;
mod steps;
mod system;
mod visible;
