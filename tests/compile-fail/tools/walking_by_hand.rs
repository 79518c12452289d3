//! From a path to a file there is one way, which asks what is closed.

fn main() {
    let _ = rye_tools::fs::walk::walk;
    let _ = rye_tools::fs::root::open_file;
}
