//! A root has no default value.

fn main() {
    let _ = rye_tools::fs::Root::default();
}
