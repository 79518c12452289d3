//! The access of one thread's tools to the tree.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use rye_project::{NotDriven, TreeAccess, TreeFunction};
use rye_sign::SigningKey;
use rye_thread::{
    AddedItem, ChildEnd, Children, Ended, Ending, RecordedSpawn, Spawn, SpawnRequest, Spawned,
    ThreadId, ToolOutput, Waiting,
};
use rye_types::Timestamp;
use serde_json::{Value, json};

use super::arguments::error_output;
use super::{OVER, Order, Standing, Tree, tools};

/// The place of one thread in its tree, once it is driven. Before that, it can start no children.
#[derive(Debug, Default)]
pub(crate) struct Handle(OnceLock<Place>);

#[derive(Debug)]
struct Place {
    thread: ThreadId,
    tree: Arc<Tree>,
}

impl Handle {
    pub(in crate::session) fn connect(&self, thread: &ThreadId, tree: &Arc<Tree>) {
        // A thread is prepared for one time of driving it.
        drop(self.0.set(Place { thread: thread.clone(), tree: Arc::clone(tree) }));
    }

    fn place(&self) -> Result<(&ThreadId, &Arc<Tree>), ToolOutput> {
        let place = self.0.get().ok_or_else(NotDriven::output)?;
        Ok((&place.thread, &place.tree))
    }
}

#[async_trait]
impl TreeAccess for Handle {
    fn has_signing_key(&self) -> bool {
        self.place().is_ok_and(|(_, tree)| tree.has_key)
    }

    async fn signing_key(&self) -> Option<(Arc<SigningKey>, Timestamp)> {
        let (_, tree) = self.place().ok()?;
        tree.order(|reply| Order::Key { reply }).await.flatten()
    }

    async fn look_after(&self, function: TreeFunction, arguments: Value) -> ToolOutput {
        match self.place() {
            Ok((own, tree)) => tools::look_after(own, tree, function, arguments).await,
            Err(output) => output,
        }
    }
}

#[async_trait]
impl Children for Handle {
    async fn prepare(&self, request: &SpawnRequest) -> Result<Spawn, ToolOutput> {
        let (thread, tree) = self.place()?;
        let parent = thread.clone();
        let request = request.clone();
        let prepared = tree.order(|reply| Order::Prepare { parent, request, reply }).await;
        prepared.unwrap_or_else(|| Err(error_output(OVER)))
    }

    async fn run(&self, spawn: &Spawn, arguments: &Value) -> Spawned {
        let (thread, tree) = match self.place() {
            Ok(place) => place,
            Err(output) => return Spawned::Returned(output),
        };
        let parent = thread.clone();
        let wanted = spawn.clone();
        let arguments = arguments.clone();
        let start = |reply| Order::Start { parent, spawn: wanted, arguments, reply };
        match tree.order(start).await {
            None => return Spawned::Interrupted,
            Some(Err(output)) => return Spawned::Returned(output),
            Some(Ok(())) => {}
        }
        if spawn.waiting == Waiting::ForNothing {
            return Spawned::Returned(ToolOutput::ok(json!({
                "thread": spawn.child.as_str(),
                "directive": spawn.directive,
                "state": "running",
            })));
        }
        match tree.wait_for_end(&spawn.child).await {
            Some(Standing::Ended(report)) => {
                Spawned::Returned(report.output(&spawn.child, &spawn.directive))
            }
            Some(Standing::Suspended(request)) => Spawned::Suspended(request),
            _ => Spawned::Interrupted,
        }
    }

    async fn adopt(&self, spawns: &[RecordedSpawn]) -> Result<(), String> {
        let Ok((thread, tree)) = self.place() else { return Ok(()) };
        let parent = thread.clone();
        let spawns = spawns.to_vec();
        let adopted = tree.order(|reply| Order::Adopt { parent, spawns, reply }).await;
        adopted.unwrap_or_else(|| Err(OVER.to_owned()))
    }

    fn add(&self, item: &AddedItem) {
        if let Ok((thread, tree)) = self.place() {
            tree.add(thread, item);
        }
    }

    fn approval_wait(&self, now: Duration) -> Duration {
        self.place().map(|(thread, tree)| tree.approval_wait(thread, now)).unwrap_or_default()
    }

    fn ends(&self) -> Vec<ChildEnd> {
        let Ok((thread, tree)) = self.place() else { return Vec::new() };
        let end = |child: &ThreadId| match tree.standing(child)? {
            Standing::Ended(report) => report.end_of(child),
            _ => None,
        };
        tree.children(thread).iter().filter_map(end).collect()
    }

    async fn end(&self, ending: Ending) -> Ended {
        let Ok((thread, tree)) = self.place() else { return Ended::All };
        let children = tree.children(thread);
        for cancel in children.iter().filter_map(|child| tree.cancel(child)) {
            match ending {
                Ending::Cancel => cancel.cancel(),
                Ending::Interrupt => cancel.interrupt(),
                _ => {}
            }
        }
        let mut ended = Ended::All;
        for child in children {
            match tree.wait_for_end(&child).await {
                Some(Standing::Ended(_)) | None => {}
                // A thread that failed also ends children that wait for a decision. The operator can end one that is left.
                Some(_) if ending == Ending::Cancel => drop(tree.close(&child).await),
                Some(Standing::Suspended(request)) => ended = Ended::Suspended(request),
                Some(_) if ended == Ended::All => ended = Ended::Interrupted,
                Some(_) => {}
            }
        }
        ended
    }
}
