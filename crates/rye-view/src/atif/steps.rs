//! The pass over the records that makes the steps.

use std::collections::BTreeMap;

use rye_transcript::{Event, Record, Spawn};

use rye_transcript::payload::{Asked, Intent, Receipt, StepFinish, Target};
use rye_types::Usage;
use serde_json::{Value, json};

use super::{dollars, time};
use crate::Source;

/// The steps of a trajectory, and the sum of their usage.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) steps: Vec<Value>,
    pub(super) usage: Usage,
    /// The place of the model's step of this turn, once it has one.
    answer: Option<usize>,
    /// The place of the step of each call without a result.
    calls: BTreeMap<String, usize>,
    /// The arguments of calls that wait for a decision.
    asked: BTreeMap<String, Value>,
    /// The children that each call started and that are inside the trajectory.
    children: BTreeMap<String, Vec<Value>>,
    /// `true` if no model answers: the program carries out the steps of the directive.
    is_scripted: bool,
}

impl Steps {
    pub(super) fn read(source: &Source<'_>) -> Self {
        let mut steps = Self::default();
        for record in &source.reading.records {
            if let Ok(event) = record.event() {
                steps.take(source, record, event);
            }
        }
        steps
    }

    fn take(&mut self, source: &Source<'_>, record: &Record, event: Event) {
        self.tell(record, &event);
        match event {
            Event::ThreadStart(start) => self.is_scripted = start.provider == "steps",
            Event::SystemPrompt(prompt) => self.add(record, "system", &prompt.text),
            Event::UserMessage(said) => self.add(record, "user", &said.text),
            Event::StepStart(_) => self.answer = None,
            Event::AssistantReasoning(_) if self.is_scripted => {}
            Event::AssistantReasoning(said) => self.extend(record, "reasoning_content", said.text),
            Event::AssistantText(said) => self.extend(record, "message", said.text),
            Event::StepFinish(step) => self.finish(record, &step),
            Event::SpawnChild(spawn) => self.spawn(source, spawn),
            Event::ToolCallStart(call) => self.call(record, call),
            Event::ToolCallResult(receipt) => self.result(record, receipt),
            Event::ApprovalRequested(Asked { call_id, arguments, .. }) => {
                self.asked.insert(call_id, arguments);
            }
            _ => {}
        }
    }

    /// Adds a step that is not the model's, or the model's without anything yet.
    fn add(&mut self, record: &Record, origin: &str, message: &str) {
        let number = self.steps.len() + 1;
        self.steps.push(json!({ "step_id": number, "timestamp": time(record), "source": origin, "message": message }));
    }

    /// The model's step of this turn.
    fn answer(&mut self, record: &Record) -> &mut Value {
        let place = self.answer.unwrap_or_else(|| {
            self.add(record, "agent", "");
            self.steps.len() - 1
        });
        self.answer = Some(place);
        let is_new = self.steps.get(place).is_some_and(|step| step["llm_call_count"].is_null());
        let calls = u64::from(!self.is_scripted);
        let step = self.steps.get_mut(place).expect("because it was added above");
        if is_new {
            step["llm_call_count"] = calls.into();
        }
        step
    }

    fn extend(&mut self, record: &Record, member: &str, added: String) {
        let step = self.answer(record);
        let before = step[member].as_str().unwrap_or_default();
        let joined = if before.is_empty() { added } else { format!("{before}\n\n{added}") };
        step[member] = joined.into();
    }

    fn finish(&mut self, record: &Record, finish: &StepFinish) {
        let used = finish.reply.usage;
        let nanos = finish.cost.get();
        let is_scripted = self.is_scripted;
        self.usage = self.usage.plus(&used);
        let step = self.answer(record);
        step["timestamp"] = time(record).into();
        step["extra"] = json!({ "turn": finish.turn, "record": record.seq });
        if !is_scripted {
            step["metrics"] = json!({
                "prompt_tokens": used.input.saturating_add(used.cache_read).saturating_add(used.cache_write),
                "completion_tokens": used.output,
                "cached_tokens": used.cache_read,
                "cost_usd": dollars(nanos),
                "extra": { "cost_nanos": nanos, "cache_write_tokens": used.cache_write },
            });
        }
    }

    fn call(&mut self, record: &Record, call: Intent) {
        let Intent { call_id, name, arguments, target, hook, .. } = call;
        let place = self.place_of_call(record, hook.as_deref());
        self.asked.remove(&call_id);
        self.add_call(place, &call_id, &name, arguments, target.as_ref());
        self.calls.insert(call_id, place);
    }

