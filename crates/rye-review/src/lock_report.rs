//! Locks made of explanations and compared with them: what changed is named, and nothing that changed only because of it.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use rye_caps::LayerName;
use rye_parse::LineComparer;
use rye_project::{
    HOOKS_FILE, LimitSource, Lock, LockError, LockedDirective, LockedItem, LockedTool, PROVIDERS,
    TextChange,
};
use rye_resolve::{ItemId, Space};
use serde_json::{Value, json};

use crate::difference::{self, Change, rows};
use crate::explain::{Explained, ItemFacts, LimitFacts, PortFacts, ToolFacts};
use crate::one_line::one_line;

impl Explained {
    /// Makes the record of the directive for a lock.
    ///
    /// # Errors
    ///
    /// The method fails with [`LockError::NoModel`] if no model can answer, because the provider decides on a
    /// part of the texts.
    pub fn to_locked(&self) -> Result<LockedDirective, LockError> {
        match &self.model {
            Ok(_) => Ok(record(self)),
            Err(reason) => Err(LockError::NoModel { id: self.id.clone(), reason: reason.clone() }),
        }
    }

    /// Compares the directive with its record in the lock; `None` for a directive without a record.
    #[must_use]
    pub fn compare_with(&self, lock: &Lock) -> Option<LockReport> {
        let locked = lock.directive(&self.id)?;
        Some(report(locked, &record(self), self))
    }
}

fn record(explained: &Explained) -> LockedDirective {
    let mut items: Vec<LockedItem> = lockable(explained).map(locked_item).collect();
    items.sort_unstable();
    LockedDirective {
        items,
        tools: explained.tools.iter().map(locked_tool).collect(),
        digest: explained.digest,
        system: explained.system.clone(),
        first_user_message: explained.first_user_message.clone(),
        facts: stated_facts(explained),
    }
}

/// The statements of the chain's directives. Those of configuration differ from machine to machine.
fn stated_facts(explained: &Explained) -> BTreeMap<String, String> {
    let named = |sort: &str, name: &str| format!("{sort} `{name}`");
    let is_stated = |limit: &&LimitFacts| matches!(limit.set_by, LimitSource::Directive(_));
    let limits = explained.limits.iter().filter(is_stated);
    let limits = limits.map(|limit| (named("limit", limit.name), limit.value.clone()));
    let declared = explained.layers.iter();
    let declared = declared.filter(|layer| matches!(layer.name, LayerName::Directive(_)));
    let permissions = declared.flat_map(|layer| layer.grant.patterns());
    let permissions =
        permissions.map(|pattern| (named("permission", pattern.as_str()), "granted".to_owned()));
    let ports = |sort: &'static str, rows: &[PortFacts]| {
        rows::ports(rows).into_iter().map(move |(name, text)| (format!("{sort} `{name}`"), text))
    };
    limits
        .chain(permissions)
        .chain(ports("input", &explained.inputs))
        .chain(ports("output", &explained.outputs))
        .collect()
}

/// Every file that counts wherever the project is: the operator's own configuration is left out.
fn lockable(explained: &Explained) -> impl Iterator<Item = &ItemFacts> {
    let is_everywhere =
        |item: &&ItemFacts| matches!(item.location.space, Space::Project | Space::Builtin);
    explained.items().into_iter().chain(explained.configs.iter().filter(is_everywhere))
}

fn locked_item(item: &ItemFacts) -> LockedItem {
    LockedItem {
        kind: item.kind.to_string(),
        id: item.id.to_string(),
        space: item.location.space.to_string(),
        digest: item.digest,
        signer: item.signer.as_str().to_owned(),
    }
}

fn locked_tool(tool: &ToolFacts) -> LockedTool {
    let id = tool.item.as_ref().map(|item| item.id.to_string());
    LockedTool { name: tool.name.clone(), id, spec: tool.spec }
}

/// Returns the key that an item has in two locks. The key of an item is its id. Configuration has a file
/// in every space, so that its key has the space too.
fn key(item: &LockedItem) -> (&str, &str, &str) {
    let space = if item.kind == CONFIG { item.space.as_str() } else { "" };
    (&item.kind, &item.id, space)
}

