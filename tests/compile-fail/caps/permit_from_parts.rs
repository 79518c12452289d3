//! A permit cannot be made from its parts.

fn main() {
    let capability: rye_caps::Capability = "rye.execute.tool.rye.bash.bash".parse().unwrap();
    let authority = rye_caps::Authority::denied();
    let _ = rye_caps::Permit { capability, authority };
}
