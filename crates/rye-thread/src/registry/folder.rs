//! The row of a thread, by the first record and the tail of its transcript.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rye_files::open_unlinked;
use rye_transcript::disk::UsageDisk;
use rye_transcript::{MAX_LINE_BYTES, first_line};
use rye_types::{Moment, Nanos, ThreadState, Usage};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::summary::ThreadSummary;
use crate::ThreadId;

/// The folders below `threads` that are named as threads are.
pub(super) fn names(threads: &Path) -> impl Iterator<Item = ThreadId> {
    let entries = fs::read_dir(threads).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The folder of a thread, read for the index. Nothing of it is verified, because nothing is decided by the index.
pub(super) enum Indexed {
    /// It holds no whole record.
    Nothing,
    Thread(ThreadSummary),
    /// Its records are none of this format.
    Unreadable,
}

impl Indexed {
    pub(super) fn read(threads: &Path, thread: &ThreadId) -> Self {
        let path = threads.join(thread.as_str()).join("transcript.jsonl");
        match first_line(&path) {
            Ok(first) if first.ends_with(b"\n") => {
                row(thread, &first, &path).map_or(Self::Unreadable, Self::Thread)
            }
            // A process was killed before its first record was whole.
            Ok(first) if (first.len() as u64) < MAX_LINE_BYTES => Self::Nothing,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Nothing,
            Ok(_) | Err(_) => Self::Unreadable,
        }
    }
}

fn row(thread: &ThreadId, first: &[u8], path: &Path) -> Option<ThreadSummary> {
    let record: RecordDisk<'_> = serde_json::from_slice(first).ok()?;
    if record.event != "thread_start" || record.thread_id != thread.as_str() {
        return None;
    }
    let start: StartDisk = serde_json::from_str(record.payload.get()).ok()?;
    let created: Moment = start.created.parse().ok()?;
    let parent = start.parent.map(|parent| parent.parse()).transpose().ok()?;
    let Tail { state, updated, cost, turns, usage } = Tail::read(path).ok()??;
    let thread = thread.clone();
    let directive = record.directive;
    let model = fallback(path).unwrap_or(start.model);
    let model = Some(model).filter(|model| !model.is_empty());
    Some(ThreadSummary {
        thread,
        parent,
        directive,
        state,
        created,
        updated,
        cost,
        model,
        turns,
        usage,
        used_unsigned: None,
    })
}

/// Reads the model of the fallback, which is recorded before the first answer; `None` if it was not asked.
fn fallback(path: &Path) -> Option<String> {
    let head = BufReader::new(open_unlinked(path).ok()?.take(MAX_LINE_BYTES));
    for line in head.split(b'\n') {
        let line = line.ok()?;
        let record: RecordDisk<'_> = serde_json::from_slice(&line).ok()?;
        match record.event {
            "model_fallback" => {
                return serde_json::from_str::<ModelDisk>(record.payload.get())
                    .ok()
                    .map(|it| it.model);
            }
            "step_finish" => return None,
            _ => {}
        }
    }
    None
}

/// The state of a thread by its last records.
struct Tail {
    state: ThreadState,
    updated: Moment,
    cost: Nanos,
    turns: u64,
    usage: Usage,
}

impl Tail {
    /// Reads as much of the end of a transcript as the last record takes that is no checkpoint; `None` if that is no record.
    fn read(path: &Path) -> io::Result<Option<Self>> {
        let mut file = open_unlinked(path)?;
        let length = file.metadata()?.len();
        let mut size = FIRST_PIECE;
        loop {
            let start = length.saturating_sub(size);
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(start))?;
            (&mut file).take(size).read_to_end(&mut bytes)?;
            if start > 0 {
                // The piece begins within a line.
                let line = bytes.iter().position(|byte| *byte == b'\n');
                bytes.drain(..line.map_or(bytes.len(), |line| line + 1));
            }
            let tail = Self::of(&bytes);
            if tail.is_some() || start == 0 || MAX_LINE_BYTES <= size {
                return Ok(tail);
            }
            size = MAX_LINE_BYTES.min(size * 8);
        }
    }

    /// Reads the last lines of a transcript; `None` if they hold nothing but checkpoints. An end counts only under a checkpoint.
    fn of(lines: &[u8]) -> Option<Self> {
        let whole = lines.split_inclusive(|byte| *byte == b'\n').rev();
        let mut is_signed = false;
        for line in whole.filter(|line| line.ends_with(b"\n")) {
            let record: RecordDisk<'_> = serde_json::from_slice(line).ok()?;
            if record.event == "checkpoint" {
                is_signed = true;
                continue;
            }
            let end = serde_json::from_str::<EndDisk>(record.payload.get()).ok();
            let named = end.as_ref().and_then(|end| end.state.as_deref()?.parse().ok());
            let state = match record.event {
                "thread_complete" if is_signed => ThreadState::Completed,
                "thread_continued" if is_signed => ThreadState::Continued,
                "thread_error" if is_signed => named?,
                "approval_requested" => ThreadState::Suspended,
                _ => ThreadState::Running,
            };
            // Only an end says the totals.
            let end = end.filter(|_| state.is_final()).unwrap_or_default();
            let usage = end.usage.map(UsageDisk::into_usage).unwrap_or_default();
            let cost = Nanos::new(end.cost_nanos);
            let turns = end.turns;
            return Some(Self { state, updated: record.ts.parse().ok()?, cost, turns, usage });
        }
        None
    }
}

/// An end without a long text fits.
const FIRST_PIECE: u64 = 64 * 1_024;

#[derive(Deserialize)]
struct RecordDisk<'a> {
    ts: String,
    thread_id: String,
    directive: String,
    event: &'a str,
    #[serde(borrow)]
    payload: &'a RawValue,
}

#[derive(Deserialize)]
struct StartDisk {
    created: String,
    parent: Option<String>,
    #[serde(default)]
    model: String,
}

#[derive(Deserialize)]
struct ModelDisk {
    model: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct EndDisk {
    state: Option<String>,
    cost_nanos: u64,
    turns: u64,
    usage: Option<UsageDisk>,
}
