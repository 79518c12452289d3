//! A path is not a root, whatever it converts to.

use rye_tools::fs::Root;

fn main() {
    let _: Root = "/".parse().unwrap();
    let _: Root = std::path::Path::new("/").into();
}
