//! `rye lock [ID…]`.

#[cfg(feature = "mcp")]
mod servers;

use std::path::{Path, PathBuf};

use clap::Args;
#[cfg(feature = "mcp")]
use rye::ServerChange;
use rye::resolve::{ItemId, ResolveError, Space};
use rye::types::ItemKind;
use rye::{
    Checked, Checker, Explained, Lock, LockError, LockReport, PlanRequest, PrepareError, Rye,
};
use serde_json::{Value, json};

#[cfg(feature = "mcp")]
use self::servers::Servers;
#[cfg(feature = "mcp")]
pub(crate) use self::servers::print_changes;
use crate::directive::resolve_directive;
use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files;
use crate::output::{self, Answer};

/// Record the parts of directives, so that `rye check --locked` finds every change
#[derive(Debug, Args)]
#[command(
    after_help = "Writes `.ai/rye.lock`: for each directive the digests and signers of its items and of the configuration that \
                  the project and the program bring along, the tools that a model is offered, and the exact texts that a \
                  thread begins with, placeholders as written. Commit it; a change of it is a change of what a model reads, \
                  and is reviewed as one. A directive that cannot be read, or has what `rye check` calls an error, is refused and does not keep the others \
                  from being locked; the exit code is then 1, or 3 when trust stood against one. With ids, only these are written anew; without, `rye check --locked` also names \
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
    let path = path(environment)?;
    let rye = environment.rye()?;
    let mut before = Lock::default();
    let (mut lock, ids, mut refused) = match arguments.directives.as_slice() {
        [] => {
            let (ids, refused) = own(&rye);
            before = old_lock(&path);
            (Lock::of_project().with_servers_of(&before), ids, refused)
        }
        directives => {
            let ids =
                directives.iter().map(|directive| resolve_directive(directive, &rye, environment));
            let ids: Vec<ItemId> = ids.collect::<Result<_, _>>()?;
            let is_written =
                |error: &LockError| matches!(error, LockError::Edited { id } if ids.contains(id));
            (salvage_except(&path, is_written)?.0, ids, Vec::new())
        }
    };
    let checker = rye.checker();
    let mut locked = Vec::new();
    for id in ids {
        match lock_directive(&mut lock, &id, &rye, &checker) {
            Ok(()) => locked.push(id),
            Err(failure) => refused.push((Some(id), failure)),
        }
    }
    // A refused directive stays compared with its reviewed state until it is locked again.
    refused.iter().filter_map(|(id, _)| id.as_ref()).for_each(|id| lock.keep(id, &before));
    if lock.directives().next().is_none() && refused.is_empty() {
        let message = "the project has no directive to lock; `rye new directive NAME` writes one";
        return Err(Failure::failed(message));
    }
    if !locked.is_empty() {
        files::write(&path, &lock.to_string())?;
    }
    tell(&path, &locked, &refused, environment);
    let is_untrusted = refused.iter().any(|(_, failure)| failure.exit() == Exit::Refused);
    Ok(match refused.as_slice() {
        [] => Exit::Fine,
        _ if is_untrusted => Exit::Refused,
        _ => Exit::Failed,
    })
}

/// Locks a directive. Refuses it if it cannot be read or has an error of `rye check`.
fn lock_directive(
    lock: &mut Lock,
    id: &ItemId,
    rye: &Rye,
    checker: &Checker<'_>,
) -> Result<(), Failure> {
    let explained = Explained::of(rye, &PlanRequest::new(id.clone()))?;
    let place = &rye.library().locate(ItemKind::Directive, id)?.winner;
    if place.space != Space::Builtin {
        let checked = checker.check_files(std::slice::from_ref(&place.path));
        if !checked.iter().all(Checked::is_ok) {
            let path = place.path.display();
            return Err(Failure::failed(format!("it has errors; `rye check {path}` shows them")));
        }
    }
    output::warnings(&explained.warnings);
    let locked = explained.to_locked().map_err(|error| Failure::of(&error, Exit::Failed))?;
    lock.insert(id.clone(), locked);
    Ok(())
}

