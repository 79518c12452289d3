//! The changes by a run's tools that its operator should know, from the transcripts: changed
//! self-starting files, and files of a program from which `git` or `rye` would take orders.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::io;
use std::path::Path;

use rye_files::read_plain;
use rye_thread::ThreadId;
use rye_thread::transcript::payload::Receipt;
use rye_thread::transcript::{Event, EventKind, MAX_BYTES, UnverifiedRecord};
use rye_tools::{QUARANTINED, SELF_STARTING, UNCHECKED};
use serde_json::Value;

use super::RunReport;
use crate::thread_reading::ThreadReading;

impl ThreadReading {
    /// The self-starting files that the tools of this thread changed, sorted: those that run when an operator opens their
    /// folder, such as `.envrc`.
    #[must_use]
    pub fn self_starting(&self) -> Vec<String> {
        let receipts = self.transcript.of_kind(EventKind::ToolCallResult);
        let files: BTreeSet<String> = receipts
            .flat_map(|record| match record.event() {
                Ok(Event::ToolCallResult(receipt)) => files(&receipt),
                _ => Vec::new(),
            })
            .collect();
        files.into_iter().collect()
    }
}

impl RunReport {
    /// Names the self-starting files that the run changed, those of its children included, and warns of what a program made for
    /// `git` or `rye`. A transcript that cannot be read is a warning.
    pub(super) fn with_self_starting(mut self) -> Self {
        let threads = self.folder.parent().unwrap_or(Path::new("")).to_owned();
        let mut todo: Vec<ThreadId> = self.continues.clone();
        todo.push(self.thread.clone());
        let mut seen = BTreeSet::new();
        let mut found = BTreeSet::new();
        while let Some(thread) = todo.pop() {
            if !seen.insert(thread.clone()) {
                continue;
            }
            match read_changes(&threads, &thread) {
                Ok(Changed { self_starting, warnings, children }) => {
                    found.extend(self_starting);
                    self.warnings.extend(warnings);
                    todo.extend(children);
                }
                // A child whose program was killed before it began has none.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => self.warnings.push(not_known(&thread, &error)),
            }
        }
        self.self_starting = found.into_iter().collect();
        self
    }
}

/// The changes that one thread made in the project, and its children.
#[derive(Debug, Default)]
struct Changed {
    self_starting: Vec<String>,
    warnings: Vec<String>,
    children: Vec<ThreadId>,
}

fn not_known(thread: &ThreadId, problem: &dyn Display) -> String {
    format!("the self-starting files that thread {thread} changed are not known: {problem}")
}

/// The members of results that tell of changes.
const TOLD: [&str; 3] = [SELF_STARTING, QUARANTINED, UNCHECKED];

fn read_changes(threads: &Path, thread: &ThreadId) -> io::Result<Changed> {
    let path = threads.join(thread.as_str()).join("transcript.jsonl");
    let bytes = read_plain(&path, MAX_BYTES)?;
    let text = String::from_utf8_lossy(&bytes);
    let mut changed = Changed::default();
    // A line is read if it may tell of something.
    let spawned = EventKind::SpawnChild.name();
    let tells = |line: &&str| line.contains(spawned) || TOLD.iter().any(|told| line.contains(told));
    for line in text.lines().filter(tells) {
        // The last line may be half a record.
        let Some(record) = UnverifiedRecord::read(line.as_bytes()) else { continue };
        match record.event() {
            Some(Event::SpawnChild(spawn)) => changed.children.push(spawn.child),
            Some(Event::ToolCallResult(receipt)) => {
                changed.self_starting.extend(files(&receipt));
                changed.warnings.extend(warnings(&receipt));
            }
            None if matches!(record.kind(), EventKind::SpawnChild | EventKind::ToolCallResult) => {
                let kind = record.kind().name();
                let problem = format!("this version cannot read a `{kind}`");
                changed.warnings.push(not_known(thread, &problem));
            }
            _ => {}
        }
    }
    Ok(changed)
}

