//! Other engines, measured with the conversations of `rye-bench-harness`.
//!
//! [`run`] does with an [`Engine`] the same as that program with Rye's threads. It holds conversations with a
//! server, whose only tool adds two numbers, counts the failed ones, and prints the same line. The binaries
//! `beside-loop` and `beside-rig` are an engine each.

mod addition;
mod arguments;
mod measure;
// The same source file, so that the times are measured as in the other program.
#[path = "../../bench-harness/src/process.rs"]
#[expect(dead_code, reason = "one conversation at a time needs no more files than any program")]
mod process;
mod run;

pub use self::addition::{
    ADD, DESCRIPTION, MAX_OUTPUT, MODEL, Numbers, SYSTEM, first_message, parameters,
};
pub use self::arguments::Arguments;
pub use self::measure::{Ended, Engine, Problem};
pub use self::run::run;
