//! The form of messages in transcripts.

use std::borrow::Cow;
use std::convert::Infallible;

use rye_types::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Counted, Reply, StopReason, ToolCall};

/// The saved form of a [`Usage`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UsageDisk {
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

    /// Returns the tokens.
    #[must_use]
    pub fn into_usage(self) -> Usage {
        let Self { input, output, cache_read, cache_write } = self;
        Usage { input, output, cache_read, cache_write }
    }
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallDisk<'a> {
    id: Cow<'a, str>,
    name: Cow<'a, str>,
    arguments: ArgumentsDisk<'a>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ArgumentsDisk<'a> {
    Read(Cow<'a, Value>),
    Unreadable(Cow<'a, str>),
}

impl<'a> CallDisk<'a> {
    pub(crate) fn of(call: &'a ToolCall) -> Self {
        let arguments = match &call.arguments {
            Ok(value) => ArgumentsDisk::Read(Cow::Borrowed(value)),
            Err(reason) => ArgumentsDisk::Unreadable(Cow::Borrowed(reason)),
        };
        Self { id: Cow::Borrowed(&call.id), name: Cow::Borrowed(&call.name), arguments }
    }

    pub(crate) fn into_call(self) -> ToolCall {
        let arguments = match self.arguments {
            ArgumentsDisk::Read(value) => Ok(value.into_owned()),
            ArgumentsDisk::Unreadable(reason) => Err(reason.into_owned()),
        };
        ToolCall { id: self.id.into_owned(), name: self.name.into_owned(), arguments }
    }
}

/// The saved form of a [`Reply`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReplyDisk<'a> {
    raw: Cow<'a, RawValue>,
    text: Cow<'a, str>,
    reasoning: Cow<'a, str>,
    calls: Vec<CallDisk<'a>>,
    usage: UsageDisk,
    /// Missing if the provider counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted: Option<CountedDisk>,
    stop: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CountedDisk {
    Unreported,
}

impl<'a> ReplyDisk<'a> {
    pub(crate) fn of(reply: &'a Reply) -> Self {
        Self {
            raw: Cow::Borrowed(reply.raw()),
            text: Cow::Borrowed(&reply.text),
            reasoning: Cow::Borrowed(&reply.reasoning),
            calls: reply.calls.iter().map(CallDisk::of).collect(),
            usage: UsageDisk::of(&reply.usage),
            counted: (reply.counted == Counted::Unreported).then_some(CountedDisk::Unreported),
            stop: reply.stop.to_string(),
        }
    }

    /// Returns the reply.
    #[must_use]
    pub(crate) fn into_reply(self) -> Reply {
        let stop: Result<StopReason, Infallible> = self.stop.parse();
        let Ok(stop) = stop;
        let mut reply = Reply::new(self.raw.into_owned(), stop);
        reply.text = self.text.into_owned();
        reply.reasoning = self.reasoning.into_owned();
        reply.calls = self.calls.into_iter().map(CallDisk::into_call).collect();
        reply.usage = self.usage.into_usage();
        if let Some(CountedDisk::Unreported) = self.counted {
            reply.counted = Counted::Unreported;
        }
        reply
    }
}