/// A directive that was not locked, with the reason. A file may have no id.
type Refused = (Option<ItemId>, Failure);

fn tell(path: &Path, locked: &[ItemId], refused: &[Refused], environment: &Environment) {
    if environment.json() {
        let fine = locked.iter().map(|id| json!({ "directive": id.as_str(), "locked": true }));
        let not = refused.iter().map(|(id, failure)| {
            json!({ "directive": id.as_ref().map(ItemId::as_str), "locked": false, "error": failure.to_string() })
        });
        let answer = Answer::of("directives", fine.chain(not)).with("path", output::path(path));
        let answer = answer.with("locked", locked.len()).with("refused", refused.len());
        return answer.fine_if(refused.is_empty()).print();
    }
    for (id, failure) in refused {
        let name = id.as_ref().map_or_else(|| "a file".to_owned(), ToString::to_string);
        println!("refused  {name}");
        println!("         {failure}");
    }
    let not =
        if refused.is_empty() { String::new() } else { format!(", {} refused", refused.len()) };
    let all = output::counted(locked.len(), "directive");
    let path = path.display();
    match locked {
        [] => println!("{all} locked{not}; {path} is not written"),
        _ => println!("{all} locked{not} in {path}"),
    }
}

/// Returns the lock that is rewritten. If it cannot be read, this command repairs it. Then the accepted
/// servers are lost, and a warning says so.
fn old_lock(path: &Path) -> Lock {
    salvage(path).unwrap_or_else(|failure| {
        output::warnings(&[format!("what MCP servers offer is not locked any more: {failure}")]);
        Lock::default()
    })
}

/// Returns the lock without its parts that were edited by hand, which are reported. Returns an empty lock if
/// there is none. Damage must not prevent the command that repairs it.
pub(crate) fn salvage(path: &Path) -> Result<Lock, Failure> {
    read_and_salvage(path).map(|(lock, _)| lock)
}

/// Returns the lock for a command that rewrites some parts. It fails if other parts were edited, because they
/// would leave the lock without a review.
fn salvage_except(
    path: &Path,
    is_written: impl Fn(&LockError) -> bool,
) -> Result<(Lock, Vec<LockError>), Failure> {
    let (lock, damaged) = read_and_salvage(path)?;
    if damaged.iter().all(is_written) {
        return Ok((lock, damaged));
    }
    let message = "this would leave parts of the lock out for good that were edited by hand";
    Err(Failure::failed(format!("{message}; write all of them again with {}", mending(&damaged))))
}

fn read_and_salvage(path: &Path) -> Result<(Lock, Vec<LockError>), Failure> {
    if !path.exists() {
        return Ok((Lock::default(), Vec::new()));
    }
    let (lock, damaged) =
        Lock::salvage(&read_text(path)?).map_err(|error| Failure::of(&error, Exit::Failed))?;
    let told = damaged.iter().map(|error| format!("left out of the lock: {error}"));
    output::warnings(&told.collect::<Vec<_>>());
    Ok((lock, damaged))
}

