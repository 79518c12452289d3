//! There is no permit that was not asked for.

fn main() {
    let _: rye_caps::Permit = rye_caps::Permit::default();
}
