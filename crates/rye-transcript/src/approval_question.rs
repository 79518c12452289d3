//! The words of a question about a call, which every surface shows (SPEC 14.1).

use rye_types::HookEvent;
use serde_json::Value;

use crate::{ApprovalReason, ApprovalRequest};

use crate::payload::Asked;

/// The name of the operation that signs, whose calls always wait.
const SIGN: &str = "rye_sign";

impl Asked {
    /// Returns the reason why the call waits, as a clause without a period (SPEC 14.1).
    ///
    /// For a call that was cut off it says that the call began before and may have happened. For a question of a hook it says
    /// what an approval and a denial do. No text of a model is in it.
    #[must_use]
    pub fn why(&self) -> String {
        match self.reason {
            ApprovalReason::Interrupted => {
                "it began before and may have happened, and an approval may do it a second time"
                    .to_owned()
            }
            ApprovalReason::Configured if self.item_id == SIGN => {
                "each signature with the operator's key is asked about".to_owned()
            }
            ApprovalReason::Configured => {
                "the configuration asks before each call of it".to_owned()
            }
            ApprovalReason::Escalated => self.meaning_at_hook(),
        }
    }

    /// Returns the arguments that the decision is about.
    ///
    /// For a question of a hook, these are the data of the event itself, such as the outputs. The data that every event has are
    /// left out. For any other call, these are all arguments.
    #[must_use]
    pub fn decisive_arguments(&self) -> Value {
        match (self.hook_event(), &self.arguments) {
            (Some(event), Value::Object(members)) => {
                let own = members.iter().filter(|(name, _)| event.has_of_its_own(name));
                own.map(|(name, value)| (name.clone(), value.clone())).collect()
            }
            _ => self.arguments.clone(),
        }
    }

    /// Returns the event at which a hook asks.
    fn hook_event(&self) -> Option<HookEvent> {
        let is_asked = self.reason == ApprovalReason::Escalated;
        let event = self.arguments.get("event").filter(|_| is_asked)?;
        event.as_str()?.parse().ok()
    }

    /// Returns the effects of the two decisions on a question of a hook.
    fn meaning_at_hook(&self) -> String {
        let is_final = |of: &str| self.arguments[of]["final"] == Value::Bool(true);
        let (approved, denied) = match self.hook_event() {
            Some(HookEvent::AfterStep) => ("the thread goes on", "it ends as failed"),
            Some(HookEvent::DirectiveReturn) => {
                ("the outputs are accepted", "the model is told that they are not")
            }
            Some(HookEvent::Limit) if is_final("limit") => {
                ("the limit is raised by as much again and the thread goes on", "it ends")
            }
            Some(HookEvent::Limit) => {
                ("the limit is raised by as much again", "the thread goes on without")
            }
            Some(HookEvent::Error) if is_final("error") => {
                ("the request is sent again", "the thread ends with the error")
            }
            Some(HookEvent::Error) => ("the thread goes on", "it ends with the error"),
            // A hook asks at no other event.
            _ => return "a hook asks".to_owned(),
        };
        format!("a hook asks: if approved, {approved}; if denied, {denied}")
    }
}

impl ApprovalRequest {
    /// Returns the reason why the call waits, like [`Asked::why`].
    #[must_use]
    pub fn why(&self) -> String {
        Asked::of(self).why()
    }

    /// Returns the arguments that the decision is about, like [`Asked::decisive_arguments`].
    #[must_use]
    pub fn decisive_arguments(&self) -> Value {
        Asked::of(self).decisive_arguments()
    }
}

#[cfg(test)]
mod tests;
