//! The positions of context in a prompt.

use crate::word::words;

words! {
    "position";
    /// The position of an entry of the context (SPEC 8.4, 8.5).
    #[derive(Default)]
    pub enum Position {
        /// In the system message.
        System,
        /// In the first user message, before the directive prompt.
        #[default]
        Before,
        /// In the first user message, after the directive prompt.
        After,
    }
}
