//! Calls of steps and hooks that the permissions do not cover (SPEC 9.7).

use std::ops::Range;

use rye_caps::{Grant, Pattern};
use rye_parse::{Action, Directive, Hook, Spanned};
use rye_resolve::ItemId;

use super::catalog::{Catalog, Chain};
use super::judged::Judged;
use super::{Finding, references};
use crate::needs::{
    NeedSource, Needs, StepCall, element, needs_of_hook_action, needs_of_step_call,
};

/// The code of the finding about a call that the permissions do not cover.
pub(super) const MISSING_PERMISSION: &str = "missing-permission";

/// Calls of steps and hooks that the permissions do not cover at all. Without `<permissions>` in the chain nothing is allowed.
pub(super) fn findings(catalog: &Catalog<'_>, judged: &Judged<'_>) -> Vec<Finding> {
    let Judged { leaf, chain, calls, granted, .. } = judged;
    let declaring = chain.declaring().next();
    let is_unknown = match leaf.permissions {
        Some(_) => false,
        // A hook that cannot be read may say what it extends.
        None => catalog.hooks.is_err() || (declaring.is_none() && chain.broken.is_some()),
    };
    if is_unknown {
        return Vec::new();
    }
    let judge = Judge { catalog, chain, leaf, declaring: declaring.map(|(id, _)| id), granted };
    let mut findings = judge.steps(calls);
    findings.extend(judge.own_hooks(!findings.is_empty()));
    // A directive that only others extend is no thread.
    if declaring.is_some() || !findings.is_empty() {
        findings.extend(judge.inherited_hooks());
    }
    findings
}

/// The permissions of a directive, which calls are held against.
struct Judge<'c> {
    catalog: &'c Catalog<'c>,
    chain: &'c Chain<'c>,
    leaf: &'c Directive,
    /// The link that declares the permissions.
    declaring: Option<&'c ItemId>,
    granted: &'c Grant,
}

