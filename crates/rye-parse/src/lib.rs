//! Turns a Rye directive, knowledge entry or tool manifest into a value, or into every problem in it.
