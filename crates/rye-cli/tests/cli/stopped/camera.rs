//! What is on disk at each moment at which a thread looks at the clock or records something.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use rye::sign::SigningKey;
use rye::thread::transcript::Event;
use rye::thread::{Clock, Observer, ThreadId, ThreadRecord};
use rye::types::{Moment, ThreadState};
use serde_json::Value;

/// A folder of threads as a program leaves it that is killed at one moment.
#[derive(Clone)]
pub(super) struct Shot {
    files: BTreeMap<PathBuf, Vec<u8>>,
    pub(super) left: Left,
}

/// How far a program got with what it was doing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Left {
    /// It had done it.
    Done,
    /// The transcript may grow beyond the end that the record of the thread knew.
    Open,
    /// The transcript did, and the record knows no other end.
    Told,
    /// The last record of a transcript was written by half.
    Torn,
    /// The record of a thread is not listed as it is.
    Unlisted,
}

impl Shot {
    pub(super) fn of(folder: &Path) -> Self {
        // A child may rename a temporary file between the listing and the reading: then nothing is what was listed.
        loop {
            if let Some(shot) = Self::of_files(folder) {
                return shot;
            }
        }
    }

    /// Reads the files; `None` if one of them was removed meanwhile.
    fn of_files(folder: &Path) -> Option<Self> {
        let mut files = BTreeMap::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(&next).into_iter().flatten().map(Result::unwrap) {
                let (path, kind) = (entry.path(), entry.file_type().unwrap());
                if kind.is_dir() {
                    folders.push(path);
                } else if !path.to_string_lossy().ends_with("-shm") {
                    // What SQLite shares between the programs that live goes with the last of them.
                    let name = path.strip_prefix(folder).unwrap().to_owned();
                    match fs::read(&path) {
                        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
                        bytes => files.insert(name, bytes.unwrap()),
                    };
                }
            }
        }
        Some(Self { files, left: Left::Done })
    }

    /// Puts everything where it was.
    pub(super) fn restore(&self, folder: &Path) {
        drop(fs::remove_dir_all(folder));
        for (name, bytes) in &self.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// The same with the transcripts alone.
    pub(super) fn without_derived(&self) -> Self {
        let mut shot = self.clone();
        shot.files.retain(|path, _| path.ends_with("transcript.jsonl"));
        shot
    }

    /// The threads that have a folder with anything in it.
    pub(super) fn threads(&self) -> Vec<String> {
        let folders = self.files.keys().filter_map(|path| path.parent()?.to_str());
        let mut threads: Vec<String> =
            folders.filter(|name| !name.is_empty()).map(str::to_owned).collect();
        threads.dedup();
        threads
    }

    /// What the record of a thread says of it, where it has one.
    pub(super) fn record(&self, thread: &str) -> Option<Value> {
        serde_json::from_slice(self.files.get(&Path::new(thread).join("thread.json"))?).unwrap()
    }

    /// The state in that record. A thread has none before its first end, so that its transcript has the state.
    pub(super) fn state(&self, thread: &str) -> Option<ThreadState> {
        if let Some(record) = self.record(thread) {
            return Some(record["state"].as_str().unwrap().parse().unwrap());
        }
        let records = self.records(thread);
        let last = records.iter().rfind(|it| it["event"] != "checkpoint")?;
        let waits = last["event"] == "approval_requested";
        let unended = if waits { ThreadState::Suspended } else { ThreadState::Running };
        Some(self.ended(thread).unwrap_or(unended))
    }

    /// The states of all threads.
    pub(super) fn states(&self) -> Vec<Option<&'static str>> {
        let state = |thread: &String| Some(self.state(thread)?.as_str());
        self.threads().iter().map(state).collect()
    }

    /// The records of its transcript that count: whole ones, without an end or a decision that no checkpoint covers.
    pub(super) fn records(&self, thread: &str) -> Vec<Value> {
        let text = self.files.get(&Path::new(thread).join("transcript.jsonl"));
        let lines = text.map(|text| text.split_inclusive(|byte| *byte == b'\n'));
        let whole = lines.into_iter().flatten().filter(|line| line.ends_with(b"\n"));
        let mut records: Vec<Value> =
            whole.map(|line| serde_json::from_slice(line).unwrap()).collect();
        let signed =
            records.iter().rposition(|it| it["event"] == "checkpoint").map_or(0, |it| it + 1);
        let needs_one = |it: &Value| SIGNED.contains(&it["event"].as_str().unwrap());
        let unsigned = records.iter().skip(signed).position(needs_one);
        records.truncate(unsigned.map_or(records.len(), |it| signed + it));
        records
    }

    /// The end that its transcript holds.
    pub(super) fn ended(&self, thread: &str) -> Option<ThreadState> {
        let end = |record: &Value| match record["event"].as_str().unwrap() {
            "thread_complete" => Some(ThreadState::Completed),
            "thread_continued" => Some(ThreadState::Continued),
            "thread_error" => Some(record["payload"]["state"].as_str().unwrap().parse().unwrap()),
            _ => None,
        };
        self.records(thread).iter().rev().find_map(end)
    }

    /// The thread in which its conversation goes on.
    pub(super) fn next(&self, thread: &str) -> Option<String> {
        let records = self.records(thread);
        let end = records.iter().rfind(|it| it["event"] == "thread_continued")?;
        Some(end["payload"]["next"].as_str().unwrap().to_owned())
    }

    /// What may be found of all that was done between this and the next picture without a look at the clock.
    fn between(&self, next: &Self, key: &SigningKey) -> Vec<Self> {
        let changed = |name: &str| -> Vec<&PathBuf> {
            let of_name = next.files.keys().filter(|path| path.ends_with(name));
            of_name.filter(|path| self.files.get(*path) != next.files.get(*path)).collect()
        };
        let mut between = Vec::new();
        let (transcripts, records) = (changed("transcript.jsonl"), changed("thread.json"));
        // Where a record of a thread changes as well, that comes first or last.
        if let ([transcript], []) = (transcripts.as_slice(), records.as_slice()) {
            let (before, after) = (self.files.get(*transcript), &next.files[*transcript]);
            let before = before.map_or(0, Vec::len);
            if before + HALF < after.len() {
                let mut torn = Self { left: Left::Torn, ..self.clone() };
                torn.files.insert((*transcript).clone(), after[..after.len() - HALF].to_vec());
                between.push(torn);
            }
        }
        if let ([transcript], [record]) = (transcripts.as_slice(), records.as_slice())
            && let Some(reopened) = self.reopened(record, key)
        {
            let mut open = Self { left: Left::Open, ..self.clone() };
            let mut told = Self { left: Left::Told, ..self.clone() };
            open.files.insert((*record).clone(), reopened.clone());
            told.files.insert((*record).clone(), reopened);
            told.files.insert((*transcript).clone(), next.files[*transcript].clone());
            between.extend([open, told]);
        }
        let databases = |shot: &Self| -> BTreeMap<PathBuf, Vec<u8>> {
            let is_one = |path: &Path| path.to_string_lossy().starts_with("registry.db");
            shot.files
                .iter()
                .filter(|(path, _)| is_one(path))
                .map(|(p, b)| (p.clone(), b.clone()))
                .collect()
        };
        let (old, new) = (databases(self), databases(next));
        if !records.is_empty() && old != new && !old.is_empty() {
            let mut unlisted = Self { left: Left::Unlisted, ..next.clone() };
            unlisted.files.retain(|path, _| !new.contains_key(path));
            unlisted.files.extend(old);
            between.push(unlisted);
        }
        between
    }

    /// The record of a thread that said where its transcript ends, as it is once that may grow.
    fn reopened(&self, record: &Path, key: &SigningKey) -> Option<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("thread.json");
        fs::write(&file, self.files.get(record)?).unwrap();
        let mut record = ThreadRecord::read(folder.path(), &[key.public()]).unwrap();
        record.transcript.iter_mut().for_each(|claim| claim.is_open = true);
        record.write(folder.path(), key).unwrap();
        Some(fs::read(&file).unwrap())
    }
}

