//! The difference as data for programs.

use serde_json::{Map, Value, json};

use super::{Change, Difference, PatternChange};

impl Difference {
    /// The same difference as JSON; `equal` says whether there is none, `widens` whether the second may do more.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let texts = self.prompt.iter();
        let sections = self.sections.iter().map(|section| {
            let changes: Value = section.changes.iter().map(change).collect();
            (section.name.to_owned(), changes)
        });
        json!({
            "equal": self.is_empty(),
            "widens": self.widens(),
            "draft": self.draft,
            "raised_limits": self.raised,
            "widened": self.widened,
            "prompt": texts.map(|text| json!({ "name": text.name, "diff": text.diff })).collect::<Value>(),
            "capabilities": {
                "gained": self.gained.iter().map(pattern).collect::<Value>(),
                "lost": self.lost.iter().map(pattern).collect::<Value>(),
            },
            "changes": sections.collect::<Map<String, Value>>(),
        })
    }
}

fn pattern(change: &PatternChange) -> Value {
    json!({ "pattern": change.pattern.as_str(), "example": change.example.as_ref().map(ToString::to_string) })
}

fn change(change: &Change) -> Value {
    json!({ "name": change.name, "before": change.before, "after": change.after })
}
