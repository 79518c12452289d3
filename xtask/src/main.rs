//! Maintenance tasks that cargo cannot express.
fn main() {}
