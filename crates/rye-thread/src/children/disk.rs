//! The saved form of a child that a thread is about to begin.

use serde::{Deserialize, Serialize};

use super::{Spawn, Waiting};
use crate::outcome::disk::LimitsDisk;

#[derive(Serialize, Deserialize)]
pub(crate) struct SpawnDisk {
    call_id: String,
    thread: String,
    directive: String,
    r#async: bool,
    limits: LimitsDisk,
}

impl SpawnDisk {
    pub(crate) fn of(spawn: &Spawn) -> Self {
        Self {
            call_id: spawn.call_id.clone(),
            thread: spawn.child.to_string(),
            directive: spawn.directive.clone(),
            r#async: spawn.waiting == Waiting::ForNothing,
            limits: LimitsDisk::of(&spawn.limits),
        }
    }

    pub(crate) fn into_spawn(self) -> Result<Spawn, String> {
        let child = self.thread.parse().map_err(|error| format!("{error}"))?;
        let waiting = if self.r#async { Waiting::ForNothing } else { Waiting::ForTheEnd };
        let limits = self.limits.into_limits();
        Ok(Spawn { call_id: self.call_id, child, directive: self.directive, waiting, limits })
    }
}
