//! Gives a thread its tools: confined files first.
