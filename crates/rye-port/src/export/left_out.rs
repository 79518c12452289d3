//! The parts of a directive that an exported file does not have.

use rye_parse::Directive;

use super::calling::Access;
use crate::report::LeftOut;

/// Returns the parts of a directive that do not count where an agent follows the exported `file`, each with the reason. `chain` is the
/// directive with those that it extends.
#[must_use]
pub fn left_out(file: &str, chain: &[&Directive], access: Access<'_>) -> Vec<LeftOut> {
    let has = |part: fn(&Directive) -> bool| chain.iter().any(|link| part(link));
    let is_text = matches!(access, Access::Text(_));
    let has_live = match access {
        Access::Text(text) => text.contains("!`") || text.contains("$ARGUMENTS"),
        _ => false,
    };
    let parts = [
        (
            "protection of the text",
            has_live,
            "some agents run what stands in !`…` and fill `$ARGUMENTS` when they load a skill; take both out of the directive",
        ),
        (
            "signature",
            is_text,
            "the text is a copy that no signature covers; later changes of the directive do not reach it",
        ),
        (
            "tools",
            is_text && has(|link| link.permissions.is_some()),
            "calls in the text name tools of Rye; the agent uses tools of its own that do the same",
        ),
        (
            "permissions",
            has(|link| link.permissions.is_some()),
            "the agent keeps the permissions that it has; they bound a thread that `rye run` or `rye_execute` with `thread` starts",
        ),
        (
            "limits",
            has(|link| link.limits != rye_parse::Limits::default()),
            "they bound a thread; the agent's own conversation has the limits of its program",
        ),
        (
            "hooks",
            has(|link| !link.hooks.is_empty()),
            "they act in a thread; the agent's program knows none of them",
        ),
        ("model", has(|link| link.model.is_some()), "the agent has its own model"),
    ];
    let missing = parts.into_iter().filter(|(_, is_there, _)| *is_there);
    missing.map(|(field, _, reason)| LeftOut::new(file, field, reason)).collect()
}
