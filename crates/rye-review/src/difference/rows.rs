//! The facts of a directive as named rows, which two sides can be compared by.

use std::collections::BTreeMap;

use crate::explain::{Explained, HookFacts, ItemFacts, PortFacts, Signer};

/// One sort of facts, by name.
type Rows = fn(&Explained) -> BTreeMap<String, String>;

/// The sections in the order of the report.
pub(super) const SECTIONS: &[(&str, Rows)] = &[
    ("items", items),
    ("signers", signers),
    ("context", context),
    ("tools", tools),
    ("limits", limits),
    ("model", model),
    ("inputs", |explained| ports(&explained.inputs)),
    ("outputs", |explained| ports(&explained.outputs)),
    ("hooks", hooks),
    ("configuration", configs),
];

fn items(explained: &Explained) -> BTreeMap<String, String> {
    let row = |item: &ItemFacts| {
        let content = format!("{}, sha256 {}", item.location.space, item.digest.shortened());
        (item.name(), content)
    };
    explained.items().into_iter().map(row).collect()
}

fn signers(explained: &Explained) -> BTreeMap<String, String> {
    let row = |item: &ItemFacts| (item.name(), signer(&item.signer));
    explained.items().into_iter().map(row).collect()
}

fn signer(signer: &Signer) -> String {
    let (Signer::Key { ceilings, .. } | Signer::Draft { ceilings, .. }) = signer else {
        return signer.to_string();
    };
    let limits = ceilings.iter().map(|patterns| match patterns.as_slice() {
        [] => "may grant nothing".to_owned(),
        patterns => format!("may grant {}", patterns.join(" ")),
    });
    std::iter::once(signer.to_string()).chain(limits).collect::<Vec<_>>().join(", ")
}

/// Returns the items that a model reads, each with the directive that asked for it. Other rows show a change
/// of their text.
fn context(explained: &Explained) -> BTreeMap<String, String> {
    let entries = explained.context.iter().filter_map(|entry| {
        let item = entry.item.as_ref()?;
        Some((format!("{} {}", entry.position, item.id), format!("asked by {}", entry.asked_by)))
    });
    let suppressed = explained.suppressed.iter();
    let suppressed =
        suppressed.map(|row| (format!("suppress {}", row.id), format!("by {}", row.declared_by)));
    let skipped = explained.skipped.iter().map(|row| {
        let asked = format!("not found, asked by {}", row.asked_by);
        (format!("{} {}", row.position, row.id), asked)
    });
    entries.chain(suppressed).chain(skipped).collect()
}

fn tools(explained: &Explained) -> BTreeMap<String, String> {
    let tools = explained.tools.iter();
    tools
        .map(|tool| {
            let id = tool.item.as_ref().map(|item| format!("{}, ", item.id)).unwrap_or_default();
            (tool.name.clone(), format!("{id}shown as sha256 {}", tool.spec.shortened()))
        })
        .collect()
}

fn limits(explained: &Explained) -> BTreeMap<String, String> {
    let limits = explained.limits.iter();
    limits.map(|limit| (limit.name.to_owned(), limit.value.clone())).collect()
}

fn model(explained: &Explained) -> BTreeMap<String, String> {
    let (provider, model) = match &explained.model {
        Ok(model) => (model.provider.clone(), model.model.clone().unwrap_or_default()),
        Err(reason) => (format!("none: {reason}"), String::new()),
    };
    BTreeMap::from([("provider".to_owned(), provider), ("model".to_owned(), model)])
}

pub(crate) fn ports(ports: &[PortFacts]) -> BTreeMap<String, String> {
    let row = |port: &PortFacts| {
        let mut facts = vec![port.value_type.clone()];
        facts.push(if port.required { "required" } else { "optional" }.to_owned());
        facts.extend(port.default.as_ref().map(|default| format!("default `{default}`")));
        if !port.choices.is_empty() {
            facts.push(format!("one of `{}`", port.choices.join("`, `")));
        }
        facts.push(format!("`{}`", port.description.trim()));
        (
            port.name.clone(),
            facts.into_iter().filter(|fact| !fact.is_empty()).collect::<Vec<_>>().join(", "),
        )
    };
    ports.iter().map(row).collect()
}

fn hooks(explained: &Explained) -> BTreeMap<String, String> {
    let row = |hook: &HookFacts| {
        let content = format!("{}, sha256 {}", hook.event, hook.digest.shortened());
        (format!("`{}` of {}", hook.id, hook.declared_by), content)
    };
    explained.hooks.iter().map(row).collect()
}

fn configs(explained: &Explained) -> BTreeMap<String, String> {
    let row = |item: &ItemFacts| {
        let content = format!("sha256 {}, {}", item.digest.shortened(), signer(&item.signer));
        (format!("{} of the {} space", item.name(), item.location.space), content)
    };
    explained.configs.iter().map(row).collect()
}
