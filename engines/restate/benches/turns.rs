//! The time of a thread on the engine beside one machine's, and threads per second with one, two and four workers behind haproxy.
//!
//! It takes the variables of the tests, `RESTATE_SERVER` and `RYE`, which is a release build here. `RYE_THREADS` sets the threads at once.

#![allow(dead_code, reason = "the tests use more of these modules")]

#[path = "../tests/threads/lab.rs"]
mod lab;
#[path = "../tests/threads/model.rs"]
mod model;

use std::fs;
use std::net::TcpListener;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

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

async fn run_there(lab: &Lab, name: &str) {
    let thread = lab.start(name).await;
    let end = lab.end(&thread).await;
    assert_eq!(end["state"], "completed", "{end}");
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Compares single threads, in turns.
async fn compare(workers: usize) {
    let (lab, _workers, _proxy) = farm(workers).await;
    let here = lab.project("here");
    let (mut local, mut there) = (Vec::new(), Vec::new());
    for round in 0..7 {
        let input = format!("name=local-{round}");
        let begun = Instant::now();
        lab.rye(
            &here,
            &["run", "work/count", "--provider", "scripted", "--quiet", "--input", &input],
        );
        local.push(begun.elapsed());
        let begun = Instant::now();
        run_there(&lab, &format!("there-{round}")).await;
        there.push(begun.elapsed());
    }
    let (local, there) = (median(local), median(there));
    println!(
        "{workers} worker(s), one thread of {TURNS} turns: {local:.0?} on one machine, {there:.0?} on the engine, {:.1?} more a turn",
        there.saturating_sub(local) / TURNS
    );
}

async fn count(workers: usize, threads: usize) {
    let (lab, _workers, _proxy) = farm(workers).await;
    run_there(&lab, "first").await;
    let begun = Instant::now();
    let mut started = Vec::new();
    for place in 0..threads {
        started.push(lab.start(&format!("plain-{place}")).await);
    }
    for thread in &started {
        assert_eq!(lab.end(thread).await["state"], "completed");
    }
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{workers} worker(s), {threads} threads of {TURNS} turns at once: {:.2} threads a second",
        threads as f64 / seconds
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
