//! The saved form of messages, shared by saved runs and transcripts.

use std::convert::Infallible;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Message, Reply, StopReason, ToolCall, ToolResult};
use crate::Usage;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UsageDisk {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl UsageDisk {
    pub(crate) fn of(usage: &Usage) -> Self {
        let Usage { input, output, cache_read, cache_write } = *usage;
        Self { input, output, cache_read, cache_write }
    }

    pub(crate) fn into_usage(self) -> Usage {
        let Self { input, output, cache_read, cache_write } = self;
        Usage { input, output, cache_read, cache_write }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallDisk {
    id: String,
    name: String,
    arguments: ArgumentsDisk,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArgumentsDisk {
    Read(Value),
    Unreadable(String),
}

impl CallDisk {
    pub(crate) fn of(call: &ToolCall) -> Self {
        let arguments = match &call.arguments {
            Ok(value) => ArgumentsDisk::Read(value.clone()),
            Err(reason) => ArgumentsDisk::Unreadable(reason.clone()),
        };
        Self { id: call.id.clone(), name: call.name.clone(), arguments }
    }

    pub(crate) fn into_call(self) -> ToolCall {
        let arguments = match self.arguments {
            ArgumentsDisk::Read(value) => Ok(value),
            ArgumentsDisk::Unreadable(reason) => Err(reason),
        };
        ToolCall { id: self.id, name: self.name, arguments }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyDisk {
    raw: Box<RawValue>,
    text: String,
    reasoning: String,
    calls: Vec<CallDisk>,
    usage: UsageDisk,
    stop: String,
}

impl ReplyDisk {
    pub(crate) fn of(reply: &Reply) -> Self {
        Self {
            raw: reply.raw().to_owned(),
            text: reply.text.clone(),
            reasoning: reply.reasoning.clone(),
            calls: reply.calls.iter().map(CallDisk::of).collect(),
            usage: UsageDisk::of(&reply.usage),
            stop: reply.stop.to_string(),
        }
    }

    pub(crate) fn into_reply(self) -> Reply {
        let stop: Result<StopReason, Infallible> = self.stop.parse();
        let Ok(stop) = stop;
        let mut reply = Reply::new(self.raw, stop);
        reply.text = self.text;
        reply.reasoning = self.reasoning;
        reply.calls = self.calls.into_iter().map(CallDisk::into_call).collect();
        reply.usage = self.usage.into_usage();
        reply
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum MessageDisk {
    Assistant(ReplyDisk),
    ToolResults(Vec<ResultDisk>),
    User { text: String },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResultDisk {
    call_id: String,
    name: String,
    content: Value,
    is_error: bool,
}

impl MessageDisk {
    pub(crate) fn of(message: &Message) -> Self {
        match message {
            Message::Assistant { reply } => Self::Assistant(ReplyDisk::of(reply)),
            Message::ToolResults { results } => {
                Self::ToolResults(results.iter().map(ResultDisk::of).collect())
            }
            Message::User { text } => Self::User { text: text.clone() },
        }
    }

    pub(crate) fn into_message(self) -> Message {
        match self {
            Self::Assistant(reply) => Message::Assistant { reply: Arc::new(reply.into_reply()) },
            Self::ToolResults(results) => Message::ToolResults {
                results: results.into_iter().map(ResultDisk::into_result).collect(),
            },
            Self::User { text } => Message::User { text },
        }
    }
}

impl ResultDisk {
    fn of(result: &ToolResult) -> Self {
        let ToolResult { call_id, name, content, is_error } = result.clone();
        Self { call_id, name, content, is_error }
    }

    pub(crate) fn new(call_id: String, name: String, content: Value, is_error: bool) -> Self {
        Self { call_id, name, content, is_error }
    }

    pub(crate) fn into_result(self) -> ToolResult {
        let Self { call_id, name, content, is_error } = self;
        ToolResult { call_id, name, content, is_error }
    }
}
