//! The capability of a permit cannot be changed.

fn swapped(mut permit: rye_caps::Permit, capability: rye_caps::Capability) -> rye_caps::Permit {
    permit.capability = capability;
    permit
}

fn main() {}
