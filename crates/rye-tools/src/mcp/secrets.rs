//! What a server at an address was sent and must not be told on, should it repeat it.

use rye_thread::{OutputSink, OutputStream, ToolOutput};
use serde_json::Value;
use zeroize::Zeroizing;

use super::connection::ConnectError;
use super::server::{Reached, Server};
use crate::web::{taken, taken_of_value};

/// Values of headers, by the variables that hold them.
pub(super) struct Secrets(Vec<(String, Zeroizing<String>)>);

impl Secrets {
    /// Those of the server; a program gets none.
    pub(super) fn of(server: &Server, variable: impl Fn(&str) -> Option<String>) -> Self {
        let Reached::Address(address) = &server.reached else { return Self(Vec::new()) };
        let secret = |name: &String| {
            let value = variable(name).filter(|value| !value.is_empty())?;
            Some((name.clone(), Zeroizing::new(value)))
        };
        Self(address.headers.values().filter_map(|header| secret(&header.variable)).collect())
    }

    fn text(&self, text: &str) -> String {
        let secrets = self.0.iter();
        secrets.fold(text.to_owned(), |text, (name, secret)| taken(&text, secret, name))
    }

    pub(super) fn output(&self, mut output: ToolOutput) -> ToolOutput {
        if !self.0.is_empty() {
            output.content = taken_of_value(output.content, &|text| self.text(text));
        }
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
            other => other,
        }
    }

    /// Whether one of them is in what a server lists.
    pub(super) fn are_in(&self, listed: &[Value]) -> bool {
        let text = Value::from(listed).to_string();
        self.text(&text) != text
    }

    /// A sink that is told of nothing else.
    pub(super) fn kept_from<'a>(&'a self, told: &'a dyn OutputSink) -> Keeping<'a> {
        Keeping { secrets: self, told }
    }
}

pub(super) struct Keeping<'a> {
    secrets: &'a Secrets,
    told: &'a dyn OutputSink,
}

impl OutputSink for Keeping<'_> {
    fn output(&self, stream: OutputStream, text: &str) {
        self.told.output(stream, &self.secrets.text(text));
    }
}
