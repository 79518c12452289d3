//! The types of inputs and outputs.

use crate::word::words;

words! {
    "type";
    /// The type of an input or an output, as JSON schemas name it.
    #[derive(Default)]
    pub enum ValueType {
        /// Text.
        #[default]
        String,
        /// A number without a fraction. `3.0` counts, as in JSON schemas.
        Integer,
        /// Any number.
        Number,
        /// `true` or `false`.
        Boolean,
        /// A list.
        Array,
        /// A mapping.
        Object,
    }
}
