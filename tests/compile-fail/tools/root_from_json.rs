//! A model's arguments hold no root.

fn main() {
    let _: rye_tools::fs::Root = serde_json::from_str("{}").unwrap();
}
