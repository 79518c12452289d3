//! What the crate promises, for any input.

mod cpython;
mod grants;
#[path = "../../src/pattern/naive.rs"]
mod naive;
mod promises;
mod properties;
mod texts;
