//! Conversations, and what they took.

use std::error::Error;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::{Arguments, process};

/// Whatever keeps a conversation, or a measurement, from its end.
pub type Problem = Box<dyn Error + Send + Sync>;

/// Something that holds conversations.
pub trait Engine: Sized {
    /// The dependency that it is, or that it does most of its work with.
    const PACKAGE: &'static str;

    /// Everything that its conversations share.
    ///
    /// # Errors
    ///
    /// When there can be no conversation at all.
    fn new(arguments: &Arguments) -> Result<Self, Problem>;

    /// One conversation, from its beginning to the answer that asks for no tool.
    ///
    /// # Errors
    ///
    /// What kept it from its end; it is counted.
    fn converse(&self) -> impl Future<Output = Result<Ended, Problem>>;
}

/// A conversation that came to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How often the tool was called.
    pub calls: usize,
    /// What the model said last.
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

/// What the measured conversations took.
#[derive(Debug)]
pub(crate) struct Figures {
    wall: Duration,
    cpu: Duration,
    first: Duration,
    requests: usize,
    peak_kb: Option<u64>,
    /// What each conversation that did not end as it is to said, those before the measurement included.
    pub(crate) errors: Vec<String>,
}

impl Figures {
    /// The line that is printed.
    pub(crate) fn to_json(&self, package: &str) -> Value {
        let requests = self.requests.max(1) as f64;
        let per_call = |time: Duration| rounded(time.as_secs_f64() * 1e6 / requests, 1e2);
        let versions = Map::from_iter([(package.to_owned(), json!(pinned(package)))]);
        json!({
            "wall_s": rounded(self.wall.as_secs_f64(), 1e6),
            "cpu_s": rounded(self.cpu.as_secs_f64(), 1e6),
            "per_call_wall_us": per_call(self.wall),
            "per_call_cpu_us": per_call(self.cpu),
            "first_s": rounded(self.first.as_secs_f64(), 1e6),
            "rss_peak_kb": self.peak_kb,
            "errors": self.errors.len(),
            "versions": versions,
        })
    }
}

fn rounded(number: f64, steps: f64) -> f64 {
    (number * steps).round() / steps
}

/// The one version of a dependency that the manifest allows.
fn pinned(package: &str) -> Option<&'static str> {
    let mut lines = include_str!("../Cargo.toml").lines();
    let line = lines.find_map(|line| line.strip_prefix(package)?.strip_prefix(" = "))?;
    let (_, version) = line.split_once("\"=")?;
    version.split_once('"').map(|(version, _)| version)
}

/// Holds every conversation that the arguments ask for, one after the other.
pub(crate) fn measure<E: Engine>(arguments: &Arguments) -> Result<Figures, Problem> {
    let mut runtime = match arguments.workers {
        1 => tokio::runtime::Builder::new_current_thread(),
        _ => tokio::runtime::Builder::new_multi_thread(),
    };
    let runtime = runtime.worker_threads(arguments.workers).enable_all().build()?;
    let start = Instant::now();
    // An engine may want the runtime when it is made.
    runtime.block_on(async { Ok(conversations(arguments, &E::new(arguments)?, start).await) })
}

async fn conversations<E: Engine>(arguments: &Arguments, engine: &E, start: Instant) -> Figures {
    let mut errors = Vec::new();
    let mut count = |ended: Result<Ended, Problem>| {
        let verified = ended.and_then(|ended| ended.verify(arguments.turns));
        errors.extend(verified.err().map(|problem| described(&*problem)));
    };
    count(engine.converse().await);
    let first = start.elapsed();
    for _ in 0..arguments.warmup {
        count(engine.converse().await);
    }
    let (wall, cpu) = (Instant::now(), process::cpu());
    for _ in 0..arguments.reps {
        count(engine.converse().await);
    }
    let (wall, cpu) = (wall.elapsed(), process::cpu().saturating_sub(cpu));
    let requests = (arguments.turns + 1).saturating_mul(arguments.reps);
    Figures { wall, cpu, first, requests, peak_kb: process::peak_kb(), errors }
}

/// An error with its causes.
fn described(problem: &dyn Error) -> String {
    let causes = std::iter::successors(problem.source(), |&cause| cause.source());
    causes.fold(problem.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests;
