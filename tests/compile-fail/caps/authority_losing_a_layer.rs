//! A layer cannot be removed from an authority.

fn widened(mut authority: rye_caps::Authority) -> rye_caps::Authority {
    authority.layers = Vec::new();
    authority
}

fn main() {}
