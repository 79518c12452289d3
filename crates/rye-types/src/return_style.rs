//! The forms in which a directive asks for its outputs.

use crate::word::words;

words! {
    "return style";
    /// The form in which a directive asks the model for its outputs (SPEC D1).
    #[derive(Default)]
    pub enum ReturnStyle {
        /// A sentence and the `rye_execute` call of `directive_return`.
        #[default]
        Call,
        /// A `<returns>` block of the declared outputs.
        Block,
        /// One sentence with the palette's name of the `directive_return` tool (SPEC 5.4).
        Tool,
    }
}