/// Returns the name in messages.
fn name(item: &LockedItem) -> String {
    let LockedItem { kind, id, space, .. } = item;
    if kind == CONFIG {
        return format!("{kind} `{id}` of the {space} space");
    }
    format!("{kind} `{id}`")
}

/// As `ItemKind::Config` is written.
const CONFIG: &str = "config";

/// The changes of one directive since its record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockReport {
    /// The directive.
    pub directive: ItemId,
    /// The changes, each once. A change that follows from another one is not listed.
    pub findings: Vec<LockFinding>,
    /// The changes of the texts that a model reads first.
    pub prompt: Vec<TextChange>,
}

/// One thing that is not as it was locked.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockFinding {
    /// The subject of the change, such as ``knowledge `notes/style` ``.
    pub subject: String,
    /// The change itself, as a fragment.
    pub change: String,
    /// The file on disk that it is about, when there is one.
    pub path: Option<PathBuf>,
}

impl LockReport {
    /// Returns `true` if nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The same report as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let finding = |finding: &LockFinding| {
            let path = finding.path.as_ref().map(|path| path.to_string_lossy());
            json!({ "subject": finding.subject, "change": finding.change, "path": path })
        };
        let text = |text: &TextChange| json!({ "name": text.name, "diff": text.diff });
        json!({
            "directive": self.directive.as_str(),
            "ok": self.is_empty(),
            "findings": self.findings.iter().map(finding).collect::<Value>(),
            "prompt": self.prompt.iter().map(text).collect::<Value>(),
        })
    }
}

/// The findings, and below them the diffs; nothing when nothing changed.
impl fmt::Display for LockReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return Ok(());
        }
        writeln!(f, "directive {}", self.directive)?;
        for finding in &self.findings {
            writeln!(f, "  {} {}", one_line(&finding.subject), one_line(&finding.change))?;
        }
        self.prompt.iter().try_for_each(|text| write!(f, "{}", text.diff))
    }
}

fn report(locked: &LockedDirective, now: &LockedDirective, explained: &Explained) -> LockReport {
    let items = pairs(&locked.items, &now.items, key);
    let causes = Causes::of(&items, explained.id.as_str());
    let mut findings: Vec<LockFinding> =
        items.iter().filter_map(|pair| item(pair, explained)).collect();
    // A lock of an earlier version has no facts.
    if !locked.facts.is_empty() {
        let facts = difference::changes(&locked.facts, &now.facts);
        findings.extend(facts.into_iter().map(LockFinding::of_fact));
    }
    let tools = pairs(&locked.tools, &now.tools, |tool| &tool.name);
    findings.extend(tools.iter().filter_map(|pair| tool(pair, &causes)));
    let prompt = prompt(locked, now);
    if !prompt.is_empty() && !causes.reach_the_prompt {
        let change = "changed although no item did: this version of Rye renders it differently";
        findings.push(LockFinding::of("the prompt", change));
    }
    LockReport { directive: explained.id.clone(), findings, prompt }
}

/// One thing as it was and as it is.
type Pair<'a, T> = (Option<&'a T>, Option<&'a T>);

/// Pairs the rows of the two sides by their keys, in the order of the keys.
fn pairs<'a, T, K: Ord>(
    before: &'a [T],
    after: &'a [T],
    key: impl Fn(&'a T) -> K,
) -> Vec<Pair<'a, T>> {
    let mut rows: BTreeMap<K, Pair<'a, T>> = BTreeMap::new();
    for thing in before {
        rows.entry(key(thing)).or_default().0 = Some(thing);
    }
    for thing in after {
        rows.entry(key(thing)).or_default().1 = Some(thing);
    }
    rows.into_values().collect()
}

/// Changes of items that explain other changes.
struct Causes<'a> {
    /// The items that came, went or have another content.
    items: Vec<&'a LockedItem>,
    leaf_changed: bool,
    reach_the_prompt: bool,
}

