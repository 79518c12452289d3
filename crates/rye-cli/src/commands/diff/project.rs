//! `rye diff` of a whole project.

use std::collections::BTreeSet;

use rye::resolve::{ItemId, Space};
use rye::types::ItemKind;
use rye::{Difference, Explained, PlanRequest, Preview};
use serde_json::{Value, json};

use super::{Arguments, Comparison, with_side_names};
use crate::environment::Environment;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::revision::{Checkout, checkout};

/// A project at one time.
struct State {
    /// The revision, or `.` for the current files.
    name: String,
    rye: Preview,
    directives: BTreeSet<ItemId>,
    /// The files of a revision. They are removed with this value.
    checkout: Option<Checkout>,
}

/// Compares every directive of the project with an earlier version, and prints those that changed.
pub(super) fn compare(
    arguments: &Arguments,
    environment: &Environment,
) -> Result<Comparison, Failure> {
    let (before, after) = match arguments.revisions.as_slice() {
        [] => (at("HEAD", environment)?, now(environment)?),
        [before] => (at(before, environment)?, now(environment)?),
        [before, after] => (at(before, environment)?, at(after, environment)?),
        _ => return Err(Failure::usage("--rev may be given once or twice")),
    };
    let mut answer = Comparison::default();
    let mut rows = Vec::new();
    for id in before.directives.union(&after.directives) {
        match difference(id, &before, &after) {
            Ok(difference) if difference.is_empty() && in_both(id, &before, &after) => {}
            Ok(difference) => {
                answer.add(&difference);
                // A new or removed directive without permissions has nothing else to report.
                answer.differs = true;
                rows.push((id, Ok(difference)));
            }
            Err(failure) => {
                answer.failed = Some(failure.exit());
                rows.push((id, Err(failure)));
            }
        }
    }
    if environment.json() {
        let rows = rows.iter().map(|(id, row)| json(id, row, &before, &after));
        let told = Answer::of("directives", rows).with("differs", answer.differs);
        let told = told.with("widens", answer.widens).with("before", before.name.clone());
        let is_fine = answer.failed.is_none() && !(arguments.exit_code && answer.differs);
        told.with("after", after.name.clone()).fine_if(is_fine).print();
    } else {
        rows.iter().for_each(|(id, row)| print(id, row, &before, &after));
        let all = before.directives.union(&after.directives).count();
        let all = output::counted(all, "directive");
        let changed = rows.len();
        println!("{all} compared with {}: {changed} changed", before.name);
    }
    Ok(answer)
}

fn now(environment: &Environment) -> Result<State, Failure> {
    Ok(state(".", environment.preview(false)?, None))
}

fn at(revision: &str, environment: &Environment) -> Result<State, Failure> {
    let checkout = checkout(environment.project()?, revision)?;
    let rye = environment.preview_in(checkout.project())?;
    Ok(state(revision, rye, Some(checkout)))
}

fn state(name: &str, rye: Preview, checkout: Option<Checkout>) -> State {
    let survey = rye.library().survey(ItemKind::Directive);
    let own = survey.items.into_iter().filter(|listed| listed.location.space == Space::Project);
    let directives = own.map(|listed| listed.id).collect();
    State { name: name.to_owned(), rye, directives, checkout }
}

fn in_both(id: &ItemId, before: &State, after: &State) -> bool {
    before.directives.contains(id) && after.directives.contains(id)
}

fn difference(id: &ItemId, before: &State, after: &State) -> Result<Difference, Failure> {
    let explained = |state: &State| -> Result<Option<Explained>, Failure> {
        if !state.directives.contains(id) {
            return Ok(None);
        }
        let explained = Explained::of(&state.rye, &PlanRequest::new(id.clone())).map_err(|error| {
            let failure = Failure::from(error);
            let failure = match &state.checkout {
                Some(checkout) => failure.naming(checkout.project(), &state.name),
                None => failure,
            };
            failure.within(&format!("`{id}` at `{}` cannot be compared", state.name))
        });
        let explained = explained?;
        let told = explained.drafts.iter().map(|draft| format!("{}: {draft}", state.name));
        output::warnings(&told.collect::<Vec<_>>());
        Ok(Some(explained))
    };
    Ok(match (explained(before)?, explained(after)?) {
        (Some(before), Some(after)) => Difference::between(&before, &after),
        (None, Some(after)) => Difference::of_new(&after),
        (Some(before), None) => Difference::of_gone(&before),
        (None, None) => Difference::default(),
    })
}

fn change(id: &ItemId, before: &State, after: &State) -> &'static str {
    match (before.directives.contains(id), after.directives.contains(id)) {
        (false, _) => "new",
        (true, false) => "gone",
        (true, true) => "changed",
    }
}

fn print(id: &ItemId, row: &Result<Difference, Failure>, before: &State, after: &State) {
    println!("directive {id} {}", change(id, before, after));
    match row {
        Ok(difference) if difference.is_empty() => print!("it grants nothing\n\n"),
        Ok(difference) => print!("{difference}\n"),
        Err(failure) => {
            println!("{failure}");
            print!("\n");
        }
    }
}

fn json(id: &ItemId, row: &Result<Difference, Failure>, before: &State, after: &State) -> Value {
    let mut value = match row {
        Ok(difference) => with_side_names((&before.name, &after.name), difference),
        Err(failure) => json!({ "error": failure.to_string() }),
    };
    value["directive"] = id.as_str().into();
    value["change"] = change(id, before, after).into();
    value
}
