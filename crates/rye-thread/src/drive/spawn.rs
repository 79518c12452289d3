//! One child: within the limits, on record, begun, and parted with at the end.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use rye_caps::Capability;
use rye_types::{Limit, LimitHit, LimitSet, SpendLimit};
use serde_json::{Value, json};

use super::accountant::Accountant;
use super::call::{Plan, Prepared, tool_answer};
use super::recorder::Recorder;
use super::stop::Stop;
use crate::cancel::Halt;
use crate::children::{Children, Ended, Ending, RecordedSpawn, SpawnRequest, Spawned};
use crate::transcript::Event;
use crate::{
    Account, AddedItem, Cancel, End, Failure, FailureKind, Returned, Run, Spawn, ThreadId,
    ToolCall, ToolOutput, ToolResult,
};

/// A call that starts a child, allowed and valid.
pub(super) struct SpawnCall<'a> {
    call: &'a ToolCall,
    capability: Capability,
    arguments: Value,
    children: Arc<dyn Children>,
}

/// The end of a call that starts a child.
pub(super) struct SpawnEnd {
    /// The result of the call, if it is known.
    pub(super) answer: Option<Returned>,
    /// The reason why the thread cannot go on.
    pub(super) stop: Option<Stop>,
}

impl SpawnEnd {
    const fn with_answer(answer: Returned) -> Self {
        Self { answer: Some(answer), stop: None }
    }
}

impl<'a> SpawnCall<'a> {
    /// The one call of a group that starts a child: such a call never shares its group.
    pub(super) fn of(group: &[Prepared<'a>]) -> Option<Self> {
        let [Prepared { call, plan: Plan::Run { offered, call: authorised }, .. }] = group else {
            return None;
        };
        let children = Arc::clone(offered.entry.children.as_ref()?);
        let capability = authorised.permit().capability().clone();
        let arguments = authorised.arguments().clone();
        Some(Self { call, capability, arguments, children })
    }

    fn answer(&self, output: ToolOutput) -> Returned {
        tool_answer(self.call, &self.capability, output)
    }

    /// A limit on threads is told to hooks with the call; any other one ends the thread before its next request.
    fn limit_answer(&self, hit: LimitHit) -> Returned {
        let answer = self.answer(limit_output(&hit));
        match hit.limit {
            Limit::Depth | Limit::Spawns => Returned::limit(answer.result, hit),
            _ => answer,
        }
    }

    fn end_by(&self, stop: Stop) -> SpawnEnd {
        let message = "the call was stopped while it ran, and its thread with it";
        let result = ToolResult::error(self.call, json!({ "error": message }));
        SpawnEnd { answer: Some(Returned::ran(result)), stop: Some(stop) }
    }
}

/// Starts the children of a thread, and records their ends.
pub(super) struct ChildSpawner<'a> {
    /// The supervisor of the children. A replay has none.
    children: Option<&'a Arc<dyn Children>>,
    cancel: &'a Cancel,
    /// The number of children that were begun.
    pub(super) spawned: u64,
    /// The children whose ends are on record.
    ended: BTreeSet<ThreadId>,
    /// The number of items that calls added to the conversation.
    added: u64,
}

impl<'a> ChildSpawner<'a> {
    pub(super) fn new(children: Option<&'a Arc<dyn Children>>, cancel: &'a Cancel) -> Self {
        Self { children, cancel, spawned: 0, ended: BTreeSet::new(), added: 0 }
    }

    /// Bounds the children that are started from now on by an item that a call added to the conversation.
    pub(super) fn add(&mut self, item: &AddedItem) {
        self.added += 1;
        if let Some(children) = self.children {
            children.add(item);
        }
    }

