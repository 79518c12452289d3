//! Rounds of conversations and their measurement.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::world::World;
use crate::{Arguments, process};

/// The figures of the measured conversations.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Figures {
    /// The wall time of all of them together.
    pub wall: Duration,
    /// The processor time of the process meanwhile.
    pub cpu: Duration,
    /// The time of the first conversation, including the setup.
    pub first: Duration,
    /// The number of measured requests.
    pub calls: u64,
    /// The number of failed conversations, including those before the measurement.
    pub errors: u64,
    /// The message of the first failed conversation.
    pub first_error: Option<String>,
    /// The peak memory in KiB, if the system reports it.
    pub peak_kb: Option<u64>,
}

impl Figures {
    /// The line of JSON to print.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let calls = self.calls.max(1) as f64;
        let per_call = |time: Duration| round_to(time.as_secs_f64() * 1e6 / calls, 1e2);
        json!({
            "wall_s": round_to(self.wall.as_secs_f64(), 1e6),
            "cpu_s": round_to(self.cpu.as_secs_f64(), 1e6),
            "per_call_wall_us": per_call(self.wall),
            "per_call_cpu_us": per_call(self.cpu),
            "first_s": round_to(self.first.as_secs_f64(), 1e6),
            "rss_peak_kb": self.peak_kb,
            "errors": self.errors,
            "versions": { "rye": env!("CARGO_PKG_VERSION") },
        })
    }
}

fn round_to(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// Holds and measures all conversations.
///
/// # Errors
///
/// The folder, the key or the provider cannot be made. A failed conversation is not an error but is counted.
pub fn measure(arguments: &Arguments) -> Result<Figures, Box<dyn Error>> {
    process::open_many_files();
    let temporary = match &arguments.dir {
        Some(dir) => tempfile::Builder::new().prefix("rye-bench-").tempdir_in(dir)?,
        None => tempfile::Builder::new().prefix("rye-bench-").tempdir()?,
    };
    let mut runtime = match arguments.workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(arguments.workers).enable_all().build()?;
    let start = Instant::now();
    let world = Arc::new(World::new(arguments, temporary.path())?);
    let figures = runtime.block_on(rounds(arguments, &world, start));
    drop(world);
    Ok(figures)
}

async fn rounds(arguments: &Arguments, world: &Arc<World>, start: Instant) -> Figures {
    let mut tally = Tally::default();
    let first = world.converse().await;
    let first_took = start.elapsed();
    tally.count(first.and_then(|thread| world.verify(&thread)));
    for _ in 0..arguments.warmup {
        round(arguments, world, &mut tally).await;
    }
    let wall = Instant::now();
    let cpu = process::cpu();
    for _ in 0..arguments.reps {
        round(arguments, world, &mut tally).await;
    }
    let wall = wall.elapsed();
    let cpu = process::cpu().saturating_sub(cpu);
    let conversations = arguments.reps.saturating_mul(arguments.threads);
    Figures {
        wall,
        cpu,
        first: first_took,
        calls: (arguments.turns + 1) * u64::try_from(conversations).unwrap_or(u64::MAX),
        errors: tally.errors,
        first_error: tally.first_error,
        peak_kb: process::peak_kb(),
    }
}

/// Runs a round, which is all conversations at once.
async fn round(arguments: &Arguments, world: &Arc<World>, tally: &mut Tally) {
    if arguments.threads == 1 {
        tally.count(world.converse().await.map(drop));
        return;
    }
    let mut running = JoinSet::new();
    for _ in 0..arguments.threads {
        let world = Arc::clone(world);
        running.spawn(async move { world.converse().await.map(drop) });
    }
    while let Some(ended) = running.join_next().await {
        tally.count(ended.unwrap_or_else(|panicked| Err(panicked.into())));
    }
}

#[derive(Default)]
struct Tally {
    errors: u64,
    first_error: Option<String>,
}

impl Tally {
    fn count(&mut self, ended: Result<(), Box<dyn Error + Send + Sync>>) {
        if let Err(error) = ended {
            self.errors += 1;
            self.first_error.get_or_insert_with(|| error.to_string());
        }
    }
}
