//! What the crate promises to its callers.

mod bind;
mod compose;
mod given;
mod opening;
mod place;
mod properties;
mod render;
mod steps;
mod system;
