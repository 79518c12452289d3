//! What a root holds open is not handed out: whoever had it could open anything below without being asked.

fn main() {
    let root = rye_tools::fs::Root::open(".".as_ref()).unwrap();
    let _ = &root.dir;
    let _ = root.dir();
}
