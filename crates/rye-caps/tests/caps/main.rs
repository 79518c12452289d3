//! Properties that hold for every input.

mod cpython;
mod grants;
#[path = "../../src/pattern/naive.rs"]
mod naive;
mod promises;
mod properties;
mod texts;