/// Returns the commands that rewrite all edited parts. A command that writes directives drops edited servers,
/// and the other way round. In that case, `rye lock` of the whole project is needed again.
fn mending(damaged: &[LockError]) -> String {
    let mut directives = String::new();
    let mut servers = String::new();
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

/// Accepts the tools of servers, one server after the other. If a later server fails, the earlier ones stay
/// accepted.
#[cfg(feature = "mcp")]
fn lock_servers(servers: &[String], environment: &Environment) -> Result<Exit, Failure> {
    let path = path(environment)?;
    let rye = environment.rye()?;
    let names = |server: &str, error: &LockError| matches!(error, LockError::EditedServer { server: edited } if edited == server);
    let (mut lock, mut damaged) =
        salvage_except(&path, |error| servers.iter().any(|it| names(it, error)))?;
    let mut rows = Vec::new();
    for server in servers {
        let offered = super::mcp::server_tools(&rye, server)?;
        let changes = offered.changes(lock.server(server));
        if !environment.json() {
            print_changes(&changes);
            offered.left_out.iter().for_each(|it| println!("left out: {it}"));
            offered.suspicions().iter().for_each(|it| println!("look twice: {it}"));
            let tools = output::counted(offered.tools.len(), "tool");
            println!("server {server} locked with {tools} in {}", path.display());
        }
        let told: Value = changes.iter().map(ServerChange::to_json).collect();
        rows.push(json!({
            "server": server,
            "tools": offered.tools.len(),
            "left_out": offered.left_out,
            "changes": told,
        }));
        lock.insert_server(server, offered.set);
        damaged.retain(|error| !names(server, error));
        // Until then, the file still lists further edits.
        if damaged.is_empty() {
            files::write(&path, &lock.to_string())?;
        }
    }
    if environment.json() {
        Answer::of("servers", rows).with("path", output::path(&path)).print();
    }
    Ok(Exit::Fine)
}

/// The comparison of a project with its lock, for `rye check --locked`.
pub(crate) struct Held {
    path: PathBuf,
    text: String,
    reports: Vec<(ItemId, Result<LockReport, PrepareError>)>,
    /// The directives of the project that are missing in the lock.
    missing: Vec<ItemId>,
    /// The reason why a comparison is not possible.
    fault: Option<String>,
    /// The comparison of the locked servers, if they were asked.
    #[cfg(feature = "mcp")]
    servers: Option<Servers>,
}

impl Held {
    pub(crate) fn of(environment: &Environment) -> Result<Self, Failure> {
        let path = path(environment)?;
        let rye = environment.rye()?;
        let (text, read) = match path.exists() {
            false => {
                let message = format!("`{}` is not there; `rye lock` writes it", path.display());
                (String::new(), Err(message))
            }
            true => {
                let text = read_text(&path)?;
                let read = text.parse::<Lock>();
                (text, read.map_err(|error| Failure::of(&error, Exit::Failed).to_string()))
            }
        };
        let (lock, fault) = match read {
            Ok(lock)
                if lock.directives().next().is_none() && lock.missing(&own(&rye).0).is_empty() =>
            {
                (lock, Some(NOTHING_LOCKED.to_owned()))
            }
            Ok(lock) => (lock, None),
            Err(fault) => (Lock::default(), Some(fault)),
        };
        let reports = lock.directives().map(|id| (id.clone(), report(&lock, id, &rye))).collect();
        let missing = lock.missing(&own(&rye).0).into_iter().cloned().collect();
        Ok(Self {
            path,
            text,
            reports,
            missing,
            fault,
            #[cfg(feature = "mcp")]
            servers: None,
        })
    }

    /// Starts the locked servers, and compares what they offer as well.
    #[cfg(feature = "mcp")]
    pub(crate) fn with_servers(self, environment: &Environment) -> Result<Self, Failure> {
        let servers = Servers::ask(&self.path, &self.text, environment)?;
        Ok(Self { servers: Some(servers), ..self })
    }

    /// Returns `true` if something is locked and nothing has changed.
    pub(crate) fn is_fine(&self) -> bool {
        let is_fine = self.n_changed() == 0 && self.missing.is_empty() && self.fault.is_none();
        #[cfg(feature = "mcp")]
        let is_fine = is_fine && self.servers.as_ref().is_none_or(Servers::is_fine);
        is_fine
    }

    fn n_changed(&self) -> usize {
        let as_locked =
            |report: &Result<LockReport, _>| report.as_ref().is_ok_and(LockReport::is_empty);
        self.reports.iter().filter(|(_, report)| !as_locked(report)).count()
    }

    pub(crate) fn print(&self) {
        self.print_directives();
        #[cfg(feature = "mcp")]
        self.servers.iter().for_each(Servers::print);
    }

    fn print_directives(&self) {
        self.reports.iter().for_each(|(id, report)| print(id, report));
        for id in &self.missing {
            println!("directive {id}");
            println!("  {NOT_LOCKED}");
        }
        if let Some(fault) = &self.fault {
            return println!("{}", output::line(fault));
        }
        let all = output::counted(self.reports.len(), "directive");
        let changed = self.n_changed();
        let missing = self.missing.len();
        let fine = self.reports.len() - changed;
        let new = if missing == 0 { String::new() } else { format!(", {missing} new") };
        println!("{all} locked: {fine} as locked, {changed} changed{new}");
    }

    /// Returns the reports of the servers as JSON, if they were asked.
    #[cfg(feature = "mcp")]
    pub(crate) fn rows_of_servers(&self) -> Option<Vec<Value>> {
        self.servers.as_ref().map(|servers| servers.rows().collect())
    }

    /// Returns the reports of the directives as JSON.
    pub(crate) fn rows(&self) -> impl Iterator<Item = Value> {
        let rows = self.reports.iter().map(|(id, report)| row(id, report));
        let fault = self.fault.iter();
        let fault = fault.map(|fault| json!({ "directive": null, "ok": false, "error": fault }));
        rows.chain(self.missing.iter().map(missing_row)).chain(fault)
    }

    /// Returns the differences as findings in the file of the lock.
    pub(crate) fn to_checked(&self) -> Checked {
        let changed = self.reports.iter().filter_map(|(id, report)| match report {
            Ok(report) if report.is_empty() => None,
            Ok(report) => {
                let changes = report.findings.iter();
                let changes = changes.map(|found| format!("{} {}", found.subject, found.change));
                let changes = changes.collect::<Vec<_>>().join("; ");
                Some((Some(id.clone()), format!("is not as locked: {changes}")))
            }
            Err(error) => {
                Some((Some(id.clone()), format!("cannot be read any more: {}", with_causes(error))))
            }
        });
        let missing = self.missing.iter().map(|id| (Some(id.clone()), NOT_LOCKED.to_owned()));
        let fault = self.fault.iter().map(|fault| (None, fault.clone()));
        let problems = changed.chain(missing).chain(fault);
        #[cfg(feature = "mcp")]
        let problems = problems
            .chain(self.servers.iter().flat_map(Servers::problems).map(|told| (None, told)));
        let problems: Vec<(Option<ItemId>, String)> = problems.collect();
        Checked::of_lock(&self.path, self.text.clone(), &problems)
    }
}

const NOTHING_LOCKED: &str =
    "no directive is locked, so that nothing is held against the lock; `rye lock` writes them down";

const NOT_LOCKED: &str = "is not in the lock of the whole project; `rye lock` adds it";

fn missing_row(id: &ItemId) -> Value {
    json!({ "directive": id.as_str(), "ok": false, "error": NOT_LOCKED })
}

fn report(lock: &Lock, id: &ItemId, rye: &Rye) -> Result<LockReport, PrepareError> {
    let explained = Explained::of(rye, &PlanRequest::new(id.clone()))?;
    Ok(explained.compare_with(lock).expect("because the id was listed by the lock"))
}

fn print(id: &ItemId, report: &Result<LockReport, PrepareError>) {
    match report {
        Ok(report) => print!("{}", output::visible(&report.to_string())),
        Err(error) => {
            println!("directive {id}");
            println!("  cannot be read any more: {}", with_causes(error));
        }
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

pub(crate) fn path(environment: &Environment) -> Result<PathBuf, Failure> {
    Ok(environment.project()?.join(".ai").join("rye.lock"))
}

/// Returns the directives of the project itself, and those that are refused. Directives of other spaces are
/// not locked by default, because they would change the lock with the program.
fn own(rye: &Rye) -> (Vec<ItemId>, Vec<Refused>) {
    let survey = rye.library().survey(ItemKind::Directive);
    let own = survey.items.into_iter().filter(|listed| listed.location.space == Space::Project);
    let refused = survey.problems.into_iter().map(|problem| {
        let id = match &problem {
            ResolveError::Ambiguous { id, .. } => Some(id.clone()),
            _ => None,
        };
        (id, Failure::from(problem))
    });
    (own.map(|listed| listed.id).collect(), refused.collect())
}
