//! The comparison of a thread's recorded opening with the one that it would have now.

use serde_json::Value;
use serde_json::value::RawValue;

use super::Recovered;

use crate::transcript::{Event, Record};

impl Recovered {
    /// Holds a record of the opening against what would be recorded now.
    pub(super) fn begin(&mut self, record: &Record) -> Result<(), String> {
        let Some(expected) = self.opening.pop_front() else {
            return Err(format!("`{}` is no part of the opening", record.name()));
        };
        let value = |payload: &RawValue| {
            serde_json::from_str::<Value>(payload.get()).map_err(|error| error.to_string())
        };
        let then = value(&record.payload)?;
        let now = value(&expected.payload())?;
        if expected.kind() == record.kind {
            self.changes.extend(differences(&expected, &then, &now));
        } else {
            self.opening.clear();
            self.changes.push("its context".to_owned());
        }
        Ok(())
    }

    pub(super) fn user_message(&mut self, record: &Record, text: &str) -> Result<(), String> {
        if !self.opening.is_empty() {
            return self.begin(record);
        }
        match self.texts_due.pop_front() {
            Some(own) if own == text => Ok(()),
            // What follows a changed opening is not looked at more closely.
            _ if !self.changes.is_empty() => Ok(()),
            _ => Err("the run has no such text".to_owned()),
        }
    }
}

/// Returns the differences between the recorded opening and this one.
fn differences(expected: &Event, then: &Value, now: &Value) -> Vec<String> {
    match expected {
        Event::ThreadStart(_) => {
            let members =
                ["provider", "model", "nanos_per_million_tokens", "limits", "tools", "palette"];
            let names = [
                "its provider",
                "its model",
                "the price of its model",
                "its limits",
                "its tools",
                "its palette",
            ];
            let differs = |member: &str| then.get(member) != now.get(member);
            let pairs = members.into_iter().zip(names);
            pairs.filter(|(member, _)| differs(member)).map(|(_, name)| name.to_owned()).collect()
        }
        _ if then == now => Vec::new(),
        Event::SystemPrompt(_) => vec!["its system prompt".to_owned()],
        Event::UserMessage(_) => vec!["its first message".to_owned()],
        _ => vec!["its context".to_owned()],
    }
}
