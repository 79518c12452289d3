//! Ways in which a directive may do more that its own permissions and limits do not tell.

use rye_caps::risk::{Finding, Verdict};
use rye_caps::{Capability, Grant, Invocation, Kind, LayerName, Pattern, Primary};
use rye_resolve::{ItemKind, Space};

use super::declared_grant;
use crate::config::{APPROVAL_FILE, HOOKS_FILE};
use crate::explain::{Explained, ItemFacts, LayerFacts};

/// Returns a sentence for each wider right: a tool that does more or is another program, or a call that waits
/// for no decision any more. A finding that is missing and a bound that is gone are wider rights too.
pub(super) fn widenings(before: &Explained, after: &Explained) -> Vec<String> {
    let mut widenings = Vec::new();
    widenings.extend(after.invocations.iter().filter_map(|call| tool(call, before, after)));
    widenings.extend(dropped_questions(&before.asked, &after.asked));
    widenings.extend(before.findings.iter().filter_map(|finding| risk(finding, after)));
    widenings.extend(before.layers.iter().filter_map(|layer| bound(layer, after)));
    widenings.extend(files(before, after));
    widenings
}

/// A tool behind which stands more than before, or a program, request or server that may be another one.
fn tool(call: &Invocation, before: &Explained, after: &Explained) -> Option<String> {
    let known = before.invocations.iter().find(|known| known.item() == call.item());
    let known = known.map(Invocation::functions).unwrap_or_default();
    let new: Vec<&str> = call
        .functions()
        .iter()
        .filter(|function| !known.contains(function))
        .map(Capability::as_str)
        .collect();
    if !new.is_empty() {
        return Some(format!("`{}` stands for `{}`", call.item(), new.join("`, `")));
    }
    let is_open = call.functions().iter().any(|function| !is_builtin(function));
    let old = file(before, call)?;
    let new = file(after, call)?;
    (is_open && old.digest != new.digest).then(|| {
        format!("the file of `{}` says what is started or asked, and changed", call.item())
    })
}

/// Returns `true` if the function is one whose effect the manifest of a tool does not decide.
fn is_builtin(function: &Capability) -> bool {
    const OPEN: [&str; 3] =
        ["rye.execute.tool.rye.bash.", "rye.execute.tool.rye.web.", "rye.execute.tool.mcp."];
    OPEN.iter().all(|open| !function.as_str().starts_with(open))
}

/// The file of the tool, where it is offered.
fn file<'e>(explained: &'e Explained, call: &Invocation) -> Option<&'e ItemFacts> {
    let mut files = explained.tools.iter().filter_map(|tool| tool.item.as_ref());
    files.find(|item| {
        let capability = Capability::new(Primary::Execute, Kind::Tool, item.id.as_str());
        capability.is_ok_and(|capability| capability == *call.item())
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

/// A finding about what is still granted that weighs less than it did.
fn risk(finding: &Finding, after: &Explained) -> Option<String> {
    let pattern = &finding.pattern;
    let granted: Grant = std::iter::once(pattern.clone()).collect();
    let is_granted = declared_grant(after).covers(&granted).is_ok();
    let same = after.findings.iter().filter(|other| other.pattern == *pattern);
    let now = same.map(|other| weight(other.verdict)).max().unwrap_or_default();
    (is_granted && now < weight(finding.verdict))
        .then(|| format!("the risk of `{pattern}` is refused or warned of no more"))
}

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
