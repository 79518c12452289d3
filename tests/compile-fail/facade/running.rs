//! The library gives no run with unverified items, and no palette that can be called without a permit.

use rye::thread::{Palette, ToolCall};

fn resolve(palette: &Palette, call: &ToolCall) {
    let _ = palette.resolve(call);
}

fn main() {
    let _ = rye_session::session::prepare::prepare;
    let _ = resolve;
}
