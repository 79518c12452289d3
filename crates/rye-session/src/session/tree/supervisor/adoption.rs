//! Children that an earlier program started: they go on, or are known by what they came to.

use std::sync::Arc;

use rye_project::with_causes;
use rye_thread::{RecordedSpawn, Spawn, ThreadId, spawned_children};
use rye_types::ThreadState;

use super::conversation::ChildConversation;
use super::{ThreadSupervisor, came_to, child_bounds};
use crate::session::conversation::Conversation;
use crate::session::tree::{Report, Standing};
use crate::thread_reading::ThreadReading;

impl<'a> ThreadSupervisor<'a> {
    /// Resumes a child, or lets its parent wait. The obstacle, such as another driver or a missing
    /// key, may be gone when the parent is resumed again. Until then the parent waits, and the
    /// reason is reported.
    pub(super) fn go_on_or_wait(&mut self, parent: &ThreadId, spawn: &Spawn) {
        let mut child = self.child(parent, spawn);
        let readings = self.read_begun(&mut child);
        let threads = child.threads.clone();
        let resumed = readings.and_then(|readings| self.go_on(parent, child, &readings));
        if let Err(reason) = resumed {
            self.tree.warn(format!("thread `{}` does not go on for now: {reason}", spawn.child));
            self.enter(parent, &spawn.directive, &threads, &Standing::Interrupted);
        }
    }

    /// Enters the threads of one conversation, those after the first below that one.
    fn enter(&self, parent: &ThreadId, directive: &str, threads: &[ThreadId], standing: &Standing) {
        let Some((first, later)) = threads.split_first() else { return };
        drop(self.tree.enter(first, Some(parent), directive, standing.clone()));
        for thread in later {
            drop(self.tree.enter(thread, Some(first), directive, standing.clone()));
        }
    }

    /// Goes on with a child that has a record, or finds what it came to.
    fn go_on(
        &mut self,
        parent: &ThreadId,
        mut child: ChildConversation<'a>,
        readings: &[ThreadReading],
    ) -> Result<(), String> {
        let Some((last, before)) = readings.split_last() else { return Ok(()) };
        let enter = |child: &ChildConversation<'_>, standing: &Standing| {
            self.enter(parent, &child.directive, &child.threads, standing);
        };
        if last.record.state == ThreadState::Continued {
            readings.iter().try_for_each(|reading| self.learn(reading))?;
            let begun = child.begin_next()?;
            child.used.push(Report::of_reading(last));
            enter(&child, &Standing::Running);
            child.push(begun.journal.thread().clone());
            self.drive(child, begun);
            return Ok(());
        }
        if last.record.state.is_final() {
            let ended = Standing::Ended(Arc::new(Report::of_reading(last)));
            enter(&child, &ended);
            enter(&child, &child.stands(ended));
            return readings.iter().try_for_each(|reading| self.learn(reading));
        }
        let authority = self.tree.authority(parent, child.added);
        let child_bounds =
            self.tree.inherited_settings(parent).zip(authority).map(|(inherited, authority)| {
                let may = (last.record.limits.clone(), None);
                child_bounds(parent, &inherited, authority, may, (&self.host, &self.key))
                    .map(Arc::new)
            });
        let child_bounds = child_bounds.transpose().map_err(|error| with_causes(&error))?;
        let key = Arc::clone(&self.key);
        let host = &self.host;
        let begun =
            self.rye.going_on(child.last(), (child_bounds, Some(key)), None, host, &self.store);
        let begun = begun.map_err(|error| with_causes(&error))?;
        // The last one takes over its own.
        before.iter().rev().try_for_each(|reading| self.learn(reading))?;
        enter(&child, &Standing::Running);
        self.drive(child, begun);
        Ok(())
    }

    /// Follows a child's conversation to its last thread that has begun; gives the readings of all.
    fn read_begun(&self, child: &mut ChildConversation<'_>) -> Result<Vec<ThreadReading>, String> {
        let conversation = Conversation::load(self.rye, child.first());
        let conversation =
            conversation.map_err(|error| with_causes(&error))?.without_failed_start(&self.host);
        let readings = conversation.into_own(&self.host).map_err(|error| with_causes(&error))?;
        check_parent(&readings, &child.parent)?;
        child.threads = readings.iter().map(|reading| reading.record.thread.clone()).collect();
        let before = readings.split_last().map(|(_, before)| before).unwrap_or_default();
        child.used = before.iter().map(Report::of_reading).collect();
        Ok(readings)
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

    /// Enters what an ended thread has started, all of which ended before it.
    fn learn(&self, parent: &ThreadReading) -> Result<(), String> {
        let thread = &parent.record.thread;
        let unreadable = || format!("a child of thread `{thread}` cannot be read");
        for spawn in spawned_children(&parent.transcript).ok_or_else(unreadable)? {
            if !self.store.has(&spawn.child) || self.tree.standing(&spawn.child).is_some() {
                continue;
            }
            let conversation = self.conversation(&spawn.child)?;
            check_parent(&conversation, thread)?;
            let threads: Vec<ThreadId> =
                conversation.iter().map(|reading| reading.record.thread.clone()).collect();
            self.enter(thread, &spawn.directive, &threads, &came_to(&conversation));
            conversation.iter().try_for_each(|reading| self.learn(reading))?;
        }
        Ok(())
    }
}

/// Refuses a child that another thread started by its record.
fn check_parent(conversation: &[ThreadReading], parent: &ThreadId) -> Result<(), String> {
    match conversation.iter().find(|reading| reading.record.parent.as_ref() != Some(parent)) {
        None => Ok(()),
        Some(other) => {
            Err(format!("thread `{}` is not one that `{parent}` started", other.record.thread))
        }
    }
}
