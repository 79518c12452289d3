//! A layer cannot be taken off again.

fn widened(mut authority: rye_caps::Authority) -> rye_caps::Authority {
    authority.layers = Vec::new();
    authority
}

fn main() {}
