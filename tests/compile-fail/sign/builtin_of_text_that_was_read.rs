//! Text of the program lives as long as the program; text that was read does not.

use rye_sign::Verified;

fn vouch(read: &str) -> Verified<&str> {
    Verified::builtin(read)
}

fn main() {}
