//! There is no permit without a decision of an authority.

fn main() {
    let _: rye_caps::Permit = rye_caps::Permit::default();
}
