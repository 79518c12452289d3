//! A folder that was not opened is no root.

fn main() {
    let _ = rye_tools::fs::Root { dir: todo!() };
}
