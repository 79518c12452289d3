//! Through the facade, too, files are below a folder that was opened.

use rye::tools::fs::Root;

fn main() {
    let _: Root = Default::default();
    let root = Root::open(".".as_ref()).unwrap();
    let _ = root.dir();
}
