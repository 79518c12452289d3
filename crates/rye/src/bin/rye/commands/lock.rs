//! `rye lock [ID…]`.

use std::path::{Path, PathBuf};

use clap::Args;
use rye::resolve::{ItemId, ItemKind, Listed, Space};
use rye::{Lock, LockReport, PlanRequest, PrepareError, Rye};
use serde_json::{Value, json};

use crate::directive::named;
use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{files, output};

/// Write down what directives are made of, so that `rye check --locked` finds every change
#[derive(Debug, Args)]
#[command(
    after_help = "Writes `.ai/rye.lock`: for each directive the digests and signers of its items and of the configuration that \
                  the project and the program bring along, the tools that a model is offered, and the exact texts that a \
                  thread begins with, placeholders as written. Commit it; a change of it is a change of what a model reads, \
                  and is reviewed as one. With ids, only these are written anew; without, `rye check --locked` also names \
                  directives that the project gained since.\n\n\
                  Examples:\n  rye lock\n  rye lock notes/index\n  rye check --locked"
)]
pub(crate) struct Arguments {
    /// Directives by id or file; default: every directive of the project, and no other
    directives: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let (path, rye) = (path(environment)?, environment.rye()?);
    let (mut lock, ids) = match arguments.directives.as_slice() {
        [] => (Lock::of_project(), own(&rye)?),
        directives => {
            let ids = directives.iter().map(|directive| named(directive, &rye, environment));
            (
                if path.exists() { read(&path)? } else { Lock::default() },
                ids.collect::<Result<_, _>>()?,
            )
        }
    };
    for id in &ids {
        let explained = rye.explain(&PlanRequest::new(id.clone()))?;
        output::warnings(&explained.warnings);
        lock.insert(&explained).map_err(|error| Failure::of(&error, Exit::Failed))?;
    }
    files::write(&path, &lock.to_string())?;
    if environment.json() {
        let ids: Value = ids.iter().map(ItemId::as_str).collect();
        output::json(&json!({ "path": output::path(&path), "locked": ids }));
    } else {
        println!("{} locked in {}", output::counted(ids.len(), "directive"), path.display());
    }
    Ok(Exit::Fine)
}

/// `rye check --locked`: tells what is not as it was locked, and nothing else.
pub(crate) fn check(environment: &Environment) -> Result<Exit, Failure> {
    let (path, rye) = (path(environment)?, environment.rye()?);
    if !path.exists() {
        let message = format!("`{}` is not there; `rye lock` writes it", path.display());
        return Err(Failure::failed(message));
    }
    let lock = read(&path)?;
    let reports: Vec<(&ItemId, Result<LockReport, PrepareError>)> =
        lock.directives().map(|id| (id, report(&lock, id, &rye))).collect();
    let as_locked =
        |report: &Result<LockReport, _>| report.as_ref().is_ok_and(LockReport::is_empty);
    let changed = reports.iter().filter(|(_, report)| !as_locked(report)).count();
    let all = all_own(&rye);
    let missing = lock.missing(&all);
    if environment.json() {
        let rows = reports.iter().map(|(id, report)| row(id, report));
        output::json(&rows.chain(missing.iter().map(|id| unlocked(id))).collect());
    } else {
        reports.iter().for_each(|(id, report)| print(id, report));
        missing.iter().for_each(|id| println!("directive {id}\n  {NOT_LOCKED}"));
        let (all, fine) = (output::counted(reports.len(), "directive"), reports.len() - changed);
        let new =
            if missing.is_empty() { String::new() } else { format!(", {} new", missing.len()) };
        println!("{all} locked: {fine} as locked, {changed} changed{new}");
    }
    Ok(if changed == 0 && missing.is_empty() { Exit::Fine } else { Exit::Failed })
}

const NOT_LOCKED: &str = "is not in the lock of the whole project; `rye lock` adds it";

fn unlocked(id: &ItemId) -> Value {
    json!({ "directive": id.as_str(), "ok": false, "error": NOT_LOCKED })
}

fn report(lock: &Lock, id: &ItemId, rye: &Rye) -> Result<LockReport, PrepareError> {
    let explained = rye.explain(&PlanRequest::new(id.clone()))?;
    Ok(lock.check(&explained).expect("because the id was listed by the lock"))
}

fn print(id: &ItemId, report: &Result<LockReport, PrepareError>) {
    match report {
        Ok(report) => print!("{}", output::for_people(&report.to_string())),
        Err(error) => println!("directive {id}\n  cannot be read any more: {}", with_causes(error)),
    }
}

fn row(id: &ItemId, report: &Result<LockReport, PrepareError>) -> Value {
    match report {
        Ok(report) => report.to_json(),
        Err(error) => json!({ "directive": id.as_str(), "ok": false, "error": with_causes(error) }),
    }
}

fn with_causes(error: &PrepareError) -> String {
    Failure::of(error, Exit::Failed).to_string()
}

fn path(environment: &Environment) -> Result<PathBuf, Failure> {
    Ok(environment.project()?.join(".ai").join("rye.lock"))
}

fn read(path: &Path) -> Result<Lock, Failure> {
    read_text(path)?.parse().map_err(|error| Failure::of(&error, Exit::Failed))
}

/// Every directive of the project that can be asked for; what keeps others from it is for `rye check` to tell.
fn all_own(rye: &Rye) -> Vec<ItemId> {
    own_of(rye.library().survey(ItemKind::Directive).items)
}

/// The directives of the project itself; a lock of what every project has in common would change with the program.
fn own(rye: &Rye) -> Result<Vec<ItemId>, Failure> {
    rye.library().list(ItemKind::Directive).map(own_of).map_err(Failure::from)
}

fn own_of(listed: Vec<Listed>) -> Vec<ItemId> {
    let own = listed.into_iter().filter(|listed| listed.location.space == Space::Project);
    own.map(|listed| listed.id).collect()
}
