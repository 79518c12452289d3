//! The privileges of a directive as data for programs.

use rye_caps::{LayerName, Pattern};
use rye_project::{Need, NeedSource, Use};
use serde_json::{Value, json};

use super::{LayerPrivileges, PatternPrivileges, Privileges, Tightened};

impl Privileges {
    /// The same facts as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "declared_by": self.declared_by.as_ref().map(ToString::to_string),
            "refusal": self.refusal,
            "denials": self.denials,
            "draft": !self.drafts.is_empty(),
            "layers": self.layers.iter().map(|layer| self.layer(layer)).collect::<Value>(),
            "uses": self.uses.iter().map(|(pattern, kept)| self.use_row(pattern, kept)).collect::<Value>(),
            "needs": self.needs.iter().map(|need| self.need(need)).collect::<Value>(),
            "unjudged": self.unjudged,
        })
    }

    /// The facts with the smaller block, as JSON.
    #[must_use]
    pub fn tightened_to_json(&self, tightened: &Tightened) -> Value {
        let names = |rows: &[rye_caps::risk::Acknowledgement]| -> Value {
            rows.iter().map(|row| Value::from(row.risk().as_str())).collect()
        };
        json!({
            "id": self.id.as_str(),
            "declared_by": self.declared_by.as_ref().map(ToString::to_string),
            "permissions": tightened.to_string(),
            "patterns": patterns(tightened.grant.patterns()),
            "acknowledged": names(&tightened.acknowledged),
            "needless_acknowledgements": names(&tightened.needless),
            "uses": self.uses.iter().map(|(pattern, kept)| self.use_row(pattern, kept)).collect::<Value>(),
            "needs": self.needs.iter().map(|need| self.need(need)).collect::<Value>(),
            "unjudged": self.unjudged,
        })
    }

    fn use_row(&self, pattern: &Pattern, kept: &Use) -> Value {
        let included = self.redundant.iter().find(|(inner, _)| inner == pattern);
        let (word, parts) = match kept {
            // Without needs, nothing is known of any use.
            _ if self.needs.is_empty() => ("unknown", &[][..]),
            Use::Used => ("used", &[][..]),
            Use::Narrower(parts) => ("narrower", parts.as_slice()),
            Use::Unknown => ("unknown", &[][..]),
            Use::Unused => ("unused", &[][..]),
        };
        json!({
            "pattern": pattern.as_str(),
            "use": word,
            "would_do": patterns(parts),
            "included_in": included.map(|(_, outer)| outer.as_str()),
        })
    }

    fn layer(&self, layer: &LayerPrivileges) -> Value {
        let is_directive = matches!(layer.name, LayerName::Directive(_));
        let grant = |row: &PatternPrivileges| {
            let mut row_json = grant(row);
            if is_directive {
                row_json["waits"] = self.waits_of(&row.pattern).as_str().into();
            }
            row_json
        };
        json!({
            "name": layer.name.to_string(),
            "signed": layer.signed,
            "grants": layer.grants.iter().map(grant).collect::<Value>(),
        })
    }

    fn need(&self, need: &Need) -> Value {
        let named = |of: fn(&NeedSource) -> Option<&str>| -> Value {
            need.sources.iter().filter_map(of).map(Value::from).collect()
        };
        json!({
            "pattern": need.pattern.as_str(),
            "granted": self.grants(need),
            "steps": named(|source| match source {
                NeedSource::Step(name) => Some(name),
                _ => None,
            }),
            "hooks": named(|source| match source {
                NeedSource::Hook(id) => Some(id),
                _ => None,
            }),
            "children": named(|source| match source {
                NeedSource::Child(id) => Some(id.as_str()),
                _ => None,
            }),
            "declared_by_children": named(|source| match source {
                NeedSource::Declared(id) => Some(id.as_str()),
                _ => None,
            }),
            "executed": named(|source| match source {
                NeedSource::Executed(id) => Some(id.as_str()),
                _ => None,
            }),
            "threads": named(|source| match source {
                NeedSource::Thread(thread) => Some(thread.as_str()),
                _ => None,
            }),
        })
    }
}

fn grant(row: &PatternPrivileges) -> Value {
    let verdict = row.finding.as_ref().map(|finding| match finding.verdict {
        rye_caps::risk::Verdict::Allow => "allow",
        rye_caps::risk::Verdict::Warn => "warn",
        rye_caps::risk::Verdict::Block => "block",
    });
    json!({
        "pattern": row.pattern.as_str(),
        "risk": row.classification.risk.as_str(),
        "classified_by": row.classification.by.as_ref().map(Pattern::as_str),
        "verdict": verdict,
        "acknowledged": row.finding.as_ref().and_then(|finding| finding.acknowledged.as_deref()),
        "returns_outputs": row.returns_outputs,
    })
}

fn patterns(patterns: &[Pattern]) -> Value {
    patterns.iter().map(|pattern| Value::from(pattern.as_str())).collect()
}