/// The warnings in the result of a call about what a program made for `git` or `rye`.
fn warnings(Receipt { content, .. }: &Receipt) -> Vec<String> {
    let moved = content[QUARANTINED].as_array().into_iter().flatten();
    let moved = moved.filter_map(|moved| {
        if let Some(more) = moved["more"].as_u64() {
            return Some(format!("a program made {more} more of them, which are renamed as well"));
        }
        let from = moved["path"].as_str()?;
        let to = moved["renamed_to"].as_str()?;
        let whose = if from.ends_with(".ai") { "`rye`" } else { "`git`" };
        Some(format!(
            "a program made `{from}`, which is `{to}` now, so that {whose} takes no orders from it"
        ))
    });
    let unchecked = content[UNCHECKED].as_str();
    let unchecked = unchecked.map(|why| {
        format!("what a program left for `git` or `rye` was not looked at as a whole: {why}")
    });
    moved.chain(unchecked).collect()
}

/// The files that the result of a call names.
fn files(Receipt { content, .. }: &Receipt) -> Vec<String> {
    let files = content[SELF_STARTING].as_array();
    files.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use rye_thread::{Spawn, ToolCall, ToolResult, Waiting};
    use rye_types::LimitSet;

    use super::*;

    #[test]
    fn what_threads_and_their_children_changed_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let id = |number: u8| format!("a-019a0000-0000-7000-8000-00000000000{number}");
        let transcript = |number: u8, lines: &[Value]| {
            let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            let thread = folder.path().join(id(number));
            std::fs::create_dir(&thread).unwrap();
            std::fs::write(thread.join("transcript.jsonl"), lines.join("\n") + "\n{\"self_sta")
                .unwrap();
        };
        let record = |event: Event| {
            let payload: Value = serde_json::from_str(event.payload().get()).unwrap();
            serde_json::json!({
                "ts": "2026-11-20T18:00:00.250Z",
                "thread_id": id(1),
                "directive": "a",
                "event": event.name(),
                "payload": payload,
            })
        };
        let call = ToolCall::new("1", "a", Value::Null);
        let result = |content: Value| {
            record(Event::ToolCallResult(Receipt::new(ToolResult::ok(&call, content))))
        };
        let spawn = |number: u8| {
            let child = id(number).parse().unwrap();
            let limits = LimitSet::default();
            record(Event::SpawnChild(Spawn::new("1", child, "a", Waiting::ForTheEnd, limits)))
        };
        let named = |file: &str| result(serde_json::json!({ "self_starting": [file, 1] }));
        transcript(1, &[named(".envrc"), spawn(2), spawn(1), spawn(3)]);
        let moved = |from: &str, to: &str| serde_json::json!({ "path": from, "renamed_to": to });
        let made = [
            moved("a/.git", "a/.git.quarantined"),
            moved("b/.ai", "b/.ai.quarantined"),
            serde_json::json!({ "more": 7 }),
        ];
        let made = serde_json::json!({ "quarantined": made });
        transcript(2, &[named(".husky/a"), result("self_starting".into()), result(made)]);
        let found = read_changes(folder.path(), &id(1).parse().unwrap()).unwrap();
        assert_eq!(found.self_starting, [".envrc"]);
        assert_eq!(found.children.len(), 3);
        let child = read_changes(folder.path(), &id(2).parse().unwrap()).unwrap();
        assert_eq!(child.self_starting, [".husky/a"]);
        assert_eq!(
            child.warnings,
            [
                "a program made `a/.git`, which is `a/.git.quarantined` now, so that `git` takes no orders from it",
                "a program made `b/.ai`, which is `b/.ai.quarantined` now, so that `rye` takes no orders from it",
                "a program made 7 more of them, which are renamed as well",
            ]
        );
        let mut unread = [named("x"), result("unread".into()), spawn(2), result("x".into())];
        unread[0]["payload"]["is_error"] = 7.into();
        unread[1]["payload"]["is_error"] = 7.into();
        unread[2]["payload"]["thread"] = 7.into();
        transcript(4, &unread);
        let unread = read_changes(folder.path(), &id(4).parse().unwrap()).unwrap();
        let told = |kind: EventKind| {
            let kind = kind.name();
            format!(
                "the self-starting files that thread {} changed are not known: this version cannot read a `{kind}`",
                id(4)
            )
        };
        assert_eq!(unread.warnings, [told(EventKind::ToolCallResult), told(EventKind::SpawnChild)]);
        let missing = read_changes(folder.path(), &id(3).parse().unwrap()).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
