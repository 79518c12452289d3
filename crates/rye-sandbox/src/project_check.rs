//! Checks of a project before and after a program, and their consequences.

use super::Plan;
use super::account::{Account, Changed, Excerpt};
use super::call_folder::KnownFolder;
use super::fault::Fault;
use super::journal::Journal;
use super::layout::Guarded;
use super::survey::Survey;

/// The state of a project around one program.
#[derive(Debug)]
pub(super) struct ProjectCheck {
    project: KnownFolder,
    /// `true` if repositories that a program makes are renamed. A weaker sandbox does not protect existing
    /// repositories either.
    is_whole: bool,
    journal: Option<Journal>,
    before: Result<Survey, String>,
}

impl ProjectCheck {
    /// Finishes the work of killed supervisors and begins a note. The account says what was renamed, even if
    /// there is an error.
    pub(super) fn begin(plan: &Plan, account: &mut Account) -> Result<Self, Fault> {
        let is_whole = plan.mode.is_whole();
        let begun = plan.journal.as_deref().filter(|_| is_whole);
        let begin = |folder| Journal::begin(folder, &plan.project, &mut account.moved);
        let journal = begun.map(begin).transpose()?;
        let project = plan.project.clone();
        let before = Ok(Survey::default());
        Ok(Self { project, is_whole, journal, before })
    }

    /// Surveys the project and notes the result. Returns the places to protect.
    ///
    /// Entries that a running program may have made do not count as known. Otherwise, one of two concurrent
    /// programs could hide its new repository from the check after it, because the other had found the
    /// repository.
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

    /// Takes the note away, if no process was made that could have changed the project.
    pub(super) fn end_without_program(self, account: &Account) -> Result<(), Fault> {
        let Some(journal) = self.journal else { return Ok(()) };
        journal.end(&account.moved).map_err(Fault::at("take a note away"))
    }

    /// Checks the project after the end of the process that made the sandbox, and adds the findings to the
    /// account. If the check fails, the note stays, and no program starts in the project until the cause is
    /// gone.
    ///
    /// The check does not depend on the report that a program was started, so that nothing that a program does
    /// can prevent it.
    pub(super) fn end(self, is_heard: bool, account: &mut Account) -> Result<(), Fault> {
        let known = match &self.before {
            Ok(before) => {
                self.look_again(before, account);
                before.known.clone()
            }
            Err(problem) => {
                account.unchecked = Some(problem.clone());
                Survey::default().known
            }
        };
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
