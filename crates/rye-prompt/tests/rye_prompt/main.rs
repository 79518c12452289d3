//! What the crate promises to its callers.

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
