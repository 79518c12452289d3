//! The progress through the steps of a plan and of the directives that it executes.

use std::collections::VecDeque;

use serde_json::Value;

use super::history::{Finished, History};
use super::json::PLANNED_STEPS;
use super::plan::{PlannedStep, Turn, turns};

/// The largest depth to which executed directives are followed without a model (SPEC 10.13).
pub const MAX_PLANNED_DEPTH: usize = 8;

/// The largest number of steps of all executed directives together without a model (SPEC 10.13).
pub const MAX_PLANNED_STEPS: usize = 1_000;

/// The rest of a plan, with the results of its finished steps.
pub(super) struct Walk<'a> {
    /// A stack: the plan, then each directive that is being followed.
    frames: Vec<Frame<'a>>,
    /// The results of every finished step, in order, without the directions of executed directives.
    pub(super) finished: Vec<Finished<'a>>,
    /// Notes about skipped actions at the end of executed directives that no reply has mentioned yet.
    notes: Vec<String>,
    n_steps: usize,
}

/// The steps of one directive.
struct Frame<'a> {
    /// The nesting depth of the directive; 0 for the plan itself.
    depth: usize,
    turns: VecDeque<Turn>,
    last_notes: Vec<String>,
    /// The results of its own steps, which are the only ones that its references can name.
    finished: Vec<Finished<'a>>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(steps: &[PlannedStep]) -> Self {
        let (turns, last_notes) = turns(steps, "step");
        let frame = Frame { depth: 0, turns: turns.into(), last_notes, finished: Vec::new() };
        Self { frames: vec![frame], finished: Vec::new(), notes: Vec::new(), n_steps: 0 }
    }

    /// Takes the next turn, with the notes about what was skipped before it; `None` at the end of the plan.
    pub(super) fn next(&mut self) -> Option<Turn> {
        loop {
            let is_last = self.frames.len() == 1;
            let frame = self.frames.last_mut()?;
            if let Some(mut turn) = frame.turns.pop_front() {
                turn.notes.splice(..0, std::mem::take(&mut self.notes));
                return Some(turn);
            }
            self.notes.append(&mut frame.last_notes);
            if is_last {
                return None;
            }
            self.frames.pop();
        }
    }

    /// Returns `true` if no turn is left.
    pub(super) fn is_over(&self) -> bool {
        self.frames.iter().all(|frame| frame.turns.is_empty())
    }

    /// The notes that no reply has mentioned yet, at the end of the plan.
    pub(super) fn last_notes(&self) -> Vec<String> {
        let left = self.frames.iter().rev().flat_map(|frame| &frame.last_notes);
        self.notes.iter().chain(left).cloned().collect()
    }

    /// The results that references in the current directive can name.
    pub(super) fn referable(&self) -> &[Finished<'a>] {
        self.frames.last().map_or(&[], |frame| frame.finished.as_slice())
    }

    /// Records the results of a turn, and puts the steps of the directives that it executed next.
    ///
    /// Returns a message if a call failed or has no result, or if executed directives are too deep, too long
    /// or unreadable.
    pub(super) fn finish(&mut self, turn: &Turn, history: &History<'a>) -> Result<(), String> {
        let done = history.results_of(turn)?;
        let results = done.iter().filter(|(call, _)| !call.is_directive());
        let results = results.map(|(_, content)| *content).collect();
        self.finished.push(Finished { step: turn.name.clone(), results });
        let mut nested = Vec::new();
        // A call that returns outputs has no entry in `done`.
        let calls = turn.calls.iter().filter(|(_, call)| !call.is_return());
        for ((id, call), (_, content)) in calls.zip(&done) {
            let steps = content.get(PLANNED_STEPS).filter(|_| call.is_directive());
            if let Some(steps) = steps {
                nested.push((id.as_str(), read(&turn.name, steps)?));
            }
        }
        if let Some(frame) = self.frames.last_mut() {
            let results = done.into_iter().map(|(_, content)| content).collect();
            frame.finished.push(Finished { step: turn.name.clone(), results });
        }
        let depth = self.frames.last().map_or(0, |frame| frame.depth) + 1;
        let mut nested = nested.into_iter().rev();
        nested.try_for_each(|(id, steps)| self.follow(&turn.name, id, (depth, &steps)))
    }

    /// Puts the steps of an executed directive before all remaining turns.
    fn follow(
        &mut self,
        step: &str,
        call_id: &str,
        (depth, steps): (usize, &[PlannedStep]),
    ) -> Result<(), String> {
        self.n_steps += steps.len();
        if depth > MAX_PLANNED_DEPTH {
            return Err(format!(
                "the step `{step}` cannot be followed: directives that execute directives are followed {MAX_PLANNED_DEPTH} deep; \
                 have one of them not execute the next"
            ));
        }
        if self.n_steps > MAX_PLANNED_STEPS {
            return Err(format!(
                "the step `{step}` cannot be followed: the executed directives have more than {MAX_PLANNED_STEPS} steps together"
            ));
        }
        let (all, mut last_notes) = turns(steps, call_id);
        let mut turns = VecDeque::new();
        let mut notes = Vec::new();
        for mut turn in all.into_iter().map(Turn::without_return) {
            turn.notes.splice(..0, std::mem::take(&mut notes));
            match turn.calls.is_empty() {
                true => notes = turn.notes,
                false => turns.push_back(turn),
            }
        }
        last_notes.splice(..0, notes);
        self.frames.push(Frame { depth, turns, last_notes, finished: Vec::new() });
        Ok(())
    }
}

fn read(step: &str, steps: &Value) -> Result<Vec<PlannedStep>, String> {
    let unreadable =
        || format!("the step `{step}` executed a directive whose steps cannot be read");
    let steps = steps.as_array().ok_or_else(unreadable)?;
    steps.iter().map(|step| PlannedStep::from_json(step).ok_or_else(unreadable)).collect()
}
