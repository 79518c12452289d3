//! `rye lock [ID…]`.

use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "mcp")]
use rye::ServerChange;
use rye::resolve::{ItemId, ItemKind, Listed, Space};
use rye::{Lock, LockError, LockReport, PlanRequest, PrepareError, Rye};
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
                  With --server, an MCP server is started and all that it offers is written down, after what changed in it is \
                  shown; a thread calls a server only while it offers just that. Directives are left as they were locked.\n\n\
                  Examples:\n  rye lock\n  rye lock notes/index\n  rye lock --server notes\n  rye check --locked"
)]
pub(crate) struct Arguments {
    /// Directives by id or file; default: every directive of the project, and no other
    directives: Vec<String>,
    /// Write down what this MCP server offers, and accept it (may be given many times)
    #[cfg(feature = "mcp")]
    #[arg(long = "server", value_name = "NAME", conflicts_with = "directives")]
    servers: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    #[cfg(feature = "mcp")]
    if !arguments.servers.is_empty() {
        return lock_servers(&arguments.servers, environment);
    }
    let (path, rye) = (path(environment)?, environment.rye()?);
    let (mut lock, ids) = match arguments.directives.as_slice() {
        [] => (Lock::of_project().with_servers_of(servers_of(&path)), own(&rye)?),
        directives => {
            let ids = directives.iter().map(|directive| named(directive, &rye, environment));
            let ids: Vec<ItemId> = ids.collect::<Result<_, _>>()?;
            let is_written =
                |error: &LockError| matches!(error, LockError::Edited { id } if ids.contains(id));
            (salvaged_but(&path, is_written)?.0, ids)
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

/// The lock as far as its servers go. One that cannot be read is what this command mends; then no server is accepted any
/// more, and that is said.
fn servers_of(path: &Path) -> Lock {
    salvaged(path).unwrap_or_else(|failure| {
        output::warnings(&[format!("what MCP servers offer is not locked any more: {failure}")]);
        Lock::default()
    })
}

/// The lock without what was edited in it by hand, which is named; an empty one where there is none. Who writes a damaged part
/// again must not be kept from it by the damage.
pub(crate) fn salvaged(path: &Path) -> Result<Lock, Failure> {
    read_salvaged(path).map(|(lock, _)| lock)
}

/// The same for who writes some parts again: refused where others were edited, which would be locked no more although nobody
/// looked at them.
fn salvaged_but(
    path: &Path,
    is_written: impl Fn(&LockError) -> bool,
) -> Result<(Lock, Vec<LockError>), Failure> {
    let (lock, damaged) = read_salvaged(path)?;
    if damaged.iter().all(is_written) {
        return Ok((lock, damaged));
    }
    let message = "this would leave parts of the lock out for good that were edited by hand";
    Err(Failure::failed(format!("{message}; write all of them again with {}", mending(&damaged))))
}

fn read_salvaged(path: &Path) -> Result<(Lock, Vec<LockError>), Failure> {
    if !path.exists() {
        return Ok((Lock::default(), Vec::new()));
    }
    let (lock, damaged) =
        Lock::salvaged(&read_text(path)?).map_err(|error| Failure::of(&error, Exit::Failed))?;
    let told = damaged.iter().map(|error| format!("left out of the lock: {error}"));
    output::warnings(&told.collect::<Vec<_>>());
    Ok((lock, damaged))
}

/// The commands that write everything again that was edited. One that writes directives drops servers that were edited, and the
/// other way round; `rye lock` of the whole project alone goes on then.
fn mending(damaged: &[LockError]) -> String {
    let (mut directives, mut servers) = (String::new(), String::new());
    for error in damaged {
        match error {
            LockError::Edited { id } => directives.push_str(&format!(" {id}")),
            LockError::EditedServer { server } => servers.push_str(&format!(" --server {server}")),
            _ => {}
        }
    }
    match (directives.is_empty(), servers.is_empty()) {
        (true, _) => format!("`rye lock{servers}`"),
        (false, true) => format!("`rye lock{directives}`"),
        (false, false) => format!("`rye lock`, then `rye lock{servers}`, and `rye lock` once more"),
    }
}

/// What is locked of servers, for who looks at them.
#[cfg(feature = "mcp")]
pub(crate) fn of_servers(environment: &Environment) -> Result<Lock, Failure> {
    salvaged(&path(environment)?)
}

/// The lock, or an empty one where there is none.
#[cfg(feature = "mcp")]
fn read_if_any(environment: &Environment) -> Result<Lock, Failure> {
    let path = path(environment)?;
    if path.exists() { read(&path) } else { Ok(Lock::default()) }
}

/// Accepts what servers offer, one after the other; what was written for one stays when the next cannot be asked.
#[cfg(feature = "mcp")]
fn lock_servers(servers: &[String], environment: &Environment) -> Result<Exit, Failure> {
    let (path, rye) = (path(environment)?, environment.rye()?);
    let names = |server: &str, error: &LockError| matches!(error, LockError::EditedServer { server: edited } if edited == server);
    let (mut lock, mut damaged) =
        salvaged_but(&path, |error| servers.iter().any(|it| names(it, error)))?;
    let mut rows = Vec::new();
    for server in servers {
        let offered = super::mcp::server_tools(&rye, server)?;
        let changes = offered.changes(lock.server(server));
        if !environment.json() {
            print_changes(&changes);
            offered.suspicions().iter().for_each(|it| println!("look twice: {}", output::line(it)));
            let tools = output::counted(offered.tools.len(), "tool");
            println!("server {server} locked with {tools} in {}", path.display());
        }
        let told: Value = changes.iter().map(ServerChange::to_json).collect();
        rows.push(json!({ "server": server, "tools": offered.tools.len(), "changes": told }));
        lock.insert_server(server, offered.set);
        damaged.retain(|error| !names(server, error));
        // Until then the file still says that more than this was edited.
        if damaged.is_empty() {
            files::write(&path, &lock.to_string())?;
        }
    }
    if environment.json() {
        output::json(&json!({ "path": output::path(&path), "servers": rows }));
    }
    Ok(Exit::Fine)
}

/// What changed in a server, with the texts before and after.
#[cfg(feature = "mcp")]
pub(crate) fn print_changes(changes: &[ServerChange]) {
    for change in changes {
        println!("  {}", change.change);
        if let Some(text) = &change.text {
            print!("{}", output::visible(&text.diff));
        }
    }
}

/// `rye check --locked --servers`: starts the servers that are locked and tells what they do not offer as it was.
#[cfg(feature = "mcp")]
pub(crate) fn check_servers(environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let lock = read_if_any(environment)?;
    if lock.servers().next().is_none() {
        let path = path(environment)?;
        return Err(Failure::failed(format!(
            "no server is locked in `{}`; `rye lock --server NAME` accepts what one offers",
            path.display()
        )));
    }
    let mut rows = Vec::new();
    for (server, set) in lock.servers() {
        let found = super::mcp::server_tools(&rye, server).map(|it| it.changes(Some(set)));
        if !environment.json() {
            match &found {
                Ok(changes) if changes.is_empty() => println!("server {server} as locked"),
                Ok(changes) => {
                    println!("server {server} not as locked");
                    print_changes(changes);
                }
                Err(failure) => println!("server {server} not asked: {failure}"),
            }
        }
        rows.push((server, found));
    }
    let is_fine = |found: &Result<Vec<_>, _>| found.as_ref().is_ok_and(Vec::is_empty);
    let all_fine = rows.iter().all(|(_, found)| is_fine(found));
    if environment.json() {
        let row = |(server, found): &(&str, Result<Vec<ServerChange>, Failure>)| {
            let changes =
                found.as_ref().map(|it| it.iter().map(ServerChange::to_json).collect::<Value>());
            let error = found.as_ref().err().map(ToString::to_string);
            json!({ "server": server, "ok": is_fine(found), "changes": changes.ok(), "error": error })
        };
        output::json(&rows.iter().map(row).collect());
    }
    Ok(if all_fine { Exit::Fine } else { Exit::Failed })
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
