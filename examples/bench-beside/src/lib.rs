//! Other engines in the conversations that `rye-bench-harness` measures.
//!
//! [`run`] does with an [`Engine`] what that program does with Rye's threads: it holds conversations whose only tool adds two
//! numbers against a server, counts what was not as it is to be, and prints the same line. The binaries `beside-loop` and
//! `beside-rig` are an engine each; another one is another file beside them.

mod addition;
mod arguments;
mod measure;
// The times are to be those of the other program, and no second reading of the same clocks.
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
