//! The real loop over recorded answers: nothing is requested, nothing happens (SPEC 10.12).

mod recording;
mod visible;

use std::sync::Arc;

use rye_caps::Authority;
use rye_sign::SigningKey;
use rye_types::Moment;

pub(super) use self::recording::Recording;
use self::visible::{VisibleText, digest, visible};
use super::{DriveContext, Driver};
use crate::store::{MemoryStore, Store};
use crate::transcript::payload::Injected;
use crate::transcript::{Reading, TranscriptError, read};
use crate::{
    Cancel, Hooks, Journal, JournalError, Palette, Provider, ProviderInfo, Run, ThreadRecord,
};

/// Everything that a replay depends on, which is much less than for a run.
#[expect(clippy::exhaustive_structs, reason = "a replay that lacks one of these must not compile")]
#[derive(Debug)]
pub struct ReplayContext<'a> {
    /// The provider that answered, with the prices and limits that count now.
    pub info: &'a ProviderInfo,
    /// The tools whose specifications the run was made with; none of them is called.
    pub palette: &'a Palette,
    /// The authority that allows the calls.
    pub authority: &'a Authority,
    /// The composed items of the opening.
    pub injected: &'a [Injected],
    /// The hooks that act at the events of the thread; none of their actions is run.
    pub hooks: &'a Hooks,
    /// The thread's record.
    pub record: &'a ThreadRecord,
}

/// The result of a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Replayed {
    /// The number of answers that were taken from the record.
    pub turns: u64,
    /// The SHA-256, in hex, over everything recorded that the model saw or said.
    pub recorded: String,
    /// The same over the replay.
    pub replayed: String,
    /// The first place where the two differ.
    pub divergence: Option<Divergence>,
}

/// The first thing that a replay did otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Divergence {
    /// The name of the text, such as `the system prompt` or `the result of call 3 of turn 2`.
    pub what: String,
    /// The recorded text; empty where nothing was recorded.
    pub recorded: String,
    /// The text of the replay; empty where it has none.
    pub replayed: String,
}

/// Leads a run that has not begun through the recorded answers, with the receipts in place of all effects, and compares
/// what a model would see with what it saw.
///
/// A thread that was cut off, failed or waits is compared as far as it came.
///
/// # Errors
///
/// [`TranscriptError::Unread`] if this version cannot read a record. Otherwise the thread's record cannot be kept in memory, which is
/// a defect of this crate.
pub async fn replay(
    run: Run,
    reading: &Reading,
    context: ReplayContext<'_>,
) -> Result<Replayed, JournalError> {
    TranscriptError::refuse_unread(reading)?;
    let recording = Arc::new(Recording::of(reading));
    let recorded = visible(&reading.records);
    let store = Arc::new(MemoryStore::new());
    let key = key()?;
    let mut record = context.record.clone();
    record.state = rye_types::ThreadState::Created;
    record.transcript = None;
    let kept: Arc<dyn Store> = Arc::clone(&store) as _;
    let mut journal = Journal::in_memory(record, Arc::clone(&key), kept)?;
    let voice = Voice::of(&recording, context.info);
    let driver = DriveContext {
        provider: &voice,
        palette: context.palette,
        authority: context.authority,
        journal: &mut journal,
        clock: &*recording,
        observer: &*recording,
        approver: &*recording,
        cancel: &Cancel::new(),
        injected: context.injected,
        hooks: context.hooks,
    };
    Driver::new(&run, driver, Some(Arc::clone(&recording))).drive(run).await;
    let thread = &context.record.thread;
    let bytes = store.journal(thread)?;
    // A record of its own is whole, and signed by its own key.
    let replayed = read(&bytes, thread, &[key.public()]).map(|reading| visible(&reading.records));
    Ok(compare(&recording, &recorded, &replayed.unwrap_or_default()))
}

impl Driver<'_> {
    /// Has the run of a replay go on where the thread did that had ended, and says whether it does.
    pub(super) fn replays_reopening(&mut self, run: &mut Run) -> bool {
        let recording = self.recording.as_ref().filter(|_| run.failure().is_some());
        let Some(limits) = recording.and_then(|recording| recording.take_reopening()) else {
            return false;
        };
        limits.into_iter().for_each(|limits| run.limit(limits));
        self.reopen_run(run).is_ok()
    }
}

fn compare(recording: &Recording, recorded: &[VisibleText], replayed: &[VisibleText]) -> Replayed {
    // What the replay does after the record ends without an end was not recorded, and proves nothing.
    let length =
        if recording.is_complete() { replayed.len() } else { replayed.len().min(recorded.len()) };
    let replayed = replayed.get(..length).unwrap_or(replayed);
    let places = 0..recorded.len().max(replayed.len());
    let divergence = places.into_iter().find_map(|place| {
        let then = recorded.get(place);
        let now = replayed.get(place);
        (then != now).then(|| Divergence {
            what: then.or(now).map(|seen| seen.what.clone()).unwrap_or_default(),
            recorded: then.map(|seen| seen.text.clone()).unwrap_or_default(),
            replayed: now.map(|seen| seen.text.clone()).unwrap_or_default(),
        })
    });
    let recorded = digest(recorded);
    let replayed = digest(replayed);
    Replayed { turns: recording.turns(), recorded, replayed, divergence }
}

fn key() -> Result<Arc<SigningKey>, JournalError> {
    let failed = |error| crate::store::StoreError::Database { source: Box::new(error) };
    Ok(Arc::new(SigningKey::generate().map_err(failed)?))
}

const NOW: Moment = Moment::from_unix_millis(0);

/// Answers what was answered.
struct Voice {
    info: ProviderInfo,
    recording: Arc<Recording>,
    fallback: Option<Box<Self>>,
}

impl Voice {
    fn of(recording: &Arc<Recording>, first: &ProviderInfo) -> Self {
        let mut infos = recording.answerers(first).into_iter().rev();
        let last = infos.next().unwrap_or_else(|| first.clone());
        let speaks = |info, fallback| Self { info, recording: Arc::clone(recording), fallback };
        infos.fold(speaks(last, None), |next, info| speaks(info, Some(Box::new(next))))
    }
}

#[async_trait::async_trait]
impl Provider for Voice {
    fn describe(&self) -> ProviderInfo {
        self.info.clone()
    }

    async fn complete(&self, _: &crate::Request) -> Result<crate::Reply, crate::ProviderError> {
        self.recording.reply()
    }

    fn fallback(&self) -> Option<&dyn Provider> {
        self.fallback.as_deref().map(|next| next as &dyn Provider)
    }
}
