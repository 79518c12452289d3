//! Ways in which a directive may do more that its own permissions and limits do not tell.

use rye_caps::risk::{Finding, Verdict};
use rye_caps::{Capability, Grant, Invocation, Kind, LayerName, Pattern, Primary};
use rye_project::{APPROVAL_FILE, HOOKS_FILE};
use rye_resolve::Space;
use rye_types::ItemKind;

use crate::explain::{Explained, HookFacts, ItemFacts, LayerFacts, ToolFacts};

/// Returns a sentence for each wider right: a tool that does more or is another program, or a call that waits
/// for no decision any more. A finding that is missing and a bound that is gone are wider rights too.
pub(super) fn widenings(before: &Explained, after: &Explained) -> Vec<String> {
    let mut widenings = Vec::new();
    widenings.extend(after.invocations.iter().filter_map(|call| tool(call, before, after)));
    widenings.extend(dropped_questions(&before.asked, &after.asked));
    widenings.extend(after.findings.iter().filter_map(|finding| risk(finding, before)));
    widenings.extend(lost_restraints(before, after));
    widenings.extend(before.layers.iter().filter_map(|layer| bound(layer, after)));
    widenings.extend(files(before, after));
    widenings
}

/// A tool that was not offered or stood for less, or whose file may say more.
fn tool(call: &Invocation, before: &Explained, after: &Explained) -> Option<String> {
    let covered = before.invocations.iter().find(|known| known.item() == call.item());
    let known = covered.map(Invocation::functions).unwrap_or_default();
    let new: Vec<&str> = call
        .functions()
        .iter()
        .filter(|function| !known.contains(function))
        .map(Capability::as_str)
        .collect();
    if !new.is_empty() {
        return Some(format!("`{}` stands for `{}`", call.item(), new.join("`, `")));
    }
    let new = find_tool(after, call)?;
    let Some(old) = find_tool(before, call) else {
        // A tool that the permissions did not cover is reported as a capability that is gained.
        covered?;
        return Some(format!("`{}` is offered, which it was not", call.item()));
    };
    if old.input_schema != new.input_schema {
        return Some(format!("the input schema of `{}` changed", call.item()));
    }
    if old.accepted != new.accepted {
        return Some(format!("what is accepted of the server of `{}` changed", call.item()));
    }
    let is_open = call.functions().iter().any(|function| !is_builtin(function));
    let digest = |tool: &ToolFacts| tool.item.as_ref().map(|item| item.digest);
    (is_open && digest(old) != digest(new)).then(|| {
        format!("the file of `{}` says what is started or asked, and changed", call.item())
    })
}

/// Returns `true` if the effect of the function follows from its arguments alone, and not from the rest of a manifest.
fn is_builtin(function: &Capability) -> bool {
    const OPEN: [&str; 3] =
        ["rye.execute.tool.rye.bash.", "rye.execute.tool.rye.web.", "rye.execute.tool.mcp."];
    OPEN.iter().all(|open| !function.as_str().starts_with(open))
}

/// The tool as a model is offered it, if it has a file.
fn find_tool<'e>(explained: &'e Explained, call: &Invocation) -> Option<&'e ToolFacts> {
    explained.tools.iter().find(|tool| {
        tool.item.as_ref().is_some_and(|item| {
            let capability = Capability::new(Primary::Execute, Kind::Tool, item.id.as_str());
            capability.is_ok_and(|capability| capability == *call.item())
        })
    })
}

fn dropped_questions(before: &Grant, after: &Grant) -> Vec<String> {
    let told = |pattern: &Pattern| {
        let asked: Grant = std::iter::once(pattern.clone()).collect();
        let is_asked = after.covers(&asked).is_ok();
        (!is_asked).then(|| format!("calls of `{pattern}` wait for no decision any more"))
    };
    before.patterns().iter().filter_map(told).collect()
}

