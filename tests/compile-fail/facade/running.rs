//! The facade hands out no run whose items it did not verify, and no palette to call without asking.

use rye::thread::{Palette, ToolCall};

fn resolve(palette: &Palette, call: &ToolCall) {
    let _ = palette.resolve(call);
}

fn main() {
    let _ = rye::session::prepare::prepare;
    let _ = resolve;
}
