//! The accounts of the threads of a tree, as a value.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use rye_types::{Nanos, SpendLimit};

use super::thread::{Share, Successor, ThreadAccount};
use super::{Account, AccountError, FoundTranscript, is_over};
use crate::money::Change;
use crate::{Event, Reading, ThreadId};

/// The accounts of the threads of a tree.
///
/// It is computed from transcripts, and each appended record changes it in the same way as reading the record would.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Accounts(Threads);

type Threads = BTreeMap<ThreadId, ThreadAccount>;

impl Accounts {
    /// Folds a conversation and its unfinished children, with all their descendants.
    ///
    /// At most one transcript is in memory for each level of the tree. A child or a successor with an event of a newer version counts as
    /// unreadable.
    ///
    /// # Errors
    ///
    /// [`AccountError::Unbounded`] if a child has neither a limit nor a reliable transcript. [`AccountError::Circle`] if a thread
    /// is its own ancestor, or the tree is too deep. [`AccountError::Foreign`] if a newer version recorded an event of the thread itself.
    pub fn from_transcripts<'a>(
        thread: &Reading,
        read: &dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    ) -> Result<Self, AccountError> {
        if let (Some(first), Some(foreign)) = (thread.records.first(), thread.foreign()) {
            let (thread, event) = (first.thread.clone(), foreign.name().to_owned());
            return Err(AccountError::Foreign { thread, event });
        }
        let mut fold = Fold { read, threads: Threads::new() };
        fold.conversation(Cow::Borrowed(thread), 0)?;
        Ok(Self(fold.threads))
    }

    /// Returns the account of a thread.
    ///
    /// Returns `None` if the tree does not hold the thread, or if its parent has recorded its end.
    #[must_use]
    pub fn account(&self, thread: &ThreadId) -> Option<Account> {
        let Self(threads) = self;
        let cap = threads.get(thread)?.cap;
        Some(add_up(thread, cap, threads, &mut BTreeSet::new()))
    }

    /// Applies the change of a record that is appended to the transcript of the thread.
    pub fn record(&mut self, thread: &ThreadId, event: &Event) {
        let Some(change) = event.money() else { return };
        if let Change::EndChild { child, .. } = &change {
            forget(&mut self.0, child);
        }
        let account = self.0.entry(thread.clone());
        account.or_insert(ThreadAccount::new(SpendLimit::Unlimited)).apply(change);
    }

    /// Replaces the account of one thread by the account of its transcript. With an event of a newer version in it, nothing is free.
    pub fn open(&mut self, thread: &ThreadId, reading: &Reading) {
        let mut account = ThreadAccount::of(reading);
        account.is_overrun |= reading.foreign().is_some();
        self.0.insert(thread.clone(), account);
    }

    /// Adds the accounts of the threads for which `is_wanted` returns `true`.
    pub fn extend(&mut self, folded: Self, is_wanted: impl Fn(&ThreadId) -> bool) {
        self.0.extend(folded.0.into_iter().filter(|(thread, _)| is_wanted(thread)));
    }
}

/// Removes a finished thread with its descendants, because its parent has recorded their cost.
fn forget(threads: &mut Threads, ended: &ThreadId) {
    let mut ended = vec![ended.clone()];
    while let Some(thread) = ended.pop() {
        let Some(account) = threads.remove(&thread) else { continue };
        ended.extend(account.children.into_keys());
        ended.extend(account.successor.map(|next| next.thread));
    }
}

/// The depth at which reading stops. Limits on depth are far lower.
const DEEPEST: usize = 64;

struct Fold<'a, 'r> {
    read: &'r dyn Fn(&ThreadId) -> FoundTranscript<'a>,
    threads: Threads,
}

