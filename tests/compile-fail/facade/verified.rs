//! Through the facade, too, only verification makes a `Verified`.

use rye::sign::{Provenance, Verified};

fn main() {
    let _ = Verified::new("x", Provenance::Builtin);
    let _ = Verified::from("x");
    let _: Verified<&str> = Default::default();
    let text = String::from("read at run time");
    let _ = Verified::builtin(text.as_str());
}
