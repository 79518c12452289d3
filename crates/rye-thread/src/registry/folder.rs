//! The row of a thread, by the first record and the tail of its transcript.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use rye_files::open_unlinked;
use rye_transcript::{Event, EventKind, MAX_LINE_BYTES, UnverifiedRecord, first_line};
use rye_types::{Moment, Nanos, ThreadState, Usage};

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
    let record = UnverifiedRecord::read(first).filter(|record| record.thread() == thread)?;
    let start = record.listed_start()?;
    let Tail { state, updated, cost, turns, usage } = Tail::read(path).ok()??;
    let model = fallback(path).unwrap_or(start.model);
    let model = Some(model).filter(|model| !model.is_empty());
    Some(ThreadSummary {
        thread: thread.clone(),
        parent: start.parent,
        directive: record.directive().to_owned(),
        state,
        created: start.created,
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
        let record = UnverifiedRecord::read(&line)?;
        match record.kind() {
            EventKind::ModelFallback => {
                let Some(Event::ModelFallback(fallback)) = record.event() else { return None };
                return Some(fallback.model);
            }
            EventKind::StepFinish => return None,
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
    fn new(state: ThreadState, updated: Moment) -> Self {
        Self { state, updated, cost: Nanos::ZERO, turns: 0, usage: Usage::default() }
    }

    /// The totals, which only an end says.
    fn ended(self, end: &Event) -> Self {
        let (state, turns, usage, cost) = match end {
            Event::ThreadComplete(end) => (ThreadState::Completed, end.turns, end.usage, end.cost),
            Event::ThreadContinued(end) => (ThreadState::Continued, end.turns, end.usage, end.cost),
            Event::ThreadError(end) => (end.state, end.turns, end.usage, end.cost),
            _ => return self,
        };
        Self { state, turns, usage, cost, ..self }
    }

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
            let record = UnverifiedRecord::read(line)?;
            let is_end = record.kind().is_end();
            let tail = Self::new(ThreadState::Running, record.at());
            return Some(match record.kind() {
                EventKind::Checkpoint => {
                    is_signed = true;
                    continue;
                }
                EventKind::ApprovalRequested => Self { state: ThreadState::Suspended, ..tail },
                _ if is_end && is_signed => tail.ended(&record.event()?),
                _ => tail,
            });
        }
        None
    }
}

/// An end without a long text fits.
const FIRST_PIECE: u64 = 64 * 1_024;
