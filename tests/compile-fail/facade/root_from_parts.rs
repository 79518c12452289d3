//! Through the facade, too, a folder that was not opened is not a root.

fn main() {
    let _ = rye::tools::fs::Root { dir: todo!() };
}
