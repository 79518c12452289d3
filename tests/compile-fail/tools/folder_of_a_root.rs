//! The open folder of a root is private, because with it any file below could be opened without a permit.

fn main() {
    let root = rye_tools::fs::Root::open(".".as_ref()).unwrap();
    let _ = &root.dir;
    let _ = root.dir();
}
