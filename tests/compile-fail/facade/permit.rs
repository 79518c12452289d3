//! Through the facade, too, only an authority can give a permit, for one call.

use rye::caps::Permit;

fn twice(permit: &Permit) -> Permit {
    permit.clone()
}

fn main() {
    let _ = Permit::new("rye.execute.tool.x".parse().unwrap());
    let _: Permit = Default::default();
    let _ = twice;
}