impl Judge<'_> {
    fn steps(&self, calls: &[StepCall<'_>]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for call in calls {
            let needs = needs_of_step_call(self.leaf, call, self.catalog);
            let by = NeedSource::Step(call.step.clone()).to_string();
            let lacking = self.lacking(&by, &call.placed, &needs).into_iter();
            findings.extend(lacking.map(|lacking| lacking.error(call.placed.span.clone())));
        }
        findings
    }

    /// The directive's own hooks. Without permissions and without steps that need some, it is a base: each directive that
    /// extends it is judged with its own permissions (SPEC D5, D10).
    fn own_hooks(&self, is_thread: bool) -> Vec<Finding> {
        let is_base = self.declaring.is_none() && !is_thread;
        let mut findings = Vec::new();
        for hook in self.leaf.hooks.iter().map(|hook| &hook.value) {
            let by = format!("hook `{}`", hook.id.value);
            for action in &hook.actions {
                let lacking = self.lacking(&by, action, &self.hook_needs(hook, &action.value));
                let place = action.span.clone();
                findings.extend(lacking.into_iter().map(|lacking| match is_base {
                    true => lacking.note(place.clone()),
                    false => lacking.error(place.clone()),
                }));
            }
        }
        findings
    }

    fn hook_needs(&self, hook: &Hook, action: &Action) -> Needs {
        needs_of_hook_action(self.leaf, hook, action, self.catalog)
    }

    /// Hooks of other files act in the thread with its permissions. A run warns of an action that they lack, and continues.
    fn inherited_hooks(&self) -> Vec<Finding> {
        let place = &self.chain.extends_place();
        let of_chain = self.chain.links.iter().skip(1).flat_map(|(id, link)| {
            link.hooks.iter().map(move |hook| (&hook.value, format!("directive `{id}`")))
        });
        let of_files = self.catalog.hooks.iter().flatten();
        let of_files =
            of_files.map(|placed| (&placed.hook, format!("the hooks file `{}`", placed.location)));
        let mut findings = Vec::new();
        for (hook, file) in of_chain.chain(of_files) {
            let by = format!("hook `{}` of {file}", hook.id.value);
            for action in &hook.actions {
                let lacking = self.lacking(&by, action, &self.hook_needs(hook, &action.value));
                findings.extend(lacking.into_iter().map(|lacking| {
                    // A directive of the chain is one cause for its heirs as well.
                    let shared = Some(lacking.cause.clone());
                    Finding { shared, ..lacking.warning(place.clone()) }
                }));
            }
        }
        findings
    }

    /// Returns the needs that no permission meets: first those of the call, then those of each directive that it
    /// starts or executes. An item that is not there needs no permission.
    fn lacking(&self, by: &str, action: &Spanned<Action>, needs: &Needs) -> Vec<Lacking> {
        let is_granted =
            |need: &Pattern| self.granted.patterns().iter().any(|pattern| pattern.meets(need));
        let mut lacks: Vec<(String, bool, Vec<Pattern>)> = Vec::new();
        for need in needs.needs.iter().filter(|need| !is_granted(&need.pattern)) {
            let source = need.sources.first().map_or_else(String::new, |source| match source {
                NeedSource::Child(_) | NeedSource::Declared(_) | NeedSource::Executed(_) => {
                    format!("{source} of {by}")
                }
                _ => by.to_owned(),
            });
            let is_of_a_call = need.is_of_a_call();
            match lacks.iter_mut().find(|it| (&it.0, it.1) == (&source, is_of_a_call)) {
                Some((.., patterns)) => patterns.push(need.pattern.clone()),
                None => lacks.push((source, is_of_a_call, vec![need.pattern.clone()])),
            }
        }
        let is_told = || references::action(self.catalog, action, by).is_some();
        if lacks.is_empty() || is_told() {
            return Vec::new();
        }
        lacks.sort_by_key(|(source, ..)| source != by);
        let explain = |(source, is_of_a_call, patterns): &(String, bool, Vec<Pattern>)| {
            self.explain(source, *is_of_a_call, patterns)
        };
        lacks.iter().map(explain).collect()
    }

    fn explain(&self, by: &str, is_of_a_call: bool, lacks: &[Pattern]) -> Lacking {
        let patterns: Vec<&str> = lacks.iter().map(Pattern::as_str).collect();
        let elements = lacks.iter().map(element).collect::<Vec<_>>().join("");
        let is_own = |id: &ItemId| self.chain.links.first().is_some_and(|(leaf, _)| *leaf == id);
        let (why, help) = match self.declaring {
            None => (
                "and no `<permissions>` are declared, so that nothing is allowed".to_owned(),
                format!("add `<permissions>{elements}</permissions>` to `<metadata>`"),
            ),
            Some(id) if is_own(id) => (
                "which `<permissions>` does not grant".to_owned(),
                format!("add `{elements}` to `<permissions>`"),
            ),
            Some(id) => (
                format!("which `<permissions>` of `{id}`, which it extends, does not grant"),
                format!("declare `<permissions>` with `{elements}` here, or add it to `{id}`"),
            ),
        };
        let patterns = patterns.join("`, `");
        if is_of_a_call {
            let cause = format!("{by} needs `{patterns}`");
            return Lacking { message: format!("{cause}, {why}"), cause, help, is_lessened: false };
        }
        let cause = format!("{by} declares `{patterns}`");
        let message = format!("{cause}, {why}: it starts without that");
        let help = format!("leave it out there, or {help}");
        Lacking { message, cause, help, is_lessened: true }
    }
}

/// A call that would be denied, in words.
struct Lacking {
    message: String,
    /// The part of the message that does not depend on the directive.
    cause: String,
    help: String,
    /// `true` for what a child declares and starts without (SPEC D6). A model of it may be denied a call.
    is_lessened: bool,
}

/// The code of the finding about a child that starts without something that it declares.
const LESSENED_CHILD: &str = "lessened-child";

impl Lacking {
    fn error(self, place: Range<usize>) -> Finding {
        if self.is_lessened {
            return Finding::warning(LESSENED_CHILD, &self.message, place)
                .with_label("starts a child with less")
                .with_help(&self.help);
        }
        let finding = Finding::error(MISSING_PERMISSION, &self.message, place);
        finding.with_label("would be denied").with_help(&self.help)
    }

    fn warning(self, place: Range<usize>) -> Finding {
        let finding = Finding::warning(MISSING_PERMISSION, &self.message, place);
        finding.with_label("an action would be denied").with_help(&self.help)
    }

    /// A base grants nothing by itself, and is not judged for the directives that extend it.
    fn note(self, place: Range<usize>) -> Finding {
        let message =
            format!("{}, which each directive that extends this one has to grant", self.cause);
        let finding = Finding::remark("inherited-need", &message, place);
        finding.with_label("needs a permission").with_help(
            "grant it in the directives that extend this one; run by itself, it is allowed nothing",
        )
    }
}
