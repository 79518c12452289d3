//! Children that an earlier program started: they go on, or are known by what they came to.

use std::sync::Arc;

use rye_thread::transcript::Reading;
use rye_thread::{RecordedSpawn, Spawn, ThreadId, ThreadState, spawned_children};

use super::conversation::Line;
use super::{ThreadSupervisor, came_to, child_bounds};
use crate::session::tree::{Report, Standing};
use crate::session::with_causes;
use crate::thread_reading::ThreadReading;

/// Threads with what happened in them.
type Transcripts = Vec<(ThreadId, Reading)>;

impl<'a> ThreadSupervisor<'a> {
    /// Resumes a child, or lets its parent wait. The obstacle, such as another driver or a missing
    /// key, may be gone when the parent is resumed again. Until then the parent waits, and the
    /// reason is reported.
    pub(super) fn go_on_or_wait(&mut self, parent: &ThreadId, spawn: &Spawn) {
        let mut line = self.line(parent, spawn);
        let last = self.last_of(&mut line);
        let threads = line.threads.clone();
        if let Err(reason) = last.and_then(|last| self.go_on(parent, line, last)) {
            self.tree.warn(format!("thread `{}` does not go on for now: {reason}", spawn.child));
            self.enter(parent, &spawn.directive, &threads, &Standing::Interrupted);
        }
    }

    /// Enters the threads of one conversation, those after the first below that one.
    fn enter(&self, parent: &ThreadId, directive: &str, line: &[ThreadId], standing: &Standing) {
        let Some((first, later)) = line.split_first() else { return };
        drop(self.tree.enter(first, Some(parent), directive, standing.clone()));
        for thread in later {
            drop(self.tree.enter(thread, Some(first), directive, standing.clone()));
        }
    }

    /// Goes on with a child that has a record, or finds what it came to.
    fn go_on(
        &mut self,
        parent: &ThreadId,
        mut line: Line<'a>,
        (reading, learned): (ThreadReading, Transcripts),
    ) -> Result<(), String> {
        let enter = |line: &Line<'_>, standing: &Standing| {
            self.enter(parent, &line.directive, &line.threads, standing);
        };
        if reading.record.state == ThreadState::Continued {
            learned.iter().try_for_each(|(thread, it)| self.learn(thread, it))?;
            let begun = line.begin_next()?;
            line.used.push(Report::of_reading(&reading));
            enter(&line, &Standing::Running);
            line.push(begun.journal.thread().clone());
            self.drive(line, begun);
            return Ok(());
        }
        if reading.record.state.is_final() {
            let ended = Standing::Ended(Arc::new(Report::of_reading(&reading)));
            enter(&line, &ended);
            enter(&line, &line.stands(ended));
            return learned.iter().try_for_each(|(thread, it)| self.learn(thread, it));
        }
        let authority = self.tree.authority(parent, line.added);
        let child_bounds =
            self.tree.inherited_settings(parent).zip(authority).map(|(inherited, authority)| {
                let may = (reading.record.limits.clone(), None);
                child_bounds(parent, &inherited, authority, may, (&self.host, &self.key))
                    .map(Arc::new)
            });
        let child_bounds = child_bounds.transpose().map_err(|error| with_causes(&error))?;
        let key = Arc::clone(&self.key);
        let host = &self.host;
        let begun =
            self.rye.going_on(line.last(), (child_bounds, Some(key)), None, host, &self.store);
        let begun = begun.map_err(|error| with_causes(&error))?;
        // The last one takes over its own.
        for (thread, transcript) in learned.iter().rev().skip(1) {
            self.learn(thread, transcript)?;
        }
        enter(&line, &Standing::Running);
        self.drive(line, begun);
        Ok(())
    }

    /// Follows a child's conversation to its last thread that has begun; gives its record, and the transcripts of all.
    fn last_of(&self, line: &mut Line<'_>) -> Result<(ThreadReading, Transcripts), String> {
        let mut transcripts = Vec::new();
        loop {
            let last = line.last().clone();
            let reading = self.read_signed(&last)?;
            if reading.record.parent.as_ref() != Some(&line.parent) {
                return Err(format!("thread `{last}` is not one that `{}` started", line.parent));
            }
            let before = line.threads.iter().rev().nth(1);
            if before.is_some() && reading.record.continues.as_ref() != before {
                return Err(format!("thread `{last}` does not go on with the one before it"));
            }
            transcripts.push((last, reading.transcript.clone()));
            let is_continued = reading.record.state == ThreadState::Continued;
            let next = reading.record.continued_by.clone().filter(|_| is_continued);
            let Some(next) = next else { return Ok((reading, transcripts)) };
            let begun = self.rye.has_begun(&self.store.folder, &next, &self.host);
            if !begun.map_err(|error| with_causes(&error))? {
                return Ok((reading, transcripts));
            }
            if line.threads.contains(&next) {
                return Err(format!("thread `{next}` goes on in itself"));
            }
            line.used.push(Report::of_reading(&reading));
            line.threads.push(next);
        }
    }

    /// Takes over what an earlier program started: what has ended is known, what runs beside its parent goes on.
    pub(super) fn adopt(
        &mut self,
        parent: &ThreadId,
        spawns: &[RecordedSpawn],
    ) -> Result<(), String> {
        for RecordedSpawn { spawn, arguments, .. } in spawns {
            match arguments {
                _ if self.store.has(&spawn.child) => self.go_on_or_wait(parent, spawn),
                // What keeps it from beginning is its end, as its parent's transcript tells.
                Some(arguments) => drop(self.start(parent, spawn, arguments)),
                None => self.end_unbegun(parent, spawn, "it could not begin"),
            }
        }
        Ok(())
    }

    /// The record of a thread, which for an operator with a key counts only if that key signed it: what a child came to is what
    /// its parent's model is told.
    pub(super) fn read_signed(&self, thread: &ThreadId) -> Result<ThreadReading, String> {
        let found = self.rye.found(&self.store.folder, thread);
        let found = found.map_err(|error| with_causes(&error))?;
        found.into_own(&self.host).map_err(|error| with_causes(&error))
    }

    /// Enters what an ended thread has started, all of which ended before it.
    fn learn(&self, parent: &ThreadId, transcript: &Reading) -> Result<(), String> {
        let unreadable = || format!("a child of thread `{parent}` cannot be read");
        for spawn in spawned_children(transcript).ok_or_else(unreadable)? {
            if !self.store.has(&spawn.child) {
                continue;
            }
            if self.tree.standing(&spawn.child).is_some() {
                continue;
            }
            let line = self.conversation(&spawn.child)?;
            if line.iter().any(|reading| reading.record.parent.as_ref() != Some(parent)) {
                return Err(format!("thread `{}` is not one that `{parent}` started", spawn.child));
            }
            let threads: Vec<ThreadId> = line.iter().map(|it| it.record.thread.clone()).collect();
            self.enter(parent, &spawn.directive, &threads, &came_to(&line));
            // What goes on with its conversation has started others.
            for reading in &line {
                self.learn(&reading.record.thread, &reading.transcript)?;
            }
        }
        Ok(())
    }
}
