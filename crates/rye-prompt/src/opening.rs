//! The messages that a thread begins with (SPEC 8.4, 8.5, D13).

use crate::context::{Context, Piece};

/// What is sent before the model has said anything.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Opening {
    /// The system message; `None` when there is nothing to say in it.
    pub system: Option<String>,
    /// The first user message.
    pub first_user_message: String,
}

/// Joins context and directive prompt.
///
/// `system_template` is a provider's template as filled by [`system`](crate::system()). The system
/// message is the template, then the hooks' layers, then the chain's, joined with a newline. The
/// first user message is hook context, the chain's `<before>`, the prompt, the chain's `<after>`
/// and hook context again: entries joined with a newline, and these sections with an empty line.
/// What is empty is left out, and leaves no gap.
pub fn opening(
    context: &Context,
    directive_prompt: &str,
    system_template: Option<&str>,
) -> Opening {
    let hooks = &context.hooks;
    let template = system_template.into_iter();
    let system = template.chain(strs(&hooks.system)).chain(texts(&context.system));
    let sections = [
        joined(strs(&hooks.before), "\n"),
        joined(texts(&context.before), "\n"),
        directive_prompt.to_owned(),
        joined(texts(&context.after), "\n"),
        joined(strs(&hooks.after), "\n"),
    ];
    Opening {
        system: Some(joined(system, "\n")).filter(|system| !system.is_empty()),
        first_user_message: joined(sections.iter().map(String::as_str), "\n\n"),
    }
}

fn joined<'a>(texts: impl Iterator<Item = &'a str>, separator: &str) -> String {
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join(separator)
}

fn texts(pieces: &[Piece]) -> impl Iterator<Item = &str> {
    pieces.iter().map(|piece| piece.text.as_str())
}

fn strs(texts: &[String]) -> impl Iterator<Item = &str> {
    texts.iter().map(String::as_str)
}