/// A pattern that was reported, or one that covers or is covered by it, and that is reported as lighter or not at all.
fn risk(finding: &Finding, before: &Explained) -> Option<String> {
    let pattern = &finding.pattern;
    let is_about = |old: &&Finding| {
        let overlaps = old.pattern.covers(pattern).is_ok() || pattern.covers(&old.pattern).is_ok();
        // What is granted now may be the harmless part of what was granted.
        old.pattern == *pattern || overlaps && finding.risk >= old.risk
    };
    let heaviest = before.findings.iter().filter(is_about).map(|old| weight(old.verdict)).max();
    (heaviest.unwrap_or_default() > weight(finding.verdict))
        .then(|| format!("the risk of `{pattern}` is refused or warned of no more"))
}

/// Hooks that ask, fail or end a thread, and that are gone, differ, or act after another decision.
fn lost_restraints(before: &Explained, after: &Explained) -> Vec<String> {
    let before = deciding(before);
    let after = deciding(after);
    let lost = before.iter().enumerate().filter(|(place, hook)| {
        let restrains = hook.effect.is_some_and(|effect| RESTRAINTS.contains(&effect));
        restrains && !is_kept(hook, &before[..*place], &after)
    });
    let told = |(_, hook): (usize, &&HookFacts)| {
        format!("the hook `{}`, which may stop the thread, is gone, differs or acts later", hook.id)
    };
    lost.map(told).collect()
}

/// The hooks that decide about the thread, in turn.
fn deciding(explained: &Explained) -> Vec<&HookFacts> {
    explained.hooks.iter().filter(|hook| hook.effect.is_some()).collect()
}

/// Returns `true` if the hook is there, and no hook decides before it that did not.
fn is_kept(hook: &HookFacts, earlier: &[&HookFacts], after: &[&HookFacts]) -> bool {
    let Some(place) = after.iter().position(|kept| is_same(kept, hook)) else { return false };
    let mut now = after.iter().take(place).filter(|other| other.event == hook.event);
    now.all(|other| earlier.iter().any(|known| is_same(known, other)))
}

fn is_same(one: &HookFacts, other: &HookFacts) -> bool {
    (&one.id, &one.digest) == (&other.id, &other.digest)
}

/// The effects of hooks that keep a thread from going on.
const RESTRAINTS: [&str; 3] = ["abort", "escalate", "fail"];

fn weight(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Warn => 1,
        Verdict::Block => 2,
    }
}

/// A layer that is gone or allows more, and no other one allows as little.
fn bound(layer: &LayerFacts, after: &Explained) -> Option<String> {
    if matches!(layer.name, LayerName::Directive(_)) {
        // Told as permissions that are gained.
        return None;
    }
    let is_kept = after.layers.iter().any(|other| layer.grant.covers(&other.grant).is_ok());
    (!is_kept).then(|| format!("{} bounds less than it did", layer.name))
}

/// Files of the project that decide on more than is compared here by what they say.
fn files(before: &Explained, after: &Explained) -> Vec<String> {
    const COMPARED: [&str; 4] =
        [APPROVAL_FILE, HOOKS_FILE, "agent/capability_risk", "agent/resilience"];
    let changed = |old: &&ItemFacts, new: &[&ItemFacts]| {
        let same = new.iter().find(|item| (item.kind, &item.id) == (old.kind, &old.id));
        same.is_none_or(|item| item.digest != old.digest)
    };
    let old = own_files(before);
    let new = own_files(after);
    let of_old = old.iter().filter(|item| changed(item, &new));
    // A file that is new is one that nothing was held against, and only the sandbox and servers say more than a bound.
    let of_new = new.iter().filter(|item| !old.iter().any(|other| other.id == item.id));
    let told = of_old.chain(of_new.filter(|item| item.id.as_str() != "trust"));
    told.filter(|item| !COMPARED.contains(&item.id.as_str()))
        .map(|item| {
            format!("{} of the project changed, which decides on what tools reach", item.name())
        })
        .collect()
}

fn own_files(explained: &Explained) -> Vec<&ItemFacts> {
    let provider = explained.model.iter().filter_map(|model| model.item.as_ref());
    let configs = explained.configs.iter().filter(|item| item.kind == ItemKind::Config);
    configs.chain(provider).filter(|item| item.location.space == Space::Project).collect()
}
