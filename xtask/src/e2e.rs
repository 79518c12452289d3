//! `cargo xtask e2e`: the whole program against servers that nobody here wrote.

pub(crate) mod llama;
