//! A text whose signature was only located does not count as verified.

use rye_sign::{CommentStyle, Unverified, Verified};

fn run(_: Verified<&str>) {}

fn main() {
    run(Unverified::locate("# text", CommentStyle::Hash).unwrap());
}
