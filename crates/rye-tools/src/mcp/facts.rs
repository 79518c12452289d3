//! Facts about servers that spare time at the next start.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::server::Server;

/// Facts that were learned of servers. A server with another configuration is another server.
///
/// A fact only decides the first message of a connection. It weakens no check, and a wrong one costs one attempt to connect.
pub trait ServerFacts: fmt::Debug + Send + Sync {
    /// Returns `true` if the server is known to begin with `initialize`, the first message of the revisions before 2026-07-28.
    fn begins_with_initialize(&self, server: &Server) -> bool;

    /// Keeps whether the server begins with `initialize`. What cannot be kept is learned again.
    fn learn(&self, server: &Server, begins_with_initialize: bool);
}

/// The facts that one process learned.
#[derive(Debug, Default)]
pub(super) struct LearnedFacts(Mutex<BTreeSet<Server>>);

impl ServerFacts for LearnedFacts {
    fn begins_with_initialize(&self, server: &Server) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(server)
    }

    fn learn(&self, server: &Server, begins_with_initialize: bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match begins_with_initialize {
            true => drop(known.insert(server.clone())),
            false => drop(known.remove(server)),
        }
    }
}
