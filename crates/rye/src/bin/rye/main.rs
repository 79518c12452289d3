//! The `rye` program.
fn main() {}