    /// Starts the child that a call wants, or continues the one that is on record for the call as `recorded`.
    ///
    /// The child is recorded before it begins, so that the resuming process knows that it may have begun.
    pub(super) async fn spawn(
        &mut self,
        run: &Run,
        call: SpawnCall<'_>,
        recorded: &mut Option<Spawn>,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<SpawnEnd, Stop> {
        let spawn = match recorded.clone() {
            Some(spawn) => spawn,
            None => match self.plan(run, &call, recorder, accountant).await? {
                Ok(spawn) => recorded.insert(spawn).clone(),
                Err(answer) => return Ok(SpawnEnd::with_answer(answer)),
            },
        };
        let time = &recorder.time;
        let waits = || call.children.approval_wait(time.of_clock());
        let left = time.left(run);
        let before = waits();
        let spawned = tokio::select! {
            biased;
            halt = self.cancel.wait_for_halt() => Err(halt),
            spawned = call.children.run(&spawn, &call.arguments) => Ok(Some(spawned)),
            () = use_up(left, || waits().saturating_sub(before)) => Ok(None),
        };
        let waited = waits().saturating_sub(before);
        recorder.exclude_wait(waited);
        self.record_ends(recorder, accountant);
        Ok(match spawned {
            Err(Halt::Cancel) => call.end_by(Stop::Cancelled),
            Ok(None) => call.end_by(Stop::Failed(recorder.time.used_up(run))),
            Ok(Some(Spawned::Returned(output))) => SpawnEnd::with_answer(call.answer(output)),
            Ok(Some(Spawned::Interrupted)) | Err(Halt::Interrupt) => {
                SpawnEnd { answer: None, stop: Some(Stop::Interrupted) }
            }
            Ok(Some(Spawned::Suspended(request))) => {
                SpawnEnd { answer: None, stop: Some(Stop::Suspended(request)) }
            }
        })
    }

    /// Determines the child and records it, or returns the answer to a call that may start none.
    async fn plan(
        &mut self,
        run: &Run,
        call: &SpawnCall<'_>,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<Result<Spawn, Returned>, Stop> {
        // What the others did not spend of their shares is free for this one.
        self.record_ends(recorder, accountant);
        let account = accountant.account(run.limits().spend);
        let left = match self.left_for_a_child(run, recorder.time.left(run), &account) {
            Ok(left) => left,
            Err(hit) => return Ok(Err(call.limit_answer(hit))),
        };
        let call_id = call.call.id.clone();
        let arguments = call.arguments.clone();
        let request = SpawnRequest { call_id, number: self.spawned, arguments, left };
        let mut spawn = match call.children.prepare(&request).await {
            Ok(spawn) => spawn,
            Err(output) => return Ok(Err(call.answer(output))),
        };
        spawn.added = self.added;
        if !accountant.account(run.limits().spend).covers(spawn.limits.spend) {
            return Ok(Err(call.answer(too_much(&spawn))));
        }
        recorder.emit(&Event::SpawnChild(spawn.clone()));
        recorder.sync().await?;
        self.spawned += 1;
        Ok(Ok(spawn))
    }

    /// Returns the rest of each limit, for a child one level below (SPEC 10.5).
    fn left_for_a_child(
        &self,
        run: &Run,
        time: Duration,
        account: &Account,
    ) -> Result<LimitSet, LimitHit> {
        let limits = run.limits();
        let tokens = limits.tokens.saturating_sub(run.usage().total());
        let seconds = time.as_secs();
        let rows = [
            (Limit::Spawns, self.spawned, limits.spawns),
            (Limit::Depth, 0, limits.depth),
            (Limit::Tokens, run.usage().total(), limits.tokens),
            (Limit::Duration, limits.duration_seconds - seconds, limits.duration_seconds),
        ];
        if let Some((limit, value, maximum)) =
            rows.into_iter().find(|(_, value, maximum)| maximum <= value)
        {
            return Err(LimitHit::new(limit, value, maximum));
        }
        let mut left = limits.clone();
        left.spend = account.free().map_or(SpendLimit::Unlimited, SpendLimit::AtMost);
        (left.tokens, left.duration_seconds) = (tokens, seconds);
        left.depth = limits.depth.saturating_sub(1);
        Ok(left)
    }

    /// Takes over the children of earlier processes. The next call continues `next` by itself.
    pub(super) async fn adopt(
        &mut self,
        spawns: Vec<RecordedSpawn>,
        next: Option<&Spawn>,
    ) -> Result<(), Stop> {
        self.spawned = u64::try_from(spawns.len()).unwrap_or(u64::MAX);
        let Some(children) = self.children else { return Ok(()) };
        let mut others: Vec<RecordedSpawn> =
            spawns.into_iter().filter(|recorded| next != Some(&recorded.spawn)).collect();
        for other in &mut others {
            let has_ended = self.ended.contains(&other.spawn.child);
            other.arguments = other.arguments.take().filter(|_| !has_ended);
        }
        if others.is_empty() {
            return Ok(());
        }
        children
            .adopt(&others)
            .await
            .map_err(|problem| Stop::Unwritten(Failure::new(FailureKind::Storage, &problem)))
    }

    /// Takes over the children whose ends earlier processes recorded.
    pub(super) fn take_over(&mut self, ended: BTreeSet<ThreadId>) {
        self.ended = ended;
    }

    /// Parts with the children before the end is recorded: a thread that did its work waits for them, one that failed or
    /// was cancelled takes them along.
    pub(super) async fn part(
        &mut self,
        end: &End,
        recorder: &mut Recorder<'_>,
        accountant: &Accountant,
    ) -> Result<(), Stop> {
        let ending = match end {
            End::Completed { .. } | End::Continued => Ending::Await,
            End::Cancelled | End::Failed(_) => Ending::Cancel,
        };
        // They may take their time, and a reader may want to know meanwhile what has happened.
        if 0 < self.spawned {
            recorder.write()?;
        }
        let ended = self.end(ending, recorder).await;
        self.record_ends(recorder, accountant);
        match (ended, ending) {
            (Ended::All, _) | (_, Ending::Cancel | Ending::Interrupt) => Ok(()),
            (Ended::Interrupted, _) => Err(Stop::Interrupted),
            (Ended::Suspended(request), _) => Err(Stop::Suspended(request)),
        }
    }

    /// Ends the children. Approval waits of theirs do not count as the thread's time.
    pub(super) async fn end(&self, ending: Ending, recorder: &mut Recorder<'_>) -> Ended {
        let Some(children) = self.active_children() else { return Ended::All };
        let waits = |recorder: &Recorder<'_>| children.approval_wait(recorder.time.of_clock());
        let before = waits(recorder);
        let ended = children.end(ending).await;
        let waited = waits(recorder).saturating_sub(before);
        recorder.exclude_wait(waited);
        ended
    }

    /// Records the ends of children that have no record yet. What they did not spend may be reserved afterwards.
    pub(super) fn record_ends(&mut self, recorder: &mut Recorder<'_>, accountant: &Accountant) {
        for end in self.active_children().into_iter().flat_map(|children| children.ends()) {
            if self.ended.insert(end.child.clone()) {
                let end = accountant.tree.price_end(end);
                recorder.emit(&Event::ChildEnded(end));
            }
        }
    }

    /// Returns the supervisor if the thread has begun a child.
    fn active_children(&self) -> Option<&'a Arc<dyn Children>> {
        self.children.filter(|_| 0 < self.spawned)
    }
}

/// Waits until so much time has passed, approval waits excluded. These may grow meanwhile.
pub(super) async fn use_up(left: Duration, approval_waits: impl Fn() -> Duration) {
    let mut counted = Duration::ZERO;
    let mut due = left;
    loop {
        tokio::time::sleep(due).await;
        let now = approval_waits();
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

fn limit_output(hit: &LimitHit) -> ToolOutput {
    ToolOutput::error(json!({
        "error": hit.to_string(),
        "limit": { "name": hit.limit.as_str(), "value": hit.value, "maximum": hit.maximum },
    }))
}
