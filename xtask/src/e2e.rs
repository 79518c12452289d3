//! `cargo xtask e2e`: runs the whole program against third-party servers.

pub(crate) mod llama;
