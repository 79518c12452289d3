//! Removal of secrets from the texts of the server that received them.

use std::sync::Arc;

use rye_sandbox::ENVIRONMENT;
use rye_thread::Redactor;
use rye_thread::ToolOutput;
use serde_json::Value;
use zeroize::Zeroizing;

use super::connection::ConnectError;
use super::server::{Reached, Server, ServerHeader};
use super::tool_set::ToolSetError;

/// The number of bytes that an error quotes of a message or of the standard error of a server.
pub(super) const QUOTED: usize = 2 * 1024;

/// The redacted values of headers and of variables that the server is handed, by the names of the headers and variables.
/// The variable of a header is not named, because a careless configuration may have the secret in place of its name.
#[derive(Debug, Clone, Default)]
pub(super) struct Secrets(Arc<[Redactor]>);

impl Secrets {
    /// Collects the secrets of the server. The variables that every program has are none.
    pub(super) fn of(server: &Server, variable: impl Fn(&str) -> Option<String>) -> Self {
        let secret = |name: &str, variable_name: &str| {
            let value = variable(variable_name).filter(|value| !value.is_empty())?;
            Some(Redactor::new(name, &Zeroizing::new(value)))
        };
        let of_header = |(name, header): (&String, &ServerHeader)| secret(name, &header.variable);
        Self(match &server.reached {
            Reached::Address(address) => address.headers.iter().filter_map(of_header).collect(),
            Reached::Program(program) => {
                let handed = program.variables.iter().map(String::as_str);
                let own = handed.filter(|name| !ENVIRONMENT.contains(name));
                own.filter_map(|name| secret(name, name)).collect()
            }
        })
    }

    /// Returns the text without secrets. It must be called before the text is cut, because a cut secret would
    /// not be found.
    pub(super) fn text(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| secret.redact(&text))
    }

    /// Returns the start of a server's text, on one line and without secrets.
    pub(super) fn short(&self, text: &str) -> String {
        let text = self.text(text);
        let line = text.chars().map(|c| if c.is_control() { ' ' } else { c });
        line.take(QUOTED).collect()
    }

    pub(super) fn value(&self, value: Value) -> Value {
        self.0.iter().fold(value, |value, secret| secret.redact_value(value))
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
            ConnectError::Unreadable { problem } => {
                ConnectError::Unreadable { problem: self.text(&problem) }
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

    /// Returns `true` if the listed tools contain a secret.
    pub(super) fn are_in(&self, listed: &[Value]) -> bool {
        let text = Value::from(listed).to_string();
        self.text(&text) != text
    }
}
