//! Binds text to the Ed25519 key that signed it.
