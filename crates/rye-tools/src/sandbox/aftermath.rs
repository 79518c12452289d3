//! The looks at a project before and after a program, and what follows from them.

use std::path::PathBuf;

use super::Plan;
use super::account::{Account, Changed, Excerpt};
use super::fault::Fault;
use super::journal::Journal;
use super::layout::Guarded;
use super::survey::Survey;

/// A program's stay in a project.
#[derive(Debug)]
pub(super) struct Aftermath {
    project: PathBuf,
    /// Whether repositories that a program makes are renamed. A weaker sandbox does not keep it from the others either.
    is_whole: bool,
    journal: Option<Journal>,
    before: Result<Survey, String>,
}

impl Aftermath {
    /// Does what supervisors that were killed had left to do, which the account says, also if there is an error. Begins a note.
    pub(super) fn begin(plan: &Plan, account: &mut Account) -> Result<Self, Fault> {
        let is_whole = plan.mode.is_whole();
        let begun = plan.journal.as_deref().filter(|_| is_whole);
        let begin = |folder| Journal::begin(folder, &plan.project, &mut account.moved);
        let journal = begun.map(begin).transpose()?;
        let (project, before) = (plan.project.clone(), Ok(Survey::default()));
        Ok(Self { project, is_whole, journal, before })
    }

    /// Looks at the project and notes what is there. Returns what is to be guarded.
    ///
    /// What a program under way may have made does not count as being there. Of two programs at once, one could otherwise hide
    /// from the look after the other what that one made, and would be taken for having found it.
    pub(super) fn survey(&mut self, account: &Account) -> Result<Vec<Guarded>, Fault> {
        self.before = match Survey::before(&self.project) {
            Err(fault) if self.is_whole => return Err(fault),
            looked => looked.map_err(|fault| fault.to_string()),
        };
        let Ok(before) = &mut self.before else { return Ok(Vec::new()) };
        if let Some(journal) = &mut self.journal {
            journal.others(|known| before.restrict(known))?;
            journal.write(&before.known, &account.moved)?;
        }
        Ok(before.guarded.clone())
    }

    /// Looks again once nothing of the program is left, and says in the account what was found. If that fails, the note stays,
    /// and no program starts in the project until its cause is gone.
    pub(super) fn end(self, is_heard: bool, account: &mut Account) -> Result<(), Fault> {
        let before = match (account.is_started, &self.before) {
            (true, Ok(before)) => Some(before),
            (true, Err(problem)) => {
                account.unchecked = Some(problem.clone());
                None
            }
            (false, _) => None,
        };
        let known = before.map(|before| before.known.clone()).unwrap_or_default();
        if let Some(before) = before {
            self.look_again(before, account);
        }
        let Some(mut journal) = self.journal else { return Ok(()) };
        let is_heard = is_heard && account.is_started;
        let unread = if is_heard { Excerpt::default() } else { account.moved.clone() };
        match account.unchecked.is_some() {
            true => journal.write(&known, &unread),
            false => journal.end(&unread).map_err(Fault::at("take a note away")),
        }
    }

    fn look_again(&self, before: &Survey, account: &mut Account) {
        let looked = match self.is_whole {
            true => Survey::after(&self.project, &before.known),
            false => Survey::before(&self.project),
        };
        match looked {
            Ok(after) => {
                account.changed = after.changed_since(before).into_iter().map(Changed).collect();
                account.unchecked = after.problem();
                account.moved.append(after.moved);
            }
            Err(fault) => account.unchecked = Some(fault.to_string()),
        }
    }
}
