//! Through the facade, too, a folder that was not opened is no root.

fn main() {
    let _ = rye::tools::fs::Root { dir: todo!() };
}
