//! What a server at an address was sent and must not be told on, should it repeat it.

use std::sync::Arc;

use rye_thread::ToolOutput;
use serde_json::Value;
use zeroize::Zeroizing;

use super::connection::{ConnectError, QUOTED};
use super::server::{Reached, Server, ServerHeader};
use super::tool_set::ToolSetError;
use crate::web::Hidden;

/// Values of headers, by the headers' names: what stands where a variable's name should may be the secret itself.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<[Hidden]>);

impl Secrets {
    /// Those of the server; a program gets none.
    pub(super) fn of(server: &Server, variable: impl Fn(&str) -> Option<String>) -> Self {
        let Reached::Address(address) = &server.reached else { return Self::default() };
        let secret = |(name, header): (&String, &ServerHeader)| {
            let value = variable(&header.variable).filter(|value| !value.is_empty())?;
            Some(Hidden::new(name, &Zeroizing::new(value)))
        };
        Self(address.headers.iter().filter_map(secret).collect())
    }

    /// The text without them; to be asked before anything of it is cut, which could leave half of one.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| secret.taken_from(&text))
    }

    /// The beginning of what a server says, in one line.
    pub(super) fn short(&self, text: &str) -> String {
        let text = self.text(text);
        let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        line.take(QUOTED).collect()
    }

    pub(super) fn value(&self, value: Value) -> Value {
        self.0.iter().fold(value, |value, secret| secret.taken_from_value(value))
    }

    pub(super) fn output(&self, mut output: ToolOutput) -> ToolOutput {
        output.content = self.value(output.content);
        output
    }

    pub(super) fn error(&self, error: ConnectError) -> ConnectError {
        match error {
            ConnectError::Http { problem } => ConnectError::Http { problem: self.text(&problem) },
            ConnectError::Answer { problem } => {
                ConnectError::Answer { problem: self.text(&problem) }
            }
            ConnectError::Begin { problem, stderr } => {
                ConnectError::Begin { problem: self.text(&problem), stderr }
            }
            ConnectError::Tools(ToolSetError::Twice { name }) => {
                ConnectError::Tools(ToolSetError::Twice { name: self.text(&name) })
            }
            other => other,
        }
    }

    /// Whether one of them is in what a server lists.
    pub(super) fn are_in(&self, listed: &[Value]) -> bool {
        let text = Value::from(listed).to_string();
        self.text(&text) != text
    }
}