    /// The place of the step that a call belongs to. An action of a hook is a step without a model.
    fn place_of_call(&mut self, record: &Record, hook: Option<&str>) -> usize {
        if let Some(hook) = hook {
            self.add(record, "agent", "");
            let place = self.steps.len() - 1;
            if let Some(step) = self.steps.get_mut(place) {
                step["llm_call_count"] = 0.into();
                step["extra"] = json!({ "hook": hook, "record": record.seq });
            }
            return place;
        }
        self.answer(record);
        self.answer.unwrap_or(0)
    }

    fn add_call(
        &mut self,
        place: usize,
        call_id: &str,
        name: &str,
        arguments: Value,
        target: Option<&Target>,
    ) {
        let arguments = match arguments {
            Value::Object(_) => arguments,
            Value::Null => json!({}),
            other => json!({ "value": other }),
        };
        let mut call =
            json!({ "tool_call_id": call_id, "function_name": name, "arguments": arguments });
        if let Some(target) = target {
            call["extra"] = json!(target);
        }
        push(self.steps.get_mut(place), &["tool_calls"], call);
    }

    fn result(&mut self, record: &Record, receipt: Receipt) {
        let Receipt { call_id, name, content, is_error, refusal, hook, .. } = receipt;
        let place = match self.calls.remove(&call_id) {
            Some(place) => place,
            // A refused call has no intent.
            None => {
                let place = self.place_of_call(record, hook.as_deref());
                let arguments = self.asked.remove(&call_id).unwrap_or_default();
                self.add_call(place, &call_id, &name, arguments, None);
                place
            }
        };
        let mut extra =
            json!({ "is_error": is_error, "record": record.seq, "timestamp": time(record) });
        if let Some(refusal) = refusal {
            extra["refusal"] = json!(refusal);
        }
        let mut result =
            json!({ "source_call_id": call_id, "content": text(content), "extra": extra });
        if let Some(children) = self.children.remove(&call_id) {
            result["subagent_trajectory_ref"] = children.into();
        }
        push(self.steps.get_mut(place), &["observation", "results"], result);
    }

    /// Notes a child for the result of the call that started it, if its trajectory is inside this one.
    fn spawn(&mut self, source: &Source<'_>, spawn: Spawn) {
        let Spawn { call_id, child, .. } = spawn;
        if source.children.iter().any(|inside| inside.record.thread == child) {
            let reference = json!({ "trajectory_id": child.as_str(), "session_id": source.record.root.as_str() });
            self.children.entry(call_id).or_default().push(reference);
        }
    }

    /// Adds a step for an event beside the model, if the event is one that a reader wants to see.
    fn tell(&mut self, record: &Record, event: &Event) {
        let Some(message) = sentence(event) else { return };
        self.add(record, "system", &message);
        if let Some(step) = self.steps.last_mut() {
            step["extra"] = json!({ "event": record.name(), "record": record.seq });
        }
    }
}

/// An event in words. The events of the model, of calls and of the chain have none.
fn sentence(event: &Event) -> Option<String> {
    Some(match event {
        Event::ApprovalRequested(asked) => {
            format!("the call of `{}` waits for a decision: {}", asked.item_id, asked.why())
        }
        Event::ApprovalDecided(decided) => {
            format!("{} by {}", decided.decision.as_str(), decided.by)
        }
        Event::ChildEnded(end) => format!("the thread `{}` ended as {}", end.child, end.state),
        Event::HookTriggered(it) => format!("the hook `{}` acts at `{}`", it.hook, it.event),
        Event::ModelFallback(fallback) => {
            format!("the model `{}` answers from here on: {}", fallback.model, fallback.reason)
        }
        Event::RequestFailed(failed) => {
            format!("the request failed, {}: {}", failed.class, failed.message)
        }
        Event::RequestRetried(retried) => {
            format!("the request is sent again, {}: {}", retried.class, retried.message)
        }
        Event::ThreadResumed(_) => "the thread was resumed".to_owned(),
        Event::ThreadError(end) => {
            let message = end.failure.as_ref().map_or("", |failure| &failure.message);
            format!("the thread ended as {}: {message}", end.state)
        }
        Event::ThreadContinued(end) => {
            format!("the thread `{}` continues the conversation", end.next)
        }
        _ => return None,
    })
}

/// A text as it stands, and any other value as JSON.
fn text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// Appends to the list at a path of members, and makes the list if it is not there.
fn push(step: Option<&mut Value>, path: &[&str], item: Value) {
    let Some(step) = step else { return };
    let list = path.iter().fold(step, |value, name| &mut value[*name]);
    match list {
        Value::Array(items) => items.push(item),
        other => *other = json!([item]),
    }
}
