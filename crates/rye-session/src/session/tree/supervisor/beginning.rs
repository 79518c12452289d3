//! Children that are prepared, and begun once they are on record.

use std::sync::Arc;

use rye_project::{Class, PrepareError, with_causes};
use rye_thread::{Spawn, SpawnRequest, ThreadId, ToolOutput, Waiting};
use rye_types::{LimitSet, Nanos, SpendLimit};
use serde_json::{Value, json};

use super::{ThreadSupervisor, child_bounds};
use crate::session::begin::Begun;
use crate::session::leave_failed;
use crate::session::prepare::{Prepared, prepare};
use crate::session::request::{Host, RunRequest};
use crate::session::tree::arguments::{Wanted, error_output, parse_wanted};
use crate::session::tree::{Report, Standing};

impl ThreadSupervisor<'_> {
    pub(super) fn prepare(
        &mut self,
        parent: &ThreadId,
        request: &SpawnRequest,
    ) -> Result<Spawn, ToolOutput> {
        let wanted = parse_wanted(&request.arguments)?;
        let child = child_id(parent, request.number, &wanted, &self.host)?;
        let prepared = self.prepare_child(parent, &child, &wanted, (&request.left, u64::MAX))?;
        let limits = prepared.record.limits.clone();
        let call_id = &request.call_id;
        let directive = wanted.directive.as_str();
        let spawn = Spawn::new(call_id, child.clone(), directive, wanted.waiting, limits);
        self.prepared.insert(child, prepared);
        Ok(spawn)
    }

    /// A child prepared as every run is, under what its parent may do and has left, with the items that calls had added to the
    /// conversation of that.
    fn prepare_child(
        &self,
        parent: &ThreadId,
        child: &ThreadId,
        wanted: &Wanted,
        (left, added): (&LimitSet, u64),
    ) -> Result<Prepared, ToolOutput> {
        let gone = || error_output("the thread that wants a child is not driven here");
        let inherited = self.tree.inherited_settings(parent).ok_or_else(gone)?;
        let authority = self.tree.authority(parent, added).ok_or_else(gone)?;
        let mut request = RunRequest::new(wanted.directive.clone(), child.clone());
        request.inputs.clone_from(&wanted.inputs);
        request.provider = inherited.provider.clone();
        request.model.clone_from(&inherited.model);
        request.returns = inherited.returns;
        (request.limits.turns, request.limits.tokens) = (wanted.turns, wanted.tokens);
        (request.limits.spend, request.limits.duration_seconds) =
            (wanted.spend, wanted.duration_seconds);
        let may = (caps(left, wanted), share(left, wanted.waiting));
        let child_bounds =
            child_bounds(parent, &inherited, authority, may, (&self.host, &self.key));
        let child_bounds = child_bounds.map_err(|error| error_output(&with_causes(&error)))?;
        request.child_bounds = Some(Arc::new(child_bounds));
        prepare(self.rye, &request, &self.host, &self.key)
            .map_err(|error| self.record_failure(&error, &request))
    }

    /// Records the thread that could not begin, and returns the message for the model (SPEC 10.1).
    fn record_failure(&self, error: &PrepareError, request: &RunRequest) -> ToolOutput {
        let reason = with_causes(error);
        if let Some(threads) = self.rye.threads() {
            // The transcript of the parent holds the reason, whatever becomes of this record.
            let key = Arc::clone(&self.key);
            drop(leave_failed(&self.store, &threads, request, &self.host, key, &reason));
        }
        let content =
            json!({ "error": format!("directive `{}` cannot run: {reason}", request.directive) });
        match error.class() {
            Class::Refused => ToolOutput::refusal(content),
            _ => ToolOutput::error(content),
        }
    }

    /// Begins a child, goes on with it, or finds that it has ended. One that cannot begin has ended, so that its parent has its share
    /// of the money back.
    pub(super) fn start(
        &mut self,
        parent: &ThreadId,
        spawn: &Spawn,
        arguments: &Value,
    ) -> Result<(), ToolOutput> {
        self.begin(parent, spawn, arguments).inspect_err(|output| {
            self.end_unbegun(parent, spawn, &output.content.to_string());
        })
    }

    /// Enters a child that has a share of its parent's money and never begins.
    pub(super) fn end_unbegun(&self, parent: &ThreadId, spawn: &Spawn, reason: &str) {
        let ended = Standing::Ended(Arc::new(Report::unbegun(reason)));
        drop(self.tree.enter(&spawn.child, Some(parent), &spawn.directive, ended));
    }

    fn begin(
        &mut self,
        parent: &ThreadId,
        spawn: &Spawn,
        arguments: &Value,
    ) -> Result<(), ToolOutput> {
        let child = &spawn.child;
        match self.tree.standing(child) {
            Some(Standing::Running | Standing::Ended(_)) => return Ok(()),
            Some(Standing::Suspended(_) | Standing::Interrupted) | None => {}
        }
        let failed = |error: &dyn std::error::Error| error_output(&with_causes(error));
        if self.store.has(child) {
            self.go_on_or_wait(parent, spawn);
            return Ok(());
        }
        let prepared = match self.prepared.remove(child) {
            Some(prepared) => prepared,
            None => {
                let wanted = parse_wanted(arguments)?;
                let may = (&spawn.limits, spawn.added);
                self.prepare_child(parent, child, &wanted, may)?
            }
        };
        let key = Arc::clone(&self.key);
        let begun = Begun::new(prepared, &self.store, key).map_err(|error| failed(&error))?;
        self.drive(self.child(parent, spawn), begun);
        Ok(())
    }
}

fn caps(left: &LimitSet, wanted: &Wanted) -> LimitSet {
    let mut caps = left.clone();
    caps.spawns = wanted.spawns.map_or(left.spawns, |spawns| spawns.min(left.spawns));
    caps.depth = wanted.depth.map_or(left.depth, |depth| depth.min(left.depth));
    caps
}

/// Returns the most money for a child without a limit of its own. If the parent runs beside it,
/// that is half of what is left, because the parent needs some itself.
fn share(left: &LimitSet, waiting: Waiting) -> Option<Nanos> {
    match (waiting, left.spend) {
        (Waiting::ForNothing, SpendLimit::AtMost(left)) => Some(Nanos::new(left.get() / 2)),
        _ => None,
    }
}

/// The id of a child: made of its parent and its place among the children, so that it needs no chance.
fn child_id(
    parent: &ThreadId,
    number: u64,
    wanted: &Wanted,
    host: &Host<'_>,
) -> Result<ThreadId, ToolOutput> {
    let digest = rye_sign::Digest::of(format!("{parent}\n{number}").as_bytes()).to_string();
    let hex = digest.rsplit(':').next().unwrap_or_default();
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    let millis = host.clock.now().as_unix_millis().max(0) & 0xffff_ffff_ffff;
    let time = format!("{millis:012x}");
    let (high, low) = time.split_at(8);
    let uuid = format!("{high}-{low}-7{}-8{}-{}", part(0, 3), part(3, 6), part(6, 18));
    ThreadId::new(wanted.directive.as_str(), &uuid)
        .map_err(|error| error_output(&error.to_string()))
}
