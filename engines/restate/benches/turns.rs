//! The time of a thread on the engine beside one machine's, and threads per second with one, two and four workers behind haproxy.
//!
//! It takes the variables of the tests, `RESTATE_SERVER` and `RYE`, which is a release build here. `RYE_THREADS` sets the threads at once.
//!
//! A thread on one machine is timed as a whole process of `rye run`. One on the engine is timed from before its request is signed to the
//! end of its last invocation, which the server records. This includes no start of `rye`.

#![allow(dead_code, reason = "the tests use more of these modules")]

#[path = "../tests/threads/lab.rs"]
mod lab;
#[path = "../tests/threads/model.rs"]
mod model;
#[path = "../tests/threads/server.rs"]
mod server;

use std::fs;
use std::net::TcpListener;
use std::ops::Range;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use tokio::task::JoinSet;

use self::lab::{Lab, Worker};

/// The requests of a thread, its child and its grandchild: each is a turn.
const TURNS: u32 = 21 + 3 + 2;

/// A proxy that sends each turn to the worker with the fewest.
struct Proxy {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Proxy {
    fn start(workers: &[Worker]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = free_address();
        let whole = include_str!("../haproxy.cfg");
        let (head, _) = whole.split_once("  server one").unwrap();
        let mut text = head.replace("127.0.0.1:9080", &address);
        for (place, worker) in workers.iter().enumerate() {
            text.push_str(&format!("  server worker{place} {}\n", worker.address));
        }
        let path = folder.path().join("haproxy.cfg");
        fs::write(&path, text).unwrap();
        let process = Command::new("haproxy").arg("-f").arg(&path).spawn().unwrap();
        Self { process, address, _folder: folder }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.process.kill());
        drop(self.process.wait());
    }
}

fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

/// Starts a server with so many workers.
async fn farm(workers: usize) -> (Lab, Vec<Worker>, Proxy) {
    let lab = Lab::new().await;
    let workers: Vec<Worker> =
        (0..workers).map(|place| lab.unregistered_worker(&format!("worker{place}"))).collect();
    let proxy = Proxy::start(&workers);
    lab.wait_for("the proxy", || async {
        tokio::net::TcpStream::connect(&proxy.address).await.ok()
    })
    .await;
    // The proxy has to see that the workers answer.
    tokio::time::sleep(Duration::from_secs(2)).await;
    lab.register(&proxy.address).await;
    (lab, workers, proxy)
}

/// The pause before each poll for the end of a thread. A poll is an invocation of a worker, so that few of them are in the figures.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

async fn wait_for_end(lab: &Lab, thread: &str) {
    let end = loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        if let Some(end) = lab.end_so_far(thread).await {
            break end;
        }
    };
    assert_eq!(end["state"], "completed", "{end}");
}

/// Runs a thread on the engine, and returns its id.
async fn run_there(lab: &Lab, name: &str) -> String {
    let thread = lab.start(name).await;
    wait_for_end(lab, &thread).await;
    thread
}

/// Returns the time when the last invocation of a thread ended, by the server's clock, which is this machine's.
async fn end_time(lab: &Lab, thread: &str) -> SystemTime {
    let query = format!(
        "SELECT CAST(completed_at AS BIGINT) AS millis FROM sys_invocation \
         WHERE target_service_key = '{thread}' AND target_handler_name = 'turn'"
    );
    // The end of a thread is visible shortly before its last invocation ends.
    let millis = lab.wait_for("the end of the last invocation", async || {
        let turns = lab.query(&query).await;
        let ends: Option<Vec<u64>> = turns.iter().map(|turn| turn["millis"].as_u64()).collect();
        ends.and_then(|ends| ends.into_iter().max())
    });
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis.await)
}

/// Returns the time from a moment to the end of a thread.
async fn time_to_end(lab: &Lab, begun: SystemTime, thread: &str) -> Duration {
    end_time(lab, thread).await.duration_since(begun).expect("because both are of one clock")
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Returns the sum of some times of a process, by their places behind its name in `stat`. They have hundredths of a second.
fn stat_time(process: &str, places: Range<usize>) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let (_, behind_name) = text.rsplit_once(')').unwrap_or_default();
    let fields = behind_name.split_whitespace().skip(places.start).take(places.len());
    let hundredths: u64 = fields.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * hundredths)
}

