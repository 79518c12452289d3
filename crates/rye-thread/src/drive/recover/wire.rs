//! The payloads of a transcript that decide how a thread is resumed.

use rye_transcript::disk::{
    AddedDisk, ChildEndDisk, FailureDisk, LimitHitDisk, LimitsDisk, RefusalDisk, ReplyDisk,
    ResultDisk, SpawnDisk,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::drive::hooks::{Entry, Frame, IN_A_TURN};
use crate::drive::progress::Proposal;
use crate::transcript::{Record, Triggered};
use crate::{
    AddedItem, Decision, Failure, Limits, Nanos, Prices, ProviderInfo, Returned, Spawn, ThreadId,
    ThreadState,
};

/// One record, read for what it says about the run.
pub(in crate::drive) enum Recorded {
    Asked {
        call_id: String,
        item_id: String,
        proposal: Proposal,
        covers: Vec<String>,
    },
    /// A hook added to the conversation; the text follows.
    ContextInTurn,
    /// The conversation continues in a successor.
    Continued {
        next: ThreadId,
    },
    Hook(Entry),
    CallResult {
        result: ResultDisk,
        refusal: Option<RefusalDisk>,
        limit: Option<LimitHitDisk>,
        added: Vec<AddedItem>,
    },
    CallStart {
        call_id: String,
        name: String,
    },
    /// The end of a child is on record.
    ChildEnded {
        child: ThreadId,
    },
    Decided {
        decision: Decision,
    },
    End(EndWire),
    /// The thread was handed to another model.
    Fallback(FallbackWire),
    /// A record that tells a person something, and the run nothing.
    Nothing,
    Opening(Value),
    /// The thread was resumed, with these limits if the operator raised one.
    Resumed {
        limits: Option<Limits>,
    },
    /// A child was about to begin.
    Spawned(Spawn),
    StepFinish {
        reply: ReplyDisk<'static>,
        cost: Nanos,
    },
    /// A request was about to be sent, or one more attempt of it.
    StepStart {
        reserved: Nanos,
    },
    /// A request ended without an answer.
    StepFailed,
    UserMessage {
        text: String,
    },
}

impl Recorded {
    pub(in crate::drive) fn read(record: &Record) -> Result<Self, String> {
        Ok(match record.event.as_str() {
            "approval_requested" => {
                let AskedWire { call_id, item_id, arguments, arguments_sha256: sha256, covers } =
                    payload(record)?;
                let proposal = Proposal { arguments, sha256 };
                Self::Asked { call_id, item_id, proposal, covers }
            }
            "approval_decided" => {
                let DecidedWire { decision, reason } = payload(record)?;
                Self::Decided { decision: Decision::read(&decision, reason.as_deref())? }
            }
            "model_fallback" => Self::Fallback(payload(record)?),
            "child_ended" => {
                let end = payload::<ChildEndDisk>(record)?.into_end()?;
                Self::ChildEnded { child: end.child }
            }
            "spawn_child" => Self::Spawned(payload::<SpawnDisk>(record)?.into_spawn()?),
            "request_failed" => Self::StepFailed,
            "request_retried" | "step_start" => {
                let RequestWire { reserved_nanos } = payload(record)?;
                Self::StepStart { reserved: Nanos::new(reserved_nanos) }
            }
            "step_finish" => {
                let FinishWire { reply, cost_nanos } = payload(record)?;
                Self::StepFinish { reply, cost: Nanos::new(cost_nanos) }
            }
            "context_injected" if payload::<PlaceWire>(record)?.position == IN_A_TURN => {
                Self::ContextInTurn
            }
            "hook_triggered" => Self::Hook(Entry::Triggered(payload::<HookWire>(record)?.frame()?)),
            "thread_continued" => {
                let next = payload::<NextWire>(record)?.next;
                Self::Continued { next: next.parse().map_err(|error| format!("{error}"))? }
            }
            "system_prompt" | "context_injected" | "thread_start" => {
                Self::Opening(payload(record)?)
            }
            "thread_complete" => {
                Self::End(EndWire { state: ThreadState::Completed.to_string(), failure: None })
            }
            "thread_error" => Self::End(payload(record)?),
            "tool_call_result" => Self::call_result(payload(record)?)?,
            "tool_call_start" => Self::call_start(payload(record)?),
            "user_message" => {
                let TextWire { text } = payload(record)?;
                Self::UserMessage { text }
            }
            "thread_resumed" => {
                let ResumedWire { limits } = payload(record)?;
                Self::Resumed { limits: limits.map(LimitsDisk::into_limits) }
            }
            "assistant_reasoning" | "assistant_text" | "checkpoint" => Self::Nothing,
            other => return Err(format!("this version knows no event `{other}`")),
        })
    }

    fn call_result(wire: ResultWire) -> Result<Self, String> {
        let ResultWire { call_id, name, content, is_error, refusal, limit, added, hook } = wire;
        let result = ResultDisk::new(call_id, name, content, is_error);
        let added = added.into_iter().map(AddedDisk::into_added).collect::<Result<_, _>>()?;
        Ok(match hook {
            None => Self::CallResult { result, refusal, limit, added },
            Some(hook) => {
                let refusal = refusal.map(RefusalDisk::into_refusal);
                let result = result.into_result();
                let returned = Returned { result, refusal, limit: None, added };
                Self::Hook(Entry::Result { hook, returned })
            }
        })
    }

    fn call_start(wire: CallWire) -> Self {
        let CallWire { call_id, name, hook, injects, target } = wire;
        let item = target.map(|target| target.item_id).unwrap_or_default();
        match hook {
            None => Self::CallStart { call_id, name },
            Some(hook) => Self::Hook(Entry::Start { hook, item, injects }),
        }
    }
}

impl Recorded {
    /// Returns `true` if the event shows that the hooks of earlier events have finished.
    pub(super) const fn is_after_hooks(&self) -> bool {
        !matches!(
            self,
            Self::Asked { .. }
                | Self::ChildEnded { .. }
                | Self::Decided { .. }
                | Self::Hook(_)
                | Self::Nothing
                | Self::Resumed { .. }
        )
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
    hook: Option<String>,
    #[serde(default)]
    injects: bool,
    target: Option<TargetWire>,
}

#[derive(Deserialize)]
struct AskedWire {
    call_id: String,
    item_id: String,
    arguments: Value,
    arguments_sha256: String,
    #[serde(default)]
    covers: Vec<String>,
}

#[derive(Deserialize)]
struct ResumedWire {
    limits: Option<LimitsDisk>,
}

#[derive(Deserialize)]
struct TargetWire {
    item_id: String,
}

#[derive(Deserialize)]
struct PlaceWire {
    position: String,
}

#[derive(Deserialize)]
struct NextWire {
    next: String,
}

#[derive(Deserialize)]
struct HookWire {
    evaluation: u64,
    hook_event: String,
    hook: String,
    declared_by: String,
    layer: u8,
    effect: Option<String>,
    failure: Option<FailureDisk>,
    #[serde(rename = "final")]
    is_final: bool,
    data: Value,
}

impl HookWire {
    fn frame(self) -> Result<Frame, String> {
        let words = |error: crate::HookWordError| error.to_string();
        let effect = self.effect.map(|effect| effect.parse()).transpose().map_err(words)?;
        Ok(Frame::new(&Triggered {
            evaluation: self.evaluation,
            event: self.hook_event.parse().map_err(words)?,
            hook: self.hook,
            declared_by: self.declared_by,
            layer: self.layer,
            effect,
            failure: self.failure.map(FailureDisk::into_failure).transpose()?,
            is_final: self.is_final,
            data: self.data,
        }))
    }
}

#[derive(Deserialize)]
struct DecidedWire {
    decision: String,
    reason: Option<String>,
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

    pub(in crate::drive) fn failure(self) -> Result<Option<Failure>, String> {
        self.failure.map(FailureDisk::into_failure).transpose()
    }
}

#[derive(Debug, Deserialize)]
pub(in crate::drive) struct FallbackWire {
    provider: String,
    model: String,
    nanos_per_million_tokens: Option<PricesWire>,
}

#[derive(Debug, Deserialize)]
struct PricesWire {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

impl FallbackWire {
    /// Returns the provider from this event on; members that are not recorded are those of
    /// `before`.
    pub(in crate::drive) fn info(&self, before: &ProviderInfo) -> ProviderInfo {
        let window = before.context_window;
        let most = before.max_output;
        let mut info = ProviderInfo::new(&self.provider, &self.model, window, most);
        info.prices = self.nanos_per_million_tokens.as_ref().map(|wire| {
            let mut prices = Prices::new(Nanos::new(wire.input), Nanos::new(wire.output));
            prices.cache_read = Nanos::new(wire.cache_read);
            prices.cache_write = Nanos::new(wire.cache_write);
            prices
        });
        info
    }
}

#[derive(Deserialize)]
struct RequestWire {
    reserved_nanos: u64,
}

#[derive(Deserialize)]
struct FinishWire {
    reply: ReplyDisk<'static>,
    cost_nanos: u64,
}

#[derive(Deserialize)]
struct ResultWire {
    call_id: String,
    name: String,
    content: Value,
    is_error: bool,
    refusal: Option<RefusalDisk>,
    limit: Option<LimitHitDisk>,
    #[serde(default)]
    added: Vec<AddedDisk>,
    hook: Option<String>,
}

#[derive(Deserialize)]
struct TextWire {
    text: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::tests::recorded;

    /// Every event that a program records can be resumed from.
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
