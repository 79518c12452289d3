//! One child: within the limits, on record, begun, and parted with at the end.

use std::sync::Arc;
use std::time::Duration;

use rye_caps::Capability;
use serde_json::{Value, json};

use super::call::{Plan, Prepared, returned};
use super::{Driver, Stop};
use crate::cancel::Halt;
use crate::children::{Children, Ended, Ending, RecordedSpawn, Spawn, SpawnRequest, Spawned};
use crate::transcript::Event;
use crate::{
    End, Limit, LimitHit, Limits, Returned, Run, SpendLimit, ToolCall, ToolOutput, ToolResult,
};

/// A call that starts a child, allowed and valid.
pub(super) struct SpawnCall<'a> {
    call: &'a ToolCall,
    capability: Capability,
    arguments: Value,
    children: Arc<dyn Children>,
}

/// The result of the call, if it is known, and the reason why the thread cannot go on, if there is
/// one.
type Answered = (Option<Returned>, Option<Stop>);

impl<'a> SpawnCall<'a> {
    /// The one call of a group that starts a child: such a call never shares its group.
    pub(super) fn of(group: &[Prepared<'a>]) -> Option<Self> {
        let [Prepared { call, plan: Plan::Run { offered, permit, arguments }, .. }] = group else {
            return None;
        };
        let children = Arc::clone(offered.entry.children.as_ref()?);
        let capability = permit.capability().clone();
        let arguments = arguments.clone();
        Some(Self { call, capability, arguments, children })
    }

    fn answer(&self, output: ToolOutput) -> Returned {
        returned(self.call, &self.capability, output)
    }

    /// A limit on threads is told to hooks with the call; any other one ends the thread before its next request.
    fn limited(&self, hit: LimitHit) -> Returned {
        let answer = self.answer(limited(&hit));
        match hit.limit {
            Limit::Depth | Limit::Spawns => Returned::limit(answer.result, hit),
            _ => answer,
        }
    }

    fn stopped(&self, stop: Stop) -> Answered {
        let message = "the call was stopped while it ran, and its thread with it";
        let result = ToolResult::error(self.call, json!({ "error": message }));
        (Some(Returned::ran(result)), Some(stop))
    }
}

impl Driver<'_> {
    /// Records the child before it begins, so that the resuming process knows that it may have
    /// begun.
    pub(super) async fn spawn(&mut self, run: &Run, call: SpawnCall<'_>) -> Result<Answered, Stop> {
        let spawn = match self.progress.spawned.clone() {
            Some(spawn) => spawn,
            None => match self.planned(run, &call).await? {
                Ok(spawn) => spawn,
                Err(answer) => return Ok((Some(answer), None)),
            },
        };
        let children = Arc::clone(&call.children);
        let thought = || children.approval_wait(self.clock.elapsed());
        let left = self.left(run);
        let before = thought();
        let spawned = tokio::select! {
            biased;
            halt = self.cancel.wait_for_halt() => Err(halt),
            spawned = call.children.run(&spawn, &call.arguments) => Ok(Some(spawned)),
            () = used_up(left, || thought().saturating_sub(before)) => Ok(None),
        };
        let thought = thought().saturating_sub(before);
        self.thought(thought);
        self.record_ended_children();
        Ok(match spawned {
            Err(Halt::Cancel) => call.stopped(Stop::Cancelled),
            Ok(None) => call.stopped(Stop::Failed(self.out_of_time(run))),
            Ok(Some(Spawned::Returned(output))) => (Some(call.answer(output)), None),
            Ok(Some(Spawned::Interrupted)) | Err(Halt::Interrupt) => {
                (None, Some(Stop::Interrupted))
            }
            Ok(Some(Spawned::Suspended(request))) => (None, Some(Stop::Suspended(request))),
        })
    }

    async fn planned(
        &mut self,
        run: &Run,
        call: &SpawnCall<'_>,
    ) -> Result<Result<Spawn, Returned>, Stop> {
        // What the others did not spend of their shares is free for this one.
        self.record_ended_children();
        let left = match self.left_for_a_child(run) {
            Ok(left) => left,
            Err(hit) => return Ok(Err(call.limited(hit))),
        };
        let call_id = call.call.id.clone();
        let arguments = call.arguments.clone();
        let request = SpawnRequest { call_id, number: self.spawned, arguments, left };
        let spawn = match call.children.prepare(&request).await {
            Ok(spawn) => Spawn { added: self.added, ..spawn },
            Err(output) => return Ok(Err(call.answer(output))),
        };
        if !self.account(run).covers(spawn.limits.spend) {
            return Ok(Err(call.answer(too_much(&spawn))));
        }
        self.recorder.emit(&Event::SpawnChild(spawn.clone()));
        self.recorder.sync().await?;
        self.spawned += 1;
        self.progress.spawned = Some(spawn.clone());
        Ok(Ok(spawn))
    }

