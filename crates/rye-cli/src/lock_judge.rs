//! The comparison of a directive with `.ai/rye.lock`, for runs that demand it.

use std::error::Error;
use std::io;
use std::path::Path;

use rye::files::read_plain;
use rye::resolve::ItemId;
use rye::types::ItemKind;
use rye::{ExecutedPart, Explained, Lock, LockError, LockJudge, PlanRequest, Project};

/// The comparison of a directive with the lock of its project, before a thread of it begins.
#[derive(Debug)]
pub(crate) struct LockOfProject;

impl LockJudge for LockOfProject {
    fn judge(&self, project: &Project, directive: &ItemId) -> Result<(), Vec<String>> {
        let lock = lock_of(project)?;
        let explained = Explained::of(project, &PlanRequest::new(directive.clone()));
        let explained = explained.map_err(|error| vec![with_causes(&error)])?;
        let Some(report) = explained.compare_with(&lock) else {
            return Err(vec!["it is not in the lock".to_owned()]);
        };
        let changes = report.findings.iter();
        let changes: Vec<String> =
            changes.map(|found| format!("{} {}", found.subject, found.change)).collect();
        if changes.is_empty() { Ok(()) } else { Err(changes) }
    }

    fn judge_executed(
        &self,
        project: &Project,
        thread: &ItemId,
        executed: (ItemKind, &ItemId),
        parts: &[ExecutedPart],
    ) -> Result<(), Vec<String>> {
        let changes = lock_of(project)?.compare_executed(thread, executed, parts);
        if changes.is_empty() { Ok(()) } else { Err(changes) }
    }
}

fn lock_of(project: &Project) -> Result<Lock, Vec<String>> {
    let root = project.library().spaces().project();
    let path = root.ok_or_else(|| vec!["there is no project".to_owned()])?.join(".ai/rye.lock");
    if !path.exists() {
        return Err(vec!["there is no lock; `rye lock` writes it".to_owned()]);
    }
    let text = read(&path).map_err(|error| vec![format!("`{}`: {error}", path.display())])?;
    text.parse().map_err(|error: LockError| vec![with_causes(&error)])
}

/// The largest number of bytes that are read of a lock.
const MOST: u64 = 64 * 1024 * 1024;

fn read(path: &Path) -> io::Result<String> {
    String::from_utf8(read_plain(path, MOST)?)
        .map_err(|_| io::Error::other("it is not text in UTF-8"))
}

fn with_causes(error: &dyn Error) -> String {
    let mut told = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        told.push_str(&format!(": {error}"));
        cause = error.source();
    }
    told
}
