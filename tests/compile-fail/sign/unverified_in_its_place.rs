//! A text whose signature was found is not one whose signature was verified.

use rye_sign::{CommentStyle, Unverified, Verified};

fn run(_: Verified<&str>) {}

fn main() {
    run(Unverified::locate("# text", CommentStyle::Hash).unwrap());
}
