//! The saved form of a child that is about to begin.

use serde::{Deserialize, Serialize};

use super::{Spawn, Waiting};
use crate::failure::disk::LimitsDisk;

/// The saved form of a [`Spawn`].
#[derive(Debug, Serialize, Deserialize)]
pub struct SpawnDisk {
    call_id: String,
    thread: String,
    directive: String,
    r#async: bool,
    limits: LimitsDisk,
    #[serde(default, skip_serializing_if = "is_zero")]
    added: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SpawnDisk {
    pub(crate) fn of(spawn: &Spawn) -> Self {
        Self {
            call_id: spawn.call_id.clone(),
            thread: spawn.child.to_string(),
            directive: spawn.directive.clone(),
            r#async: spawn.waiting == Waiting::ForNothing,
            limits: LimitsDisk::of(&spawn.limits),
            added: spawn.added,
        }
    }

    /// Returns the child.
    ///
    /// # Errors
    ///
    /// The reason in words, if its id is none.
    pub fn into_spawn(self) -> Result<Spawn, String> {
        let child = self.thread.parse().map_err(|error| format!("{error}"))?;
        let waiting = if self.r#async { Waiting::ForNothing } else { Waiting::ForTheEnd };
        let limits = self.limits.into_limits();
        let added = self.added;
        let Self { call_id, directive, .. } = self;
        Ok(Spawn { call_id, child, directive, waiting, limits, added })
    }
}
