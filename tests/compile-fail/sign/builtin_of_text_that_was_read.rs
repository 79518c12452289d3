//! Only text with the lifetime of the program is built in, and text that was read does not have it.

use rye_sign::Verified;

fn vouch(read: &str) -> Verified<&str> {
    Verified::builtin(read)
}

fn main() {}
