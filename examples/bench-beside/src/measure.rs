//! Conversations and their measurement.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::{Arguments, process};

/// The error of a conversation or of a measurement.
pub type Problem = Box<dyn Error + Send + Sync>;

/// An engine that holds conversations.
pub trait Engine: Sized {
    /// The dependency that the engine is, or that it mainly uses.
    const PACKAGE: &'static str;

    /// Makes an engine, which all conversations share.
    ///
    /// # Errors
    ///
    /// The engine cannot be made.
    fn new(arguments: &Arguments) -> Result<Self, Problem>;

    /// Holds a conversation up to the first answer without a tool call.
    ///
    /// # Errors
    ///
    /// The conversation failed. The caller counts this and continues.
    fn converse(&self) -> impl Future<Output = Result<Ended, Problem>>;
}

/// A conversation that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The number of tool calls.
    pub calls: usize,
    /// The last text of the model.
    pub text: String,
}

impl Ended {
    fn verify(&self, turns: usize) -> Result<(), Problem> {
        match self.calls {
            calls if calls != turns => {
                Err(format!("a conversation made {calls} calls instead of {turns}").into())
            }
            _ if self.text.is_empty() => Err("a conversation ended without a text".into()),
            _ => Ok(()),
        }
    }
}

/// The figures of the measured conversations.
#[derive(Debug)]
pub(crate) struct Figures {
    wall: Duration,
    cpu: Duration,
    first: Duration,
    requests: usize,
    peak_kb: Option<u64>,
    /// The errors of all failed conversations, including those before the measurement.
    pub(crate) errors: Vec<String>,
}

impl Figures {
    /// The line of JSON to print.
    pub(crate) fn to_json(&self, package: &str) -> Value {
        let requests = self.requests.max(1) as f64;
        let per_call = |time: Duration| round_to(time.as_secs_f64() * 1e6 / requests, 1e2);
        let versions = Map::from_iter([(package.to_owned(), json!(pinned_version(package)))]);
        json!({
            "wall_s": round_to(self.wall.as_secs_f64(), 1e6),
            "cpu_s": round_to(self.cpu.as_secs_f64(), 1e6),
            "per_call_wall_us": per_call(self.wall),
            "per_call_cpu_us": per_call(self.cpu),
            "first_s": round_to(self.first.as_secs_f64(), 1e6),
            "rss_peak_kb": self.peak_kb,
            "errors": self.errors.len(),
            "versions": versions,
        })
    }
}

fn round_to(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// Returns the exact version of a dependency in the manifest.
fn pinned_version(package: &str) -> Option<&'static str> {
    let mut lines = include_str!("../Cargo.toml").lines();
    let line = lines.find_map(|line| line.strip_prefix(package)?.strip_prefix(" = "))?;
    let (_, version) = line.split_once("\"=")?;
    version.split_once('"').map(|(version, _)| version)
}

/// Holds all conversations, one after the other.
pub(crate) fn measure<E: Engine>(arguments: &Arguments) -> Result<Figures, Problem> {
    let mut runtime = match arguments.workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(arguments.workers).enable_all().build()?;
    let start = Instant::now();
    // An engine may need the runtime when it is made.
    runtime.block_on(async { Ok(conversations(arguments, &E::new(arguments)?, start).await) })
}

async fn conversations<E: Engine>(arguments: &Arguments, engine: &E, start: Instant) -> Figures {
    let mut errors = Vec::new();
    let mut count = |ended: Result<Ended, Problem>| {
        let verified = ended.and_then(|ended| ended.verify(arguments.turns));
        errors.extend(verified.err().map(|problem| with_causes(&*problem)));
    };
    count(engine.converse().await);
    let first = start.elapsed();
    for _ in 0..arguments.warmup {
        count(engine.converse().await);
    }
    let wall = Instant::now();
    let cpu = process::cpu();
    for _ in 0..arguments.reps {
        count(engine.converse().await);
    }
    let wall = wall.elapsed();
    let cpu = process::cpu().saturating_sub(cpu);
    let requests = (arguments.turns + 1).saturating_mul(arguments.reps);
    Figures { wall, cpu, first, requests, peak_kb: process::peak_kb(), errors }
}

/// Returns an error with its causes as one text.
fn with_causes(problem: &dyn Error) -> String {
    let causes = std::iter::successors(problem.source(), |&cause| cause.source());
    causes.fold(problem.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