/// The events that count only under a checkpoint.
const SIGNED: [&str; 6] = [
    "approval_decided",
    "thread_complete",
    "thread_continued",
    "thread_error",
    "thread_resumed",
    "thread_start",
];

/// So many bytes are missing of a record that was written by half; every record is longer.
const HALF: usize = 20;

/// Takes a picture of a folder whenever anything is done, unless nothing has changed.
pub(super) struct Camera {
    folder: PathBuf,
    shots: Mutex<Vec<Shot>>,
}

impl Camera {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, shots: Mutex::default() }
    }

    fn shoot(&self) {
        let (shot, mut shots) = (Shot::of(&self.folder), self.shots.lock().unwrap());
        if shots.last().is_none_or(|last| last.files != shot.files) {
            shots.push(shot);
        }
    }

    /// All pictures, with one of what is there now, and what can be found between two of them: a transcript whose last record
    /// was written by half, or that says more than the record of its thread, and such a record that is not listed yet.
    pub(super) fn into_shots(self, key: &SigningKey) -> Vec<Shot> {
        self.shoot();
        let taken = self.shots.into_inner().unwrap();
        let mut shots: Vec<Shot> = taken.first().cloned().into_iter().collect();
        for pair in taken.windows(2) {
            shots.extend(pair[0].between(&pair[1], key));
            shots.push(pair[1].clone());
        }
        shots
    }
}

impl Clock for Camera {
    fn now(&self) -> Moment {
        self.shoot();
        Moment::from_unix_millis(1_795_300_000_000)
    }

    fn elapsed(&self) -> Duration {
        self.shoot();
        Duration::ZERO
    }
}

impl Observer for Camera {
    fn event(&self, _: &Event) {
        self.shoot();
    }

    fn record(&self, _: &str) {
        self.shoot();
    }

    fn below(&self, _: &ThreadId, _: usize, _: &Event) {
        self.shoot();
    }
}