    /// Returns the rest of each limit, for a child one level below (SPEC 10.5).
    fn left_for_a_child(&self, run: &Run) -> Result<Limits, LimitHit> {
        let limits = run.limits();
        let tokens = limits.tokens.saturating_sub(run.usage().total());
        let seconds = self.left(run).as_secs();
        let rows = [
            (Limit::Spawns, self.spawned, limits.spawns),
            (Limit::Depth, 0, limits.depth),
            (Limit::Tokens, run.usage().total(), limits.tokens),
            (Limit::Duration, limits.duration_seconds - seconds, limits.duration_seconds),
        ];
        if let Some((limit, value, maximum)) =
            rows.into_iter().find(|(_, value, maximum)| maximum <= value)
        {
            return Err(LimitHit { limit, value, maximum });
        }
        let mut left = limits.clone();
        left.spend = self.account(run).free().map_or(SpendLimit::Unlimited, SpendLimit::AtMost);
        (left.tokens, left.duration_seconds) = (tokens, seconds);
        left.depth = limits.depth.saturating_sub(1);
        Ok(left)
    }

    /// Takes over the children of the program before this one.
    pub(super) async fn adopt(&mut self, spawns: Vec<RecordedSpawn>) -> Result<(), Stop> {
        self.spawned = u64::try_from(spawns.len()).unwrap_or(u64::MAX);
        let Some(children) = self.children() else { return Ok(()) };
        let is_next = |it: &RecordedSpawn| self.progress.spawned.as_ref() == Some(&it.spawn);
        let mut others: Vec<RecordedSpawn> =
            spawns.into_iter().filter(|spawn| !is_next(spawn)).collect();
        for other in &mut others {
            let has_ended = self.ended_children.contains(&other.spawn.child);
            other.arguments = other.arguments.take().filter(|_| !has_ended);
        }
        if others.is_empty() {
            return Ok(());
        }
        children.adopt(&others).await.map_err(|problem| {
            Stop::Unwritten(crate::Failure::new(crate::FailureKind::Storage, &problem))
        })
    }

    /// Parts with the children before the end is recorded: a thread that did its work waits for them, one that failed or
    /// was cancelled takes them along.
    pub(super) async fn part(&mut self, end: &End) -> Result<(), Stop> {
        let ending = match end {
            End::Completed { .. } | End::Continued => Ending::Await,
            End::Cancelled | End::Failed(_) => Ending::Cancel,
        };
        // They may take their time, and a reader may want to know meanwhile what has happened.
        if 0 < self.spawned {
            self.recorder.write()?;
        }
        let ended = self.end_children(ending).await;
        self.record_ended_children();
        match (ended, ending) {
            (Ended::All, _) | (_, Ending::Cancel | Ending::Interrupt) => Ok(()),
            (Ended::Interrupted, _) => Err(Stop::Interrupted),
            (Ended::Suspended(request), _) => Err(Stop::Suspended(request)),
        }
    }

    /// Ends the children. Approval waits of theirs do not count as the thread's time.
    pub(super) async fn end_children(&mut self, ending: Ending) -> Ended {
        let Some(children) = self.children().filter(|_| 0 < self.spawned).cloned() else {
            return Ended::All;
        };
        let thought = || children.approval_wait(self.clock.elapsed());
        let before = thought();
        let ended = children.end(ending).await;
        let thought = thought().saturating_sub(before);
        self.thought(thought);
        ended
    }

    /// Records the ends of children that have no record yet. What they did not spend may be reserved afterwards.
    pub(super) fn record_ended_children(&mut self) {
        let Some(children) = self.children().filter(|_| 0 < self.spawned).cloned() else { return };
        for end in children.ends() {
            if self.ended_children.insert(end.child.clone()) {
                let end = self.accountant.tree.price_end(end);
                self.recorder.emit(&Event::ChildEnded(end));
            }
        }
    }

    fn children(&self) -> Option<&Arc<dyn Children>> {
        self.tape.is_none().then(|| self.palette.children()).flatten()
    }
}

/// Comes to its end once so much time has passed beside what people thought, which may grow meanwhile.
pub(super) async fn used_up(left: Duration, thought: impl Fn() -> Duration) {
    let mut counted = Duration::ZERO;
    let mut due = left;
    loop {
        tokio::time::sleep(due).await;
        let now = thought();
        if now <= counted {
            return;
        }
        (due, counted) = (now.saturating_sub(counted), now);
    }
}

/// The answer to a call whose child would have more money than its parent has left.
fn too_much(spawn: &Spawn) -> ToolOutput {
    let child = &spawn.child;
    let spend = spawn.limits.spend;
    let message =
        format!("a spend limit of {spend} for `{child}` is more than its parent has left");
    ToolOutput::error(json!({ "error": message }))
}

fn limited(hit: &LimitHit) -> ToolOutput {
    ToolOutput::error(json!({
        "error": hit.to_string(),
        "limit": { "name": hit.limit.as_str(), "value": hit.value, "maximum": hit.maximum },
    }))
}