impl Fold<'_, '_> {
    /// Folds a thread and its successors.
    fn conversation(&mut self, first: Cow<'_, Reading>, depth: usize) -> Result<(), AccountError> {
        let mut next = self.thread(first, depth)?;
        while let Some(Successor { thread, share }) = next {
            next = match (self.read)(&thread) {
                FoundTranscript::Absent => None,
                FoundTranscript::Unreadable => {
                    self.spend_all(thread, share)?;
                    None
                }
                FoundTranscript::Transcript(found) if found.foreign().is_some() => {
                    self.spend_all(thread, share)?;
                    None
                }
                FoundTranscript::Transcript(found) => self.thread(found, depth)?,
            };
        }
        Ok(())
    }

    /// Folds one thread with its children and returns its successor.
    fn thread(
        &mut self,
        reading: Cow<'_, Reading>,
        depth: usize,
    ) -> Result<Option<Successor>, AccountError> {
        let Some(thread) = reading.records.first().map(|record| record.thread.clone()) else {
            return Ok(None);
        };
        if DEEPEST < depth || self.threads.contains_key(&thread) {
            return Err(AccountError::Circle { thread });
        }
        let account = ThreadAccount::of(&reading);
        drop(reading);
        self.threads.insert(thread, account.clone());
        for (child, share) in &account.children {
            if let Share::Held(share) = share {
                self.child(child, *share, depth)?;
            }
        }
        Ok(account.successor)
    }

    /// Folds an unfinished child. Its whole share is taken from its parent.
    fn child(
        &mut self,
        child: &ThreadId,
        share: SpendLimit,
        depth: usize,
    ) -> Result<(), AccountError> {
        match (self.read)(child) {
            FoundTranscript::Absent => Ok(()),
            FoundTranscript::Unreadable => self.spend_all(child.clone(), share),
            FoundTranscript::Transcript(found) if found.foreign().is_some() => {
                self.spend_all(child.clone(), share)
            }
            FoundTranscript::Transcript(found) => self.conversation(found, depth + 1),
        }
    }

    /// Adds a thread without a reliable transcript, with its whole share as spent.
    fn spend_all(&mut self, thread: ThreadId, share: SpendLimit) -> Result<(), AccountError> {
        match share {
            SpendLimit::AtMost(share) => {
                self.threads.insert(thread, ThreadAccount::with_all_spent(share));
                Ok(())
            }
            SpendLimit::Unlimited => Err(AccountError::Unbounded { thread }),
        }
    }
}

/// Adds up a conversation and all its descendants under the cap of its first thread.
fn add_up<'t>(
    first: &'t ThreadId,
    cap: SpendLimit,
    threads: &'t Threads,
    seen: &mut BTreeSet<&'t ThreadId>,
) -> Account {
    let mut sum = Account::new(cap);
    let mut next = Some(first);
    while let Some(thread) = next.filter(|thread| seen.insert(thread))
        && let Some(account) = threads.get(thread)
    {
        sum.spend(account.settled);
        sum.spend(account.reserved);
        sum.reserved = sum.reserved.saturating_add(account.reserved);
        sum.is_overrun |= account.is_overrun;
        for (child, share) in &account.children {
            match share {
                Share::Ended { cost, is_overrun } => {
                    sum.spend(*cost);
                    sum.is_overrun |= is_overrun;
                }
                Share::Held(share) => sum.add_child(&add_up(child, *share, threads, seen)),
            }
        }
        next = account.successor.as_ref().map(|next| &next.thread);
    }
    sum.is_overrun |= is_over(cap, sum.cost);
    sum
}

impl Account {
    /// Adds the account of a child that has not ended, whose cap is its share.
    fn add_child(&mut self, child: &Self) {
        self.spend(child.cost);
        self.reserved = self.reserved.saturating_add(child.reserved);
        self.is_overrun |= child.is_overrun;
        let held = match child.cap {
            SpendLimit::AtMost(share) => share.saturating_sub(child.cost),
            SpendLimit::Unlimited => child.held,
        };
        self.held = self.held.saturating_add(held);
    }

    fn spend(&mut self, cost: Nanos) {
        self.cost = self.cost.saturating_add(cost);
    }
}
