//! Measures what a thread costs beside its model.
//!
//! [`measure`] runs conversations whose only tool adds two numbers, each in a thread of its own with everything that a
//! thread has: a signed and hash-chained transcript on disk, money reserved before each request, a permit before each call.
//! [`Server`] answers them without thinking. The binaries `rye-bench-harness` and `rye-bench-server` are these two.

mod adding;
mod arguments;
mod bench;
mod process;
mod server;
mod world;

pub use self::arguments::{Api, Arguments, HELP};
pub use self::bench::{Figures, measure};
pub use self::server::Server;
