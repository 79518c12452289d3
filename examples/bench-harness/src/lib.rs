//! Measures the overhead of a thread.
//!
//! [`measure`] runs conversations whose only tool adds two numbers. Each is a complete thread, with a signed
//! and hash-chained transcript on disk, a reservation before each request, and a permit for each call.
//! [`Server`] answers them at once. The binaries `rye-bench-harness` and `rye-bench-server` run these two.

mod adding;
mod arguments;
mod bench;
mod process;
mod server;
mod world;

pub use self::arguments::{Api, Arguments, HELP};
pub use self::bench::{Figures, measure};
pub use self::server::Server;
