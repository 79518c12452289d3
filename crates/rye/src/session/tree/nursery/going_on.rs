//! Children that an earlier program started: they go on, or are known by what they came to.

use std::sync::Arc;

use rye_thread::budget::Ledger as _;
use rye_thread::transcript::Reading;
use rye_thread::{Spawn, ThreadId, spawned_children};

use super::Nursery;
use crate::session::tree::{Lineage, Report, Standing};
use crate::session::with_causes;
use crate::thread_reading::{Found, ThreadReading, Voucher};

impl Nursery<'_> {
    /// What keeps a child from going on now, such as a program that drives it or a key that is not there, may be gone
    /// when somebody goes on with its parent once more; until then the parent waits for it, and the reason is told.
    pub(super) fn go_on_or_wait(&mut self, parent: &ThreadId, spawn: &Spawn) {
        if let Err(reason) = self.go_on(parent, spawn) {
            self.tree.warn(format!("thread `{}` does not go on for now: {reason}", spawn.child));
            self.tree.enter(&spawn.child, Some(parent), &spawn.directive, Standing::Interrupted);
        }
    }

    /// Goes on with a child that has a record, or finds what it came to.
    fn go_on(&mut self, parent: &ThreadId, spawn: &Spawn) -> Result<(), String> {
        let child = &spawn.child;
        let reading = self.vouched(child)?;
        if reading.record.parent.as_ref() != Some(parent) {
            return Err(format!("thread `{child}` is not one that `{parent}` started"));
        }
        if reading.record.state.is_final() {
            self.settle(child);
            let standing = Standing::Ended(Arc::new(Report::of_reading(&reading)));
            self.tree.enter(child, Some(parent), &spawn.directive, standing);
            return self.learn(child, &reading.transcript);
        }
        let lineage = self.tree.heritage(parent).map(|heritage| {
            Arc::new(Lineage {
                parent: parent.clone(),
                authority: heritage.authority.clone(),
                tokens: heritage.tokens.clone(),
                caps: reading.record.limits.clone(),
                share: None,
            })
        });
        let spend = reading.record.limits.spend;
        let (key, host) = (Arc::clone(&self.key), &self.host);
        let begun = self.rye.going_on(child, lineage, host, &self.store, Some(key));
        let begun = begun.map_err(|error| with_causes(&error))?;
        let opened = self.store.threads.open_child(parent, child, spend);
        opened.map_err(|error| with_causes(&error))?;
        self.drive(parent, spawn, begun);
        Ok(())
    }

    /// Takes over what an earlier program started: what has ended is known, what runs beside its parent goes on.
    pub(super) fn adopt(&mut self, parent: &ThreadId, spawns: &[Spawn]) -> Result<(), String> {
        for spawn in spawns {
            // A child whose call was answered before it had a record never began.
            if !self.store.has(&spawn.child) {
                continue;
            }
            self.go_on_or_wait(parent, spawn);
        }
        Ok(())
    }

    /// The record of a thread, which for an operator with a key counts only where a trusted key vouches for it: what a child
    /// came to is what its parent's model is told.
    fn vouched(&self, thread: &ThreadId) -> Result<ThreadReading, String> {
        let found = self.rye.found(&self.store.folder, thread);
        let Found { reading, .. } = found.map_err(|error| with_causes(&error))?;
        if self.host.signing_key.is_some() && reading.vouched_by != Voucher::TrustedKey {
            return Err(format!("thread `{thread}` is signed by nobody who is trusted"));
        }
        Ok(reading)
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
            let reading = self.vouched(&spawn.child)?;
            if reading.record.parent.as_ref() != Some(parent) {
                return Err(format!("thread `{}` is not one that `{parent}` started", spawn.child));
            }
            let standing = match reading.record.state {
                state if state.is_final() => {
                    Standing::Ended(Arc::new(Report::of_reading(&reading)))
                }
                _ => Standing::Interrupted,
            };
            self.tree.enter(&spawn.child, Some(parent), &spawn.directive, standing);
            self.learn(&spawn.child, &reading.transcript)?;
        }
        Ok(())
    }
}
