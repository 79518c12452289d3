//! The payloads of a transcript, as far as a thread goes on from them.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::message::disk::{ReplyDisk, ResultDisk};
use crate::outcome::disk::{FailureDisk, RefusalDisk};
use crate::transcript::Record;
use crate::{Decision, Failure, Nanos, ThreadState};

/// One record, read for what it says about the run.
pub(in crate::drive) enum Recorded {
    Asked {
        call_id: String,
    },
    CallResult {
        result: ResultDisk,
        refusal: Option<RefusalDisk>,
    },
    CallStart {
        call_id: String,
        name: String,
    },
    Decided {
        decision: Decision,
    },
    End(EndWire),
    /// The thread was handed to another model.
    Fallback,
    /// A record that tells a person something, and the run nothing.
    Nothing,
    Opening(Value),
    StepFinish {
        reply: ReplyDisk,
        cost: Nanos,
    },
    StepStart {
        reservation: Option<u64>,
    },
    UserMessage {
        text: String,
    },
}

impl Recorded {
    pub(in crate::drive) fn read(record: &Record) -> Result<Self, String> {
        Ok(match record.event.as_str() {
            "approval_requested" => Self::Asked { call_id: payload::<CallWire>(record)?.call_id },
            "approval_decided" => {
                let DecidedWire { decision } = payload(record)?;
                Self::Decided { decision: decision.parse().map_err(|error| format!("{error}"))? }
            }
            "model_fallback" => Self::Fallback,
            "step_start" => {
                let StartWire { reservation } = payload(record)?;
                Self::StepStart { reservation }
            }
            "step_finish" => {
                let FinishWire { reply, cost_nanos } = payload(record)?;
                Self::StepFinish { reply, cost: Nanos::new(cost_nanos) }
            }
            "system_prompt" | "context_injected" | "thread_start" => {
                Self::Opening(payload(record)?)
            }
            "thread_complete" => {
                Self::End(EndWire { state: ThreadState::Completed.to_string(), failure: None })
            }
            "thread_error" => Self::End(payload(record)?),
            "tool_call_result" => {
                let ResultWire { call_id, name, content, is_error, refusal } = payload(record)?;
                let result = ResultDisk::new(call_id, name, content, is_error);
                Self::CallResult { result, refusal }
            }
            "tool_call_start" => {
                let CallWire { call_id, name } = payload(record)?;
                Self::CallStart { call_id, name }
            }
            "user_message" => {
                let TextWire { text } = payload(record)?;
                Self::UserMessage { text }
            }
            "assistant_reasoning" | "assistant_text" | "checkpoint" | "thread_resumed" => {
                Self::Nothing
            }
            other => return Err(format!("this version knows no event `{other}`")),
        })
    }
}

fn payload<T: DeserializeOwned>(record: &Record) -> Result<T, String> {
    serde_json::from_str(record.payload.get()).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct CallWire {
    call_id: String,
    #[serde(default)]
    name: String,
}

#[derive(Deserialize)]
struct DecidedWire {
    decision: String,
}

#[derive(Deserialize)]
pub(in crate::drive) struct EndWire {
    state: String,
    failure: Option<FailureDisk>,
}

impl EndWire {
    pub(super) fn state(&self) -> Result<ThreadState, String> {
        self.state.parse().map_err(|error| format!("{error}"))
    }

    pub(super) fn failure(self) -> Result<Option<Failure>, String> {
        self.failure.map(FailureDisk::into_failure).transpose()
    }
}

#[derive(Deserialize)]
struct FinishWire {
    reply: ReplyDisk,
    cost_nanos: u64,
}

#[derive(Deserialize)]
struct ResultWire {
    call_id: String,
    name: String,
    content: Value,
    is_error: bool,
    refusal: Option<RefusalDisk>,
}

#[derive(Deserialize)]
struct StartWire {
    #[serde(default)]
    reservation: Option<u64>,
}

#[derive(Deserialize)]
struct TextWire {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::tests::events::recorded;

    /// A thread goes on from whatever its program recorded.
    #[test]
    fn every_event_is_understood() {
        for record in recorded() {
            assert!(Recorded::read(&record).is_ok(), "{}", record.event);
        }
    }

    #[test]
    fn what_a_newer_version_records_is_refused() {
        let mut record = recorded().remove(0);
        record.event = "dream".to_owned();
        let refused = Recorded::read(&record).err();
        assert_eq!(refused.as_deref(), Some("this version knows no event `dream`"));
    }
}
