//! There is no authority without a layer that grants something.

fn main() {
    let _ = rye_caps::Authority { layers: Vec::new().into() };
}
