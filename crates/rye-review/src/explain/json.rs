//! The facts as data for programs.

use rye_caps::Pattern;
use rye_project::LimitSource;
use serde_json::{Value, json};

use super::{
    ContextFacts, Explained, ItemFacts, LimitFacts, ModelFacts, ModelSource, PortFacts, Signer,
    StartFacts, ToolFacts,
};

impl Explained {
    /// The same facts as JSON; the two texts are given by their digest alone, because rendering prints them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let mut facts = self.facts();
        if let Some(starts) = &self.starts {
            facts["starts"] = starts.iter().map(start).collect();
        }
        facts
    }

    fn facts(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "chain": self.chain.iter().map(item).collect::<Value>(),
            "context": self.context.iter().map(context).collect::<Value>(),
            "suppressed": self.suppressed.iter().map(|row| json!({ "id": row.id, "declared_by": row.declared_by })).collect::<Value>(),
            "skipped": self.skipped.iter().map(|row| json!({ "id": row.id, "position": row.position.as_str(), "asked_by": row.asked_by })).collect::<Value>(),
            "capabilities": {
                "declared_by": self.declared_by.as_ref().map(ToString::to_string),
                "layers": self.layers.iter().map(|layer| json!({ "name": layer.name.to_string(), "patterns": layer.grant.patterns().iter().map(Pattern::as_str).collect::<Value>() })).collect::<Value>(),
                "risks": self.risks,
            },
            "tools": self.tools.iter().map(tool).collect::<Value>(),
            "withheld": self.withheld,
            "limits": self.limits.iter().map(limit).collect::<Value>(),
            "model": self.model.as_ref().map_or_else(|reason| json!({ "unavailable": reason }), model),
            "inputs": self.inputs.iter().map(port).collect::<Value>(),
            "outputs": self.outputs.iter().map(port).collect::<Value>(),
            "hooks": self.hooks.iter().map(|hook| json!({ "id": hook.id, "event": hook.event, "effect": hook.effect, "declared_by": hook.declared_by, "sha256": hook.digest.to_string() })).collect::<Value>(),
            "later": self.later.iter().map(item).collect::<Value>(),
            "config": self.configs.iter().map(item).collect::<Value>(),
            "sha256": self.digest.to_string(),
            "draft": !self.drafts.is_empty(),
            "warnings": self.warnings,
        })
    }
}

fn start(start: &StartFacts) -> Value {
    let lost = start.lost.iter();
    let lost =
        lost.map(|lost| json!({ "pattern": lost.pattern.as_str(), "denied_by": lost.denied_by }));
    json!({
        "id": start.id.as_str(),
        "refused": start.refused,
        "lost": lost.collect::<Value>(),
    })
}

fn item(item: &ItemFacts) -> Value {
    json!({
        "kind": item.kind.as_str(),
        "id": item.id.as_str(),
        "space": item.location.space.as_str(),
        "path": item.location.path.to_string_lossy(),
        "bytes": item.bytes,
        "sha256": item.digest.to_string(),
        "signer": signer(&item.signer),
    })
}

fn signer(signer: &Signer) -> Value {
    let mut row = json!({ "name": signer.as_str() });
    if let Signer::Draft { at, .. } = signer {
        row["changed_since"] = at.to_string().into();
    }
    if let Signer::Key { key_id, owner, ceilings, notes } = signer {
        row["key_id"] = key_id.as_str().into();
        row["owner"] = owner.as_deref().into();
        row["may_grant"] = json!(ceilings);
        row["notes"] = json!(notes);
    }
    row
}

fn context(entry: &ContextFacts) -> Value {
    json!({
        "position": entry.position.as_str(),
        "asked_by": entry.asked_by,
        "item": entry.item.as_ref().map(item),
        "bytes": entry.bytes,
        "sha256": entry.digest.to_string(),
    })
}

fn tool(tool: &ToolFacts) -> Value {
    json!({ "name": tool.name, "spec_sha256": tool.spec.to_string(), "item": tool.item.as_ref().map(item) })
}

fn limit(limit: &LimitFacts) -> Value {
    let set_by = match &limit.set_by {
        LimitSource::Default => json!({ "layer": "default" }),
        LimitSource::Config(location) => {
            let path = location.path.to_string_lossy();
            json!({ "layer": "config", "space": location.space.as_str(), "path": path })
        }
        LimitSource::Directive(id) => json!({ "layer": "directive", "id": id.as_str() }),
        LimitSource::Options => json!({ "layer": "options" }),
        LimitSource::Parent(thread) => json!({ "layer": "parent", "thread": thread.as_str() }),
    };
    json!({ "name": limit.name, "value": limit.value, "set_by": set_by })
}

fn model(model: &ModelFacts) -> Value {
    let set_by = match &model.set_by {
        ModelSource::Default => json!({ "layer": "default" }),
        ModelSource::Directive(id) => json!({ "layer": "directive", "id": id.as_str() }),
        ModelSource::Options => json!({ "layer": "options" }),
    };
    json!({
        "provider": model.provider,
        "model": model.model,
        "item": model.item.as_ref().map(item),
        "set_by": set_by,
    })
}

fn port(port: &PortFacts) -> Value {
    json!({
        "name": port.name,
        "type": port.value_type,
        "required": port.required,
        "default": port.default,
        "choices": port.choices,
        "description": port.description,
    })
}
