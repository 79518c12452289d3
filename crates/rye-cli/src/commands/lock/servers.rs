//! The comparison of MCP servers with the lock, for `rye check --locked --servers`.

use std::path::Path;

use rye::{Lock, ServerChange};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::failure::Failure;
use crate::output;

/// The comparison of the locked servers, which were started.
pub(super) struct Servers {
    compared: Vec<Compared>,
    /// The reason why no server was asked.
    fault: Option<String>,
}

/// A server that was started.
struct Compared {
    server: String,
    /// The changes, or the reason why the server was not asked.
    changes: Result<Vec<ServerChange>, String>,
}

impl Servers {
    /// Starts the servers of the lock at `path`, which holds `text`. It is empty if there is no lock.
    pub(super) fn ask(path: &Path, text: &str, environment: &Environment) -> Result<Self, Failure> {
        let lock = if path.exists() {
            // The comparison of the directives tells of a lock that cannot be read.
            let Ok(lock) = text.parse() else {
                let fault = "no server is asked, because the lock cannot be read".to_owned();
                return Ok(Self { compared: Vec::new(), fault: Some(fault) });
            };
            lock
        } else {
            Lock::default()
        };
        let rye = environment.rye()?;
        let compare = |(server, set): (&str, _)| {
            let offered = super::super::mcp::server_tools(&rye, server);
            let changes = offered.map(|offered| offered.changes(Some(set)));
            let changes = changes.map_err(|failure: Failure| failure.to_string());
            Compared { server: server.to_owned(), changes }
        };
        let compared: Vec<Compared> = lock.servers().map(compare).collect();
        let fault = compared.is_empty().then(|| {
            let path = path.display();
            format!(
                "no server is locked in `{path}`; `rye lock --server NAME` accepts what one offers"
            )
        });
        Ok(Self { compared, fault })
    }

    /// Returns `true` if a server is locked and each offers what the lock says.
    pub(super) fn is_fine(&self) -> bool {
        self.fault.is_none() && self.compared.iter().all(Compared::is_fine)
    }

    pub(super) fn print(&self) {
        for Compared { server, changes } in &self.compared {
            match changes {
                Ok(changes) if changes.is_empty() => println!("server {server} as locked"),
                Ok(changes) => {
                    println!("server {server} not as locked");
                    print_changes(changes);
                }
                Err(error) => println!("server {server} not asked: {error}"),
            }
        }
        self.fault.iter().for_each(|fault| println!("{}", output::line(fault)));
    }

    /// Returns the reports as JSON.
    pub(super) fn rows(&self) -> impl Iterator<Item = Value> {
        let row = |compared: &Compared| {
            let changes = compared.changes.as_ref();
            let told = changes.map(|it| it.iter().map(ServerChange::to_json).collect::<Value>());
            json!({
                "server": compared.server,
                "ok": compared.is_fine(),
                "changes": told.ok(),
                "error": changes.err(),
            })
        };
        let fault = self.fault.iter();
        let fault = fault
            .map(|fault| json!({ "server": null, "ok": false, "changes": null, "error": fault }));
        self.compared.iter().map(row).chain(fault)
    }

    /// Returns a sentence for each server that is not as locked.
    pub(super) fn problems(&self) -> impl Iterator<Item = String> {
        let problem = |Compared { server, changes }: &Compared| match changes {
            Ok(changes) if changes.is_empty() => None,
            Ok(changes) => {
                let told: Vec<&str> = changes.iter().map(|change| &*change.change).collect();
                Some(format!("server `{server}` is not as locked: {}", told.join("; ")))
            }
            Err(error) => Some(format!("server `{server}` was not asked: {error}")),
        };
        self.compared.iter().filter_map(problem).chain(self.fault.clone())
    }
}

/// Prints the changes of a server, with the texts before and after.
pub(crate) fn print_changes(changes: &[ServerChange]) {
    for change in changes {
        println!("  {}", change.change);
        if let Some(text) = &change.text {
            print!("{}", output::visible(&text.diff));
        }
    }
}

impl Compared {
    fn is_fine(&self) -> bool {
        self.changes.as_ref().is_ok_and(Vec::is_empty)
    }
}