impl<'a> Causes<'a> {
    fn of(pairs: &[Pair<'a, LockedItem>], leaf: &str) -> Self {
        let changed = |pair: &Pair<'a, LockedItem>| match *pair {
            (Some(before), Some(after)) => (before.digest != after.digest).then_some(after),
            (before, after) => before.or(after),
        };
        let items: Vec<&LockedItem> = pairs.iter().filter_map(changed).collect();
        let leaf_changed = items.iter().any(|item| item.kind == "directive" && item.id == leaf);
        let is_read = |item: &&LockedItem| match item.kind.as_str() {
            "tool" => item.id.starts_with(PROVIDERS),
            // Of configuration, hooks alone say what a directive extends.
            CONFIG => item.id == HOOKS_FILE,
            _ => true,
        };
        let reach_the_prompt = items.iter().any(is_read);
        Self { items, leaf_changed, reach_the_prompt }
    }

    /// Returns `true` if the changed view of a tool follows from an item.
    fn explain(&self, tool: &LockedTool) -> bool {
        let is_tool = |item: &&&LockedItem| item.kind == "tool" && !item.id.starts_with(PROVIDERS);
        let mut tools = self.items.iter().filter(is_tool);
        match &tool.id {
            Some(id) => tools.any(|item| item.id == *id),
            // The tools that every thread has describe the outputs and the other tools.
            None => self.leaf_changed || tools.next().is_some(),
        }
    }
}

fn item(pair: &Pair<'_, LockedItem>, explained: &Explained) -> Option<LockFinding> {
    let item = pair.1.or(pair.0)?;
    let change = match *pair {
        (Some(before), Some(after)) if before == after => return None,
        (Some(before), Some(after)) => item_change(before, after),
        (None, Some(item)) => {
            format!(
                "is new: from {}, {}, sha256 {}",
                item.space,
                signer_text(item),
                item.digest.shortened()
            )
        }
        _ => "is gone".to_owned(),
    };
    let subject = name(item);
    let found = lockable(explained).find(|facts| key(&locked_item(facts)) == key(item));
    let on_disk = found.filter(|facts| facts.location.space != Space::Builtin);
    let path = on_disk.map(|facts| facts.location.path.clone());
    Some(LockFinding { subject, change, path })
}

fn item_change(before: &LockedItem, after: &LockedItem) -> String {
    let mut changes = Vec::new();
    if before.digest != after.digest {
        let before = before.digest.shortened();
        let after = after.digest.shortened();
        changes.push(format!("changed: sha256 {before} is {after} now"));
    }
    if before.space != after.space {
        changes.push(format!("comes from {} instead of {}", after.space, before.space));
    }
    if before.signer != after.signer {
        changes.push(format!("is {} instead of {}", signer_text(after), signer_text(before)));
    }
    changes.join(", and ")
}

fn signer_text(item: &LockedItem) -> String {
    match item.signer.as_str() {
        "builtin" => "built in".to_owned(),
        "unsigned" => "signed by nobody".to_owned(),
        key => format!("signed by {key}"),
    }
}

fn tool(pair: &Pair<'_, LockedTool>, causes: &Causes<'_>) -> Option<LockFinding> {
    let tool = pair.1.or(pair.0)?;
    if pair.0 == pair.1 || causes.explain(tool) {
        return None;
    }
    let change = match pair {
        (Some(_), Some(_)) => "is shown to the model differently, although its item did not change",
        (None, _) => "is offered now",
        (_, None) => "is not offered any more",
    };
    Some(LockFinding::of(&format!("tool `{}` of the palette", tool.name), change))
}

fn prompt(locked: &LockedDirective, now: &LockedDirective) -> Vec<TextChange> {
    let mut comparer = LineComparer::default();
    let system = |side: &LockedDirective| side.system.clone().unwrap_or_default();
    [
        ("system message", system(locked), system(now)),
        ("first user message", locked.first_user_message.clone(), now.first_user_message.clone()),
    ]
    .into_iter()
    .filter_map(|(name, before, after)| TextChange::between(&mut comparer, name, &before, &after))
    .collect()
}

impl LockFinding {
    fn of_fact(change: Change) -> Self {
        let Change { name, before, after } = change;
        let text = match (before, after) {
            (Some(before), Some(after)) => format!("was {before} and is {after} now"),
            (None, Some(after)) => format!("is new: {after}"),
            _ => "is gone".to_owned(),
        };
        Self::of(&name, &text)
    }

    fn of(subject: &str, change: &str) -> Self {
        Self { subject: subject.to_owned(), change: change.to_owned(), path: None }
    }
}
