//! The first messages of a thread (SPEC 8.4, 8.5, D13).

use crate::context::{Context, Piece};

/// The messages that are sent before the first reply of the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The system message; `None` if it would be empty.
    pub system: Option<String>,
    /// The first user message.
    pub first_user_message: String,
}

/// Joins context and directive prompt.
///
/// `system_template` is a provider's template as filled by [`system`](crate::system()). The system message is the
/// template, then the entries of the hooks, then those of the chain, joined with newlines. The first user message has
/// five sections: hook context, the chain's `<before>`, the prompt, the chain's `<after>`, and hook context again.
/// Entries in a section are joined with a newline, and sections with an empty line. Blank entries and sections are left
/// out.
pub fn opening(
    context: &Context,
    directive_prompt: &str,
    system_template: Option<&str>,
) -> Opening {
    let hooks = &context.hooks;
    let template = system_template.into_iter();
    let system = template.chain(strs(&hooks.system)).chain(texts(&context.system));
    let sections = [
        join_texts(strs(&hooks.before), "\n"),
        join_texts(texts(&context.before), "\n"),
        directive_prompt.to_owned(),
        join_texts(texts(&context.after), "\n"),
        join_texts(strs(&hooks.after), "\n"),
    ];
    Opening {
        system: Some(join_texts(system, "\n")).filter(|system| !system.is_empty()),
        first_user_message: join_texts(sections.iter().map(String::as_str), "\n\n"),
    }
}

fn join_texts<'a>(texts: impl Iterator<Item = &'a str>, separator: &str) -> String {
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(separator)
}

fn texts(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().map(|piece| piece.text.as_str())
}

fn strs(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}
