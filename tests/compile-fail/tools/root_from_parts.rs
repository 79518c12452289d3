//! A folder that was not opened is not a root.

fn main() {
    let _ = rye_tools::fs::Root { dir: todo!() };
}
