//! A model's server on this machine, which answers each conversation by a function of its own.

use std::io::Write as _;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use crate::hooking::request;

/// What the model does next.
pub(crate) enum Says {
    Text(&'static str),
    Calls(&'static str, Value),
    /// A call with an id that the model gives it.
    CallsAs(&'static str, &'static str, Value),
    /// Nothing, until the gate is opened.
    AfterThat(Arc<Gate>, Box<Says>),
}

/// How long somebody waits who waits in vain.
const MOST: Duration = Duration::from_secs(60);

/// Something that one thread waits for until another one opens it.
#[derive(Default)]
pub(crate) struct Gate {
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Waits until somebody stands before the gate.
    pub(crate) fn reached(&self) {
        let state = self.state.lock().unwrap();
        let reached = self.changed.wait_timeout_while(state, MOST, |(reached, _)| !*reached);
        assert!(!reached.unwrap().1.timed_out(), "nobody came to the gate");
    }

    pub(crate) fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    pub(crate) fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, open)| !*open).unwrap());
    }
}

/// One conversation so far, as a request tells it.
pub(crate) struct Asked(Value);

impl Asked {
    /// Whether the directive of this title is what the model follows.
    pub(crate) fn follows(&self, title: &str) -> bool {
        let messages = self.0["messages"].as_array().unwrap();
        let first = messages.iter().find(|message| message["role"] == "user").unwrap();
        first["content"].to_string().contains(title)
    }

    /// Whether the conversation goes on with one that grew too long.
    pub(crate) fn goes_on(&self) -> bool {
        let messages = self.0["messages"].as_array().unwrap().iter();
        1 < messages.filter(|message| message["role"] == "user").count()
    }

    /// The results that the model has seen.
    pub(crate) fn results(&self) -> Vec<&str> {
        let messages = self.0["messages"].as_array().unwrap().iter();
        let results = messages.filter(|message| message["role"] == "tool");
        results.map(|message| message["content"].as_str().unwrap()).collect()
    }

    /// The response with this message, in pieces where they were asked for.
    fn answer(&self, (message, why): &(Value, &str)) -> String {
        let is_streamed = self.0["stream"] == true;
        let mut body = json!({
            "id": "1", "object": "chat.completion", "created": 0, "model": "m",
            "choices": [{ "index": 0, "message": message, "finish_reason": why }],
            "usage": { "prompt_tokens": 900, "completion_tokens": 100, "total_tokens": 1000 },
        });
        let (kind, text) = match is_streamed {
            false => ("application/json", body.to_string()),
            true => {
                let choice = body["choices"][0].as_object_mut().unwrap();
                let delta = choice.remove("message").unwrap();
                choice.insert("delta".to_owned(), delta);
                ("text/event-stream", format!("data: {body}\n\ndata: [DONE]\n\n"))
            }
        };
        let length = text.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
        )
    }
}

/// The server; it answers for as long as the test's process lives.
pub(crate) struct Model {
    address: std::net::SocketAddr,
    asked: Arc<AtomicUsize>,
}

impl Model {
    pub(crate) fn new(says: impl Fn(&Asked) -> Says + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (asked, says) = (Arc::new(AtomicUsize::new(0)), Arc::new(says));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for connection in listener.incoming() {
                let (says, counted) = (Arc::clone(&says), Arc::clone(&counted));
                std::thread::spawn(move || {
                    let mut connection = connection.unwrap();
                    let Ok(asked) = request(&mut connection).map(Asked) else { return };
                    let number = counted.fetch_add(1, Ordering::SeqCst);
                    let message = message(number, says(&asked));
                    // Whoever asked may be gone by now.
                    drop(connection.write_all(asked.answer(&message).as_bytes()));
                });
            }
        });
        Self { address, asked }
    }

    /// How many requests there were.
    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    /// Where it is, up to the path of an endpoint.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its configuration, in which a token costs a millionth of a dollar.
    pub(crate) fn provider(&self) -> String {
        format!(
            "protocol: openai_chat\nbase_url: http://{}\ntiers: {{fast: m}}\nstream: false\nmodels:\n  m:\n    \
             context_window: 100000\n    max_output: 1000\n    prices: {{input: \"1\", output: \"1\"}}\n",
            self.address
        )
    }
}

/// The message, and why it ends.
fn message(number: usize, says: Says) -> (Value, &'static str) {
    match says {
        Says::AfterThat(gate, says) => {
            gate.pass();
            message(number, *says)
        }
        Says::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Says::Calls(name, arguments) => called(&format!("call_{number}"), name, &arguments),
        Says::CallsAs(id, name, arguments) => called(id, name, &arguments),
    }
}

fn called(id: &str, name: &str, arguments: &Value) -> (Value, &'static str) {
    let function = json!({ "name": name, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
    (json!({ "role": "assistant", "content": null, "tool_calls": [call] }), "tool_calls")
}
