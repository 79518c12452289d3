//! Finds the one verified item that an id means here.
