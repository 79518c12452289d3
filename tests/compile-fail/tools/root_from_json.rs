//! A root cannot be read from a model's arguments.

fn main() {
    let _: rye_tools::fs::Root = serde_json::from_str("{}").unwrap();
}
