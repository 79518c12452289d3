//! The saved form of a run: tagged, versioned, and separate from the types that it saves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Batch, End, Measured, Phase, Run};
use crate::message::disk::{CallDisk, MessageDisk, UsageDisk};
use crate::outcome::disk::{FailureDisk, LimitsDisk, RefusalDisk};
use crate::tool::disk::ToolDisk;
use crate::{Decision, Nanos, OutputContract, OutputField};

impl Run {
    /// Saves the whole run, so that [`Run::from_json`] continues with byte-identical requests.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(&RunDisk::of(self)).expect("because every part of it is plain JSON")
    }

    /// Restores a run from the output of [`Run::to_json`].
    ///
    /// # Errors
    ///
    /// [`RunDiskError`] if the text is not a run, or has another version.
    pub fn from_json(text: &str) -> Result<Self, RunDiskError> {
        let header: Header = serde_json::from_str(text).map_err(RunDiskError::unreadable)?;
        if header.format != FORMAT {
            return Err(RunDiskError::OtherFormat { format: header.format });
        }
        if !(1..=VERSION).contains(&header.version) {
            return Err(RunDiskError::OtherVersion { version: header.version });
        }
        let disk: RunDisk<'_> = serde_json::from_str(text).map_err(RunDiskError::unreadable)?;
        disk.into_run().map_err(|problem| RunDiskError::Contradiction { problem })
    }
}

/// The reason why a text cannot be restored to a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunDiskError {
    /// The parts do not fit together.
    #[error("saved run contradicts itself: {problem}; start the directive again")]
    Contradiction {
        /// The problem.
        problem: String,
    },
    /// The text has another format.
    #[error("`{format}` is not the format of a saved run, which is `rye-run`")]
    OtherFormat {
        /// The format that the text names.
        format: String,
    },
    /// It was saved by another version of the program.
    #[error(
        "saved run has version {version} and this program reads versions 1 and 2; use the program that saved it"
    )]
    OtherVersion {
        /// The version that the text names.
        version: u64,
    },
    /// The text cannot be parsed.
    #[error("saved run cannot be read; start the directive again")]
    Unreadable {
        /// The error of the parser.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
}

impl RunDiskError {
    fn unreadable(error: serde_json::Error) -> Self {
        Self::Unreadable { source: Box::new(error) }
    }
}

const FORMAT: &str = "rye-run";
/// Version 1 has no retries, and is read as well.
const VERSION: u64 = 2;

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RunDisk<'a> {
    format: String,
    version: u64,
    system: Option<String>,
    tools: Vec<ToolDisk>,
    max_output_tokens: u64,
    contract: Vec<FieldDisk>,
    limits: LimitsDisk,
    messages: Vec<MessageDisk<'a>>,
    phase: PhaseDisk<'a>,
    turns: u64,
    usage: UsageDisk,
    cost_nanos: u64,
    elapsed_millis: u64,
    measured: Option<MeasuredDisk>,
    reminded: bool,
    refusals: Vec<RefusalDisk>,
    text: String,
    #[serde(default)]
    retries: u64,
    #[serde(default)]
    failed_in: Option<BatchDisk<'a>>,
}

