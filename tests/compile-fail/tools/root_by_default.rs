//! There is no root that nobody chose.

fn main() {
    let _ = rye_tools::fs::Root::default();
}
