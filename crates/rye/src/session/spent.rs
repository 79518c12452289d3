//! What threads have spent by their records, for a ledger that did not see it: the project was copied without it, or it was
//! lost (SPEC 10.6).

use std::borrow::Cow;

use rye_thread::budget::{Balance, LedgerError};
use rye_thread::transcript::Reading;
use rye_thread::{
    Account, AccountError, FoundTranscript, Nanos, Spawn, SpendLimit, ThreadId, ThreadRecord,
    ThreadState, ended_children, recorded_limits, settle_left, spawned_children, spending,
};

use super::going_on::goes_on;
use super::{Host, Store};
use crate::Rye;
use crate::thread_reading::ThreadReading;

impl Rye {
    /// Opens the account of a thread that goes on, and settles in it what the thread has spent by its transcript, and those below
    /// it that have ended, before anything more is set aside. Where the ledger knows all that, nothing changes.
    ///
    /// Nobody else may drive the thread.
    pub(super) fn account(
        &self,
        record: &ThreadRecord,
        reading: &Reading,
        store: &Store,
        host: &Host<'_>,
    ) -> Result<(), LedgerError> {
        let thread = &record.thread;
        match record.parent {
            None => {
                // The transcript says what the operator raised it to.
                let limits = recorded_limits(reading).map(|recorded| recorded.last);
                let spend = limits.as_ref().unwrap_or(&record.limits).spend;
                let _balance: Balance = store.ledger().set_cap(thread, spend)?;
            }
            Some(_) => store.open_account(record)?,
        }
        settle_left(thread, reading, store.ledger())?;
        store.ledger().recall(thread, spending(reading))?;
        let ended = ended_children(reading);
        for spawn in spawned_children(reading).unwrap_or_default() {
            if let Some(end) = ended.get(&spawn.child) {
                let cap = spawn.limits.spend;
                store.ledger().recall_child(thread, &spawn.child, cap, end.cost)?;
            } else if store.has(&spawn.child) {
                let is_known = store.spent(&spawn.child)?.is_some();
                self.account_child(thread, &spawn, is_known, store, host)?;
            }
        }
        Ok(())
    }

    /// A child that has ended is settled with all below it, also where this ledger is from before it ended. One that goes on has its account opened by whoever drives it, after
    /// those of the threads whose conversation it goes on with.
    fn account_child(
        &self,
        parent: &ThreadId,
        spawn: &Spawn,
        is_known: bool,
        store: &Store,
        host: &Host<'_>,
    ) -> Result<(), LedgerError> {
        let ledger = store.ledger();
        let recall = |cap, cost| ledger.recall_child(parent, &spawn.child, cap, cost);
        let Some(line) = self.line(parent, &spawn.child, store, host) else {
            if is_known {
                return Ok(());
            }
            // Nobody can tell what it has cost, which is at most what it might.
            return match spawn.limits.spend {
                cap @ SpendLimit::AtMost(most) => recall(cap, most),
                SpendLimit::Unlimited => Ok(()),
            };
        };
        let ended = |it: &ThreadReading| it.record.state.is_final();
        let goes_on = line
            .last()
            .is_none_or(|last| !ended(last) || last.record.state == ThreadState::Continued);
        if goes_on && is_known {
            return Ok(());
        }
        if goes_on {
            let mut before = line.iter().filter(|it| ended(it));
            return before.try_for_each(|it| self.account(&it.record, &it.transcript, store, host));
        }
        let Some(cost) = line.first().and_then(|first| self.cost(&first.transcript, store, host))
        else {
            return Ok(());
        };
        let is_worth_it = is_known || cost != Nanos::ZERO;
        let Some(first) = line.first().filter(|_| is_worth_it) else { return Ok(()) };
        recall(first.record.limits.spend, cost)
    }

    /// The cost of a thread, of the threads that continue its conversation and of all below them, by their transcripts; `None`
    /// if nothing bounds the cost of one that cannot be read.
    pub(super) fn cost(&self, reading: &Reading, store: &Store, host: &Host<'_>) -> Option<Nanos> {
        self.money(reading, store, host).ok().map(|account| account.cost)
    }

    /// The account of a tree by its transcripts (SPEC 10.6). Where the operator has a key, a child counts as unreadable unless that
    /// key signed it.
    pub(super) fn money(
        &self,
        reading: &Reading,
        store: &Store,
        host: &Host<'_>,
    ) -> Result<Account, AccountError> {
        let read = |thread: &ThreadId| {
            if !store.has(thread) {
                return FoundTranscript::Absent;
            }
            let found = self.found(&store.folder, thread).ok();
            let own = found.and_then(|found| found.into_own(host).ok());
            own.map_or(FoundTranscript::Unreadable, |own| {
                FoundTranscript::Transcript(Cow::Owned(own.transcript))
            })
        };
        Account::from_transcripts(reading, &read)
    }

    /// A child and the threads that go on with its conversation; `None` where one of them cannot be read, is not signed
    /// with the operator's key, or is not the parent's.
    fn line(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        store: &Store,
        host: &Host<'_>,
    ) -> Option<Vec<ThreadReading>> {
        let read = |thread: &ThreadId| self.found(&store.folder, thread).ok()?.into_own(host).ok();
        let mut line = vec![read(child).filter(|it| it.record.parent.as_ref() == Some(parent))?];
        while let Some(last) = line.last()
            && let Some(next) = last.record.continued_by.clone()
            && store.has(&next)
            && line.iter().all(|it| it.record.thread != next)
        {
            let after = read(&next).filter(|it| goes_on(&last.record, &it.record))?;
            line.push(after);
        }
        Some(line)
    }
}
