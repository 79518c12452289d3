//! Two workers behind a balancer, and threads that are counted while everything is killed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{check_completed, expected};
use crate::balancer::Balancer;
use crate::lab::{self, Lab, Worker};
use crate::visible;

/// The projects of the two workers.
const PROJECTS: [&str; 2] = ["first", "second"];

/// A server with two workers.
pub struct Farm {
    pub lab: Lab,
    balancer: Balancer,
    workers: [Option<Worker>; 2],
}

impl Farm {
    pub async fn new() -> Self {
        let lab = Lab::new().await;
        let balancer = Balancer::default();
        let workers = PROJECTS.map(|project| Some(lab.unregistered_worker(project)));
        let farm = Self { lab, balancer, workers };
        farm.set();
        farm.lab.register(&farm.balancer.listen().await).await;
        farm
    }

    fn set(&self) {
        let addresses = self.workers.iter().flatten().map(|worker| worker.address.clone());
        self.balancer.set(addresses.collect());
    }

    /// Kills a worker, the other, the server, or all of them, and starts them again.
    pub async fn kill(&mut self, what: u64) {
        let killed: &[usize] = [&[0][..], &[1], &[], &[0, 1]][usize::try_from(what % 4).unwrap()];
        for place in killed {
            self.workers[*place].take().unwrap().kill();
        }
        if 2 <= what % 4 {
            self.lab.restart_server().await;
        }
        for place in killed {
            self.workers[*place] = Some(self.lab.unregistered_worker(PROJECTS[*place]));
        }
        self.set();
    }

    /// Returns what a model sees in a thread of this machine whose calls are approved.
    pub fn visible_here(&self) -> Vec<String> {
        let name = "asks-here";
        let here = self.lab.project("here");
        self.lab.run_approving(&here, name);
        visible(&here, name)
    }
}

/// Numbers that look random, and are the same each time.
pub fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// What a model saw of the threads in a project, with a word in place of the thread's name.
///
/// Ends, costs and starts of calls are left out: a request that was sent again costs more, and a call may be begun again.
fn visible(project: &std::path::Path, name: &str) -> Vec<String> {
    let is_seen = |line: &&String| {
        !["thread_complete", "tool_call_start"].iter().any(|event| line.starts_with(event))
    };
    let lines = visible::visible(project);
    lines.iter().filter(is_seen).map(|line| without_cost(&line.replace(name, "NAME"))).collect()
}

/// Leaves out what a child cost.
fn without_cost(line: &str) -> String {
    const COST: &str = "\"cost_nanos\":";
    let mut parts = line.split(COST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start_matches(|c: char| c.is_ascii_digit()))
}

/// What the tree of a thread with too little money may spend: seven requests of 0.0006 USD, and a reservation of 0.0153.
const POOR: &str = "0.02";
const POOR_NANOS: u64 = 20_000_000;

/// The call that the policy asks about. It leaves no line.
const ASKED_BY_POLICY: &str = "rye/file-system/write";

/// A thread with the calls that were approved because they may have happened.
pub struct Counted {
    name: String,
    thread: String,
    uncertain: BTreeSet<String>,
    end: Option<Value>,
}

impl Counted {
    pub async fn start(lab: &Lab, name: &str) -> Self {
        let thread = match name.starts_with("poor") {
            true => lab.start_spending(name, POOR).await,
            false => lab.start(name).await,
        };
        Self { name: name.to_owned(), thread, uncertain: BTreeSet::new(), end: None }
    }

    pub fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Looks whether the thread has ended, and approves the call that waits.
    pub async fn look(&mut self, lab: &Lab) {
        if self.has_ended() {
            return;
        }
        let Some(end) = lab.end_so_far(&self.thread).await else { return };
        if end["state"] != "suspended" {
            self.end = Some(end);
            return;
        }
        if end["asked"]["item"] != ASKED_BY_POLICY {
            self.uncertain.insert(lab::call_name(&end));
        }
        // Whatever was killed meanwhile, the call is decided about now or asked for again.
        drop(lab.order(&self.thread, "rye-engine-approve", &end).await);
    }

    /// The thread ended as it does on one machine.
    pub async fn check(&self, lab: &Lab, visible_here: &[String]) {
        let end = self.end.as_ref().unwrap();
        if self.name.starts_with("poor") {
            assert_eq!((&end["state"], &end["class"]), (&"error".into(), &"limit".into()), "{end}");
            assert!(end["cost_nanos"].as_u64().unwrap() <= POOR_NANOS, "{end}");
            self.count_effects(lab);
            return;
        }
        let reader = check_completed(lab, &self.thread, end, &self.name).await;
        let there = visible(&reader, &self.name);
        for (place, (there, here)) in there.iter().zip(visible_here).enumerate() {
            assert_eq!(there, here, "{} at {place}", self.name);
        }
        assert_eq!(there.len(), visible_here.len(), "{}", self.name);
        let effects = self.count_effects(lab);
        assert_eq!(effects, expected(&self.name));
    }

    /// A call that may have happened, and was approved, may have happened twice. No other may. Returns each effect once.
    fn count_effects(&self, lab: &Lab) -> Vec<String> {
        let lines = PROJECTS.map(|project| lab.effects(project)).concat();
        let is_own = |line: &&String| {
            line.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with('-'))
        };
        let mut own: Vec<String> = lines.iter().filter(is_own).cloned().collect();
        own.sort();
        let count = own.len();
        own.dedup();
        let told = format!("{}: {count} lines, and {:?} may be double", self.name, self.uncertain);
        assert!(count - own.len() <= self.uncertain.len(), "{told}");
        own
    }
}