impl<'a> RunDisk<'a> {
    fn of(run: &'a Run) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            system: run.system.as_deref().map(str::to_owned),
            tools: run.tools.iter().map(ToolDisk::of).collect(),
            max_output_tokens: run.max_output_tokens,
            contract: run.contract.fields().iter().map(FieldDisk::of).collect(),
            limits: LimitsDisk::of(&run.limits),
            messages: run.messages.iter().map(MessageDisk::of).collect(),
            phase: PhaseDisk::of(&run.phase),
            turns: run.turns,
            usage: UsageDisk::of(&run.usage),
            cost_nanos: run.cost.get(),
            elapsed_millis: u64::try_from(run.elapsed.as_millis()).unwrap_or(u64::MAX),
            measured: run
                .measured
                .map(|Measured { messages, tokens }| MeasuredDisk { messages, tokens }),
            reminded: run.is_reminded,
            refusals: run.refusals.iter().map(RefusalDisk::of).collect(),
            text: run.text.clone(),
            retries: run.retries,
            failed_in: run.failed_in.as_ref().map(BatchDisk::of),
        }
    }

    fn into_run(self) -> Result<Run, String> {
        let fields: Result<Vec<OutputField>, String> =
            self.contract.into_iter().map(FieldDisk::into_field).collect();
        let messages = self.messages.into_iter().map(MessageDisk::into_message).collect();
        Ok(Run {
            system: self.system.map(Arc::from),
            tools: self.tools.into_iter().map(ToolDisk::into_tool).collect(),
            max_output_tokens: self.max_output_tokens,
            contract: OutputContract::new(fields?).map_err(|error| error.to_string())?,
            limits: self.limits.into_limits(),
            messages,
            phase: self.phase.into_phase()?,
            turns: self.turns,
            usage: self.usage.into_usage(),
            cost: Nanos::new(self.cost_nanos),
            elapsed: Duration::from_millis(self.elapsed_millis),
            measured: self
                .measured
                .map(|disk| Measured { messages: disk.messages, tokens: disk.tokens }),
            is_reminded: self.reminded,
            refusals: self.refusals.into_iter().map(RefusalDisk::into_refusal).collect(),
            text: self.text,
            retries: self.retries,
            failed_in: self.failed_in.map(BatchDisk::into_batch).transpose()?,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FieldDisk {
    name: String,
    value_type: String,
    required: bool,
    description: String,
}

impl FieldDisk {
    fn of(field: &OutputField) -> Self {
        Self {
            name: field.name.clone(),
            value_type: field.value_type.to_string(),
            required: field.required,
            description: field.description.clone(),
        }
    }

    fn into_field(self) -> Result<OutputField, String> {
        let value_type = self.value_type.parse().map_err(|error| format!("{error}"))?;
        let field = if self.required { OutputField::required } else { OutputField::optional };
        Ok(field(&self.name, value_type).with_description(&self.description))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MeasuredDisk {
    messages: usize,
    tokens: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum PhaseDisk<'a> {
    Ready,
    Asked,
    Calling(BatchDisk<'a>),
    Waiting { batch: BatchDisk<'a>, index: usize },
    Cancelled,
    Completed { outputs: Option<Map<String, Value>>, text: String },
    Continued,
    Failed(FailureDisk),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchDisk<'a> {
    calls: Vec<CallDisk<'a>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    decisions: BTreeMap<usize, String>,
    /// The reasons of the denials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    reasons: BTreeMap<usize, String>,
}

impl<'a> BatchDisk<'a> {
    fn of(batch: &'a Batch) -> Self {
        let decisions = batch.decisions.iter();
        let reasons = decisions
            .clone()
            .filter_map(|(index, decision)| Some((*index, decision.reason()?.to_string())));
        Self {
            calls: batch.calls.iter().map(CallDisk::of).collect(),
            reasons: reasons.collect(),
            decisions: decisions.map(|(index, decision)| (*index, decision.to_string())).collect(),
        }
    }

    fn into_batch(self) -> Result<Batch, String> {
        let read = |(index, word): (usize, String)| {
            let reason = self.reasons.get(&index).map(String::as_str);
            Decision::read(&word, reason).map(|decision| (index, decision))
        };
        let decisions = self.decisions.into_iter().map(read).collect::<Result<_, String>>()?;
        Ok(Batch { calls: self.calls.into_iter().map(CallDisk::into_call).collect(), decisions })
    }
}

impl<'a> PhaseDisk<'a> {
    fn of(phase: &'a Phase) -> Self {
        match phase {
            Phase::Ready => Self::Ready,
            Phase::Asked => Self::Asked,
            Phase::Calling(batch) => Self::Calling(BatchDisk::of(batch)),
            Phase::Waiting { batch, index } => {
                Self::Waiting { batch: BatchDisk::of(batch), index: *index }
            }
            Phase::Done(End::Cancelled) => Self::Cancelled,
            Phase::Done(End::Completed { outputs, text }) => {
                Self::Completed { outputs: outputs.clone(), text: text.clone() }
            }
            Phase::Done(End::Continued) => Self::Continued,
            Phase::Done(End::Failed(failure)) => Self::Failed(FailureDisk::of(failure)),
        }
    }

    fn into_phase(self) -> Result<Phase, String> {
        Ok(match self {
            Self::Ready => Phase::Ready,
            Self::Asked => Phase::Asked,
            Self::Calling(batch) => Phase::Calling(batch.into_batch()?),
            Self::Waiting { batch, index } => {
                let batch = batch.into_batch()?;
                if batch.call(index).is_none() {
                    return Err(format!("no call {index} waits"));
                }
                Phase::Waiting { batch, index }
            }
            Self::Cancelled => Phase::Done(End::Cancelled),
            Self::Completed { outputs, text } => Phase::Done(End::Completed { outputs, text }),
            Self::Continued => Phase::Done(End::Continued),
            Self::Failed(failure) => Phase::Done(End::Failed(failure.into_failure()?)),
        })
    }
}
