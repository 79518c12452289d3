//! The pass over the records that makes the steps.

use std::collections::BTreeMap;

use rye_transcript::{Event, Record, recorded_event};
use rye_types::Usage;
use serde_json::{Value, json};

use super::{dollars, time};
use crate::Source;
use crate::model::{payload, usage_of};

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
            steps.take(source, record, &payload(record));
        }
        steps
    }

    fn take(&mut self, source: &Source<'_>, record: &Record, content: &Value) {
        match record.event.as_str() {
            "thread_start" => self.is_scripted = content["provider"] == "steps",
            "system_prompt" => self.add(record, "system", &text(&content["text"])),
            "user_message" => self.add(record, "user", &text(&content["text"])),
            "step_start" => self.answer = None,
            "assistant_reasoning" => self.extend(record, "reasoning_content", content),
            "assistant_text" => self.extend(record, "message", content),
            "step_finish" => self.finish(record, content),
            "spawn_child" => self.spawn(source, content),
            "tool_call_start" => self.call(record, content),
            "tool_call_result" => self.result(record, content),
            "approval_requested" => self.ask(record, content),
            _ => self.event(record, content),
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

    fn extend(&mut self, record: &Record, member: &str, content: &Value) {
        let added = text(&content["text"]);
        if self.is_scripted && member == "reasoning_content" {
            return;
        }
        let step = self.answer(record);
        let before = step[member].as_str().unwrap_or_default();
        let joined = if before.is_empty() { added } else { format!("{before}\n\n{added}") };
        step[member] = joined.into();
    }

    fn finish(&mut self, record: &Record, content: &Value) {
        let used = usage_of(&content["reply"]["usage"]);
        let nanos = content["cost_nanos"].as_u64().unwrap_or(0);
        let is_scripted = self.is_scripted;
        self.usage = self.usage.plus(&used);
        let step = self.answer(record);
        step["timestamp"] = time(record).into();
        step["extra"] = json!({ "turn": content["turn"], "record": record.seq });
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

    fn call(&mut self, record: &Record, content: &Value) {
        let place = self.place_of_call(record, content);
        let id = text(&content["call_id"]);
        self.asked.remove(&id);
        self.calls.insert(id.clone(), place);
        self.add_call(place, content, &content["arguments"]);
    }

    /// The place of the step that a call belongs to. An action of a hook is a step without a model.
    fn place_of_call(&mut self, record: &Record, content: &Value) -> usize {
        if let Some(hook) = content["hook"].as_str() {
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

    fn add_call(&mut self, place: usize, content: &Value, arguments: &Value) {
        let arguments = match arguments {
            Value::Object(_) => arguments.clone(),
            Value::Null => json!({}),
            other => json!({ "value": other }),
        };
        let mut call = json!({
            "tool_call_id": text(&content["call_id"]),
            "function_name": text(&content["name"]),
            "arguments": arguments,
        });
        if !content["target"].is_null() {
            call["extra"] = content["target"].clone();
        }
        push(self.steps.get_mut(place), &["tool_calls"], call);
    }

    fn result(&mut self, record: &Record, content: &Value) {
        let id = text(&content["call_id"]);
        let place = match self.calls.remove(&id) {
            Some(place) => place,
            // A refused call has no intent.
            None => {
                let place = self.place_of_call(record, content);
                let arguments = self.asked.remove(&id).unwrap_or_default();
                self.add_call(place, content, &arguments);
                place
            }
        };
        let mut extra = json!({ "is_error": content["is_error"], "record": record.seq, "timestamp": time(record) });
        if !content["refusal"].is_null() {
            extra["refusal"] = content["refusal"].clone();
        }
        let mut result =
            json!({ "source_call_id": id, "content": text(&content["content"]), "extra": extra });
        if let Some(children) = self.children.remove(&id) {
            result["subagent_trajectory_ref"] = children.into();
        }
        push(self.steps.get_mut(place), &["observation", "results"], result);
    }

    /// Notes a child for the result of the call that started it, if its trajectory is inside this one.
    fn spawn(&mut self, source: &Source<'_>, content: &Value) {
        let child = text(&content["thread"]);
        if source.children.iter().any(|inside| inside.record.thread.as_str() == child) {
            let reference =
                json!({ "trajectory_id": child, "session_id": source.record.root.as_str() });
            self.children.entry(text(&content["call_id"])).or_default().push(reference);
        }
    }

    fn ask(&mut self, record: &Record, content: &Value) {
        self.asked.insert(text(&content["call_id"]), content["arguments"].clone());
        self.event(record, content);
    }

    /// Adds a step for an event beside the model, if the event is one that a reader wants to see.
    fn event(&mut self, record: &Record, content: &Value) {
        let Some(message) = sentence(record, content) else { return };
        self.add(record, "system", &message);
        if let Some(step) = self.steps.last_mut() {
            step["extra"] = json!({ "event": record.event, "record": record.seq });
        }
    }
}

/// Returns the reason why the call in a record waits.
fn why(record: &Record) -> String {
    match recorded_event(record) {
        Ok(Event::ApprovalRequested(request)) => request.why(),
        _ => String::new(),
    }
}

/// An event in words. The events of the model, of calls and of the chain have none.
fn sentence(record: &Record, content: &Value) -> Option<String> {
    let of = |name: &str| text(&content[name]);
    Some(match record.event.as_str() {
        "approval_requested" => {
            format!("the call of `{}` waits for a decision: {}", of("item_id"), why(record))
        }
        "approval_decided" => format!("{} by {}", of("decision"), of("by")),
        "child_ended" => format!("the thread `{}` ended as {}", of("thread"), of("state")),
        "hook_triggered" => format!("the hook `{}` acts at `{}`", of("hook"), of("hook_event")),
        "model_fallback" => {
            format!("the model `{}` answers from here on: {}", of("model"), of("reason"))
        }
        "request_failed" => format!("the request failed, {}: {}", of("class"), of("message")),
        "request_retried" => {
            format!("the request is sent again, {}: {}", of("class"), of("message"))
        }
        "thread_resumed" => "the thread was resumed".to_owned(),
        "thread_error" => {
            format!("the thread ended as {}: {}", of("state"), text(&content["failure"]["message"]))
        }
        "thread_continued" => format!("the thread `{}` continues the conversation", of("next")),
        _ => return None,
    })
}

/// A text as it stands, and any other value as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
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
