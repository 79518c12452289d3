//! The looks at a project before and after a program, and what follows from them.

use std::collections::BTreeSet;

use super::Plan;
use super::account::{Account, Moved};
use super::fault::Fault;
use super::journal::Journal;
use super::layout::{Guarded, Identity};
use super::survey::Survey;

/// A program's stay in a project.
#[derive(Debug)]
pub(super) struct Aftermath {
    project: std::path::PathBuf,
    /// Whether repositories that a program makes are renamed. A weaker sandbox does not keep it from the others either.
    is_whole: bool,
    journal: Option<Journal>,
    before: Result<Survey, String>,
    /// What supervisors that were killed had left to do.
    moved: Vec<Moved>,
}

impl Aftermath {
    /// Does what others had left to do, and notes that a program is about to start.
    pub(super) fn begin(plan: &Plan) -> Result<Self, Fault> {
        let is_whole = plan.mode.is_whole();
        let begun = plan.journal.as_deref().filter(|_| is_whole);
        let begun = begun.map(|folder| Journal::begin(folder, &plan.project)).transpose()?;
        let (journal, moved) =
            begun.map_or((None, Vec::new()), |(journal, moved)| (Some(journal), moved));
        let (project, before) = (plan.project.clone(), Ok(Survey::default()));
        Ok(Self { project, is_whole, journal, before, moved })
    }

    /// Looks at the project and notes what is there. Returns the repositories to guard.
    pub(super) fn survey(&mut self) -> Result<Vec<Guarded>, Fault> {
        let before = match Survey::before(&self.project) {
            Err(fault) if self.is_whole => return Err(fault),
            looked => looked.map_err(|fault| fault.to_string()),
        };
        if let (Some(journal), Ok(before)) = (&mut self.journal, &before) {
            journal.write(&before.known)?;
        }
        self.before = before;
        let before = self.before.as_ref();
        Ok(before.map(|before| before.repositories.clone()).unwrap_or_default())
    }

    /// Looks again once nothing of the program is left, and says in the account what was found. If that fails, the note stays,
    /// and no program starts in the project until its cause is gone.
    pub(super) fn end(
        self,
        missed: &[usize],
        is_heard: bool,
        account: &mut Account,
    ) -> Result<(), Fault> {
        account.moved = self.moved;
        let looked = self.before.and_then(|before| {
            let known = match self.is_whole {
                true => Some(guarded(&before, missed)),
                false => None,
            };
            let after = match &known {
                Some(known) => Survey::after(&self.project, known, Some(&before)),
                None => Survey::before(&self.project),
            };
            let after = after.map_err(|fault| fault.to_string())?;
            Ok((after.changed_since(&before), after.moved))
        });
        match looked {
            Ok((changed, moved)) => {
                account.changed = changed;
                account.moved.extend(moved);
            }
            Err(problem) => {
                account.unchecked = Some(problem);
                return Ok(());
            }
        }
        let unread: &[Moved] = if is_heard { &[] } else { &account.moved };
        let ended = self.journal.map_or(Ok(()), |journal| journal.end(unread));
        ended.map_err(Fault::at("take a note away"))
    }
}

/// The repositories that were read-only for the program, all but those that no guard stood over.
fn guarded(before: &Survey, missed: &[usize]) -> BTreeSet<Identity> {
    let mut known = before.known.clone();
    // The layout begins with them.
    let missed = missed.iter().filter_map(|index| before.repositories.get(*index));
    for identity in missed.filter_map(|guard| guard.identity.as_ref()) {
        let _was_there = known.remove(identity);
    }
    known
}
