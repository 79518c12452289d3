//! What the crate promises, for any input.

mod grants;
#[path = "../../src/pattern/naive.rs"]
mod naive;
mod properties;
mod texts;
