//! `beside-loop`: the smallest loop that holds the conversations. It records, checks and signs nothing.

use std::process::ExitCode;

use reqwest::Client;
use reqwest::header::CONTENT_TYPE;
use rye_bench_beside::{
    ADD, Arguments, DESCRIPTION, Ended, Engine, MAX_OUTPUT, MODEL, Numbers, Problem, SYSTEM,
    first_message, parameters,
};
use serde::Serialize;
use serde_json::{Value, json};

struct Loop {
    client: Client,
    url: String,
    tools: Value,
    turns: usize,
}

impl Engine for Loop {
    const PACKAGE: &'static str = "reqwest";

    fn new(arguments: &Arguments) -> Result<Self, Problem> {
        let function =
            json!({ "name": ADD, "description": DESCRIPTION, "parameters": parameters() });
        Ok(Self {
            client: Client::builder().build()?,
            url: format!("{}/chat/completions", arguments.base_url),
            tools: json!([{ "type": "function", "function": function }]),
            turns: arguments.turns,
        })
    }

    async fn converse(&self) -> Result<Ended, Problem> {
        let mut conversation = Conversation::new(self.turns);
        for _ in 0..self.turns + 2 {
            let body = Body {
                model: MODEL,
                max_tokens: MAX_OUTPUT,
                tools: &self.tools,
                messages: &conversation.messages,
            };
            let answer = self.ask(serde_json::to_vec(&body)?).await?;
            if let Some(text) = conversation.read(answer)? {
                return Ok(Ended { calls: conversation.calls, text });
            }
        }
        Err(format!("after {} calls there was no text", conversation.calls).into())
    }
}

impl Loop {
    async fn ask(&self, body: Vec<u8>) -> Result<Value, Problem> {
        let request = self.client.post(&self.url).bearer_auth("no-secret");
        let request = request.header(CONTENT_TYPE, "application/json").body(body);
        let answer = request.send().await?.error_for_status()?.bytes().await?;
        Ok(serde_json::from_slice(&answer)?)
    }
}

/// The body of a request, which is written whole each time.
#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    tools: &'a Value,
    messages: &'a [Value],
}

struct Conversation {
    messages: Vec<Value>,
    calls: usize,
}

impl Conversation {
    fn new(turns: usize) -> Self {
        let system = json!({ "role": "system", "content": SYSTEM });
        let user = json!({ "role": "user", "content": first_message(turns) });
        Self { messages: vec![system, user], calls: 0 }
    }

    /// Runs the calls of the answer, or returns its text if it has none.
    fn read(&mut self, mut answer: Value) -> Result<Option<String>, Problem> {
        let message = answer.pointer_mut("/choices/0/message").ok_or("there is no message")?.take();
        let Some(calls) = message.get("tool_calls").and_then(Value::as_array) else {
            let text = message.get("content").and_then(Value::as_str).ok_or("there is no text")?;
            return Ok(Some(text.to_owned()));
        };
        let results = calls.iter().map(result).collect::<Result<Vec<_>, _>>()?;
        self.calls += results.len();
        self.messages.push(message);
        self.messages.extend(results);
        Ok(None)
    }
}

/// Runs the tool and returns the result in the form of the API.
fn result(call: &Value) -> Result<Value, Problem> {
    let text = |pointer| call.pointer(pointer).and_then(Value::as_str).ok_or("this is no call");
    if text("/function/name")? != ADD {
        return Err("there is no such tool".into());
    }
    let numbers: Numbers = serde_json::from_str(text("/function/arguments")?)?;
    let sum = numbers.sum().to_string();
    Ok(json!({ "role": "tool", "tool_call_id": text("/id")?, "content": sum }))
}

fn main() -> ExitCode {
    rye_bench_beside::run::<Loop>("beside-loop")
}

#[cfg(test)]
mod tests {
    use super::Conversation;
    use serde_json::{Value, json};

    fn answer(message: &Value) -> Value {
        json!({ "choices": [{ "index": 0, "message": message }] })
    }

    fn call(name: &str, arguments: &str) -> Value {
        let function = json!({ "name": name, "arguments": arguments });
        let call = json!({ "id": "call_0", "type": "function", "function": function });
        json!({ "role": "assistant", "content": null, "tool_calls": [call] })
    }

    #[test]
    fn a_call_is_done_and_remembered() {
        let mut conversation = Conversation::new(1);
        let message = call("add", r#"{"a":1,"b":2.5}"#);
        assert_eq!(conversation.read(answer(&message)).ok(), Some(None));
        let result = json!({ "role": "tool", "tool_call_id": "call_0", "content": "3.5" });
        assert_eq!(conversation.messages[2..], [message, result]);
        let last = answer(&json!({ "role": "assistant", "content": "3.5" }));
        assert_eq!(conversation.read(last).ok(), Some(Some("3.5".to_owned())));
        assert_eq!(conversation.calls, 1);
    }

    #[track_caller]
    fn check(answer: Value, problem: &str) {
        let read = Conversation::new(1).read(answer);
        assert_eq!(read.map_err(|error| error.to_string()), Err(problem.to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        check(json!({}), "there is no message");
        check(answer(&json!({ "role": "assistant", "content": null })), "there is no text");
        check(answer(&call("subtract", "{}")), "there is no such tool");
        check(answer(&json!({ "tool_calls": [{}] })), "this is no call");
        check(answer(&call("add", r#"{"a":1}"#)), "missing field `b` at line 1 column 7");
    }
}