/// Returns the processor time of a process and of its programs that have ended.
fn processor_time(process: u32) -> Duration {
    stat_time(&process.to_string(), 11..15)
}

/// Returns the processor time of the programs that this process started and that have ended.
fn ended_programs_time() -> Duration {
    stat_time("self", 13..15)
}

/// The rounds of a comparison.
const ROUNDS: u32 = 11;

/// The most time that a turn on the engine may take more than on one machine, at the median.
const TARGET: Duration = Duration::from_millis(40);

/// Compares single threads, in turns.
async fn compare(workers: usize) {
    let (lab, farm, _proxy) = farm(workers).await;
    let here = lab.project("here");
    run_there(&lab, "first").await;
    let of_workers = || farm.iter().map(|worker| processor_time(worker.id())).sum::<Duration>();
    let before = (ended_programs_time(), of_workers(), processor_time(lab.server_id()));
    let mut local = Vec::new();
    let mut started = Vec::new();
    for round in 0..ROUNDS {
        let input = format!("name=local-{round}");
        let run = ["run", "work/count", "--provider", "scripted", "--quiet", "--input", &input];
        let begun = Instant::now();
        lab.rye(&here, &run);
        local.push(begun.elapsed());
        let begun = SystemTime::now();
        started.push((begun, run_there(&lab, &format!("there-{round}")).await));
    }
    let turns = TURNS * ROUNDS;
    println!(
        "processor time a turn: {:.1?} on one machine; on the engine {:.1?} of the workers and {:.1?} of the server",
        (ended_programs_time() - before.0) / turns,
        (of_workers() - before.1) / turns,
        (processor_time(lab.server_id()) - before.2) / turns,
    );
    // The queries would count as work of the server above.
    let mut there = Vec::new();
    for (begun, thread) in &started {
        there.push(time_to_end(&lab, *begun, thread).await);
    }
    let local = median(local);
    let there = median(there);
    let more = there.saturating_sub(local) / TURNS;
    let verdict = if more <= TARGET { "holds" } else { "is missed" };
    println!(
        "{workers} worker(s), one thread of {TURNS} turns: {local:.2?} on one machine, {there:.2?} on the engine, {more:.1?} more a turn; \
         the target of at most {TARGET:?} {verdict}"
    );
}

async fn count(workers: usize, threads: usize) {
    let (lab, _workers, _proxy) = farm(workers).await;
    run_there(&lab, "first").await;
    let lab = Arc::new(lab);
    let mut requests = Vec::new();
    for place in 0..threads {
        let thread = lab::new_thread();
        let inputs = json!({"name": format!("plain-{place}")});
        let request = lab.signed_start(&thread, &json!({"limits": {}, "inputs": inputs}));
        requests.push((thread, request));
    }
    let begun = SystemTime::now();
    let mut starts = JoinSet::new();
    for (thread, request) in requests {
        let lab = Arc::clone(&lab);
        starts.spawn(async move {
            lab.call(&thread, "start", &request).await.unwrap();
            thread
        });
    }
    let started = starts.join_all().await;
    for thread in &started {
        wait_for_end(&lab, thread).await;
    }
    let mut last = Duration::ZERO;
    for thread in &started {
        last = last.max(time_to_end(&lab, begun, thread).await);
    }
    println!(
        "{workers} worker(s), {threads} threads of {TURNS} turns at once: {:.2} threads a second",
        threads as f64 / last.as_secs_f64()
    );
}

#[tokio::main]
async fn main() {
    let threads =
        std::env::var("RYE_THREADS").ok().and_then(|text| text.parse().ok()).unwrap_or(48);
    for workers in [1, 2] {
        compare(workers).await;
    }
    for workers in [1, 2, 4] {
        count(workers, threads).await;
    }
}
