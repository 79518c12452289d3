//! Files can be opened by path only through the function that checks closed paths.

fn main() {
    let _ = rye_tools::fs::walk::walk;
    let _ = rye_tools::fs::root::open_file;
}
