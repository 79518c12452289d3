//! Speaks each model vendor's wire format over one HTTP module.
