//! Through the facade, too, files can only be used below an opened folder.

use rye::tools::fs::Root;

fn main() {
    let _: Root = Default::default();
    let root = Root::open(".".as_ref()).unwrap();
    let _ = root.dir();
}
