//! Renders the exact text that a model is sent.
