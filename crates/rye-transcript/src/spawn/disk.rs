//! The saved form of a child that is about to begin.

use serde::{Deserialize, Serialize};

use super::{Spawn, Waiting};
use crate::ThreadId;
use crate::failure::disk::LimitsDisk;
use crate::json::Shown;

/// The saved form of a [`Spawn`].
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct SpawnDisk {
    call_id: String,
    thread: Shown<ThreadId>,
    directive: String,
    r#async: bool,
    limits: LimitsDisk,
    #[serde(default, skip_serializing_if = "crate::json::is_zero")]
    added: u64,
}

impl SpawnDisk {
    pub(crate) fn of(spawn: &Spawn) -> Self {
        Self {
            call_id: spawn.call_id.clone(),
            thread: Shown(spawn.child.clone()),
            directive: spawn.directive.clone(),
            r#async: spawn.waiting == Waiting::ForNothing,
            limits: LimitsDisk::of(&spawn.limits),
            added: spawn.added,
        }
    }

    pub(crate) fn into_spawn(self) -> Spawn {
        Spawn {
            call_id: self.call_id,
            child: self.thread.0,
            directive: self.directive,
            waiting: if self.r#async { Waiting::ForNothing } else { Waiting::ForTheEnd },
            limits: self.limits.into_limits(),
            added: self.added,
        }
    }
}
