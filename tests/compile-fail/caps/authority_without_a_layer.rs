//! There is no authority without somebody who grants something.

fn main() {
    let _ = rye_caps::Authority { layers: Vec::new().into() };
}
