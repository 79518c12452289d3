//! `cargo xtask fuzz`: runs the crates' property tests with random seeds, then every fuzz target for some
//! seconds, on the stable toolchain.
//!
//! The flags are those that cargo-fuzz passes, without the address sanitizer, which needs a nightly toolchain.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use crate::{files, generated::all, process};
use anyhow::{Context as _, anyhow, bail};
use serde_json::Value;

/// The compiler flags for libFuzzer, which record the executed edges and the compared values.
const COVERAGE: &str = "--cfg=fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
                        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
                        -Cllvm-args=-sanitizer-coverage-trace-compares";

/// The targets to run, and their time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The time of each target.
    pub(crate) seconds: u32,
    /// The targets; empty for all.
    pub(crate) targets: Vec<String>,
    /// `true` if the crates' property tests run too.
    pub(crate) properties: bool,
}

impl Request {
    /// The request of `ci`, whose test step has already run the properties with fixed cases.
    pub(crate) fn short() -> Self {
        Self { seconds: 2, targets: Vec::new(), properties: false }
    }

    /// Reads `[--seconds N] [TARGET…]`.
    pub(crate) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let (seconds, targets) = match words {
            ["--seconds", seconds, targets @ ..] => (*seconds, targets),
            targets => ("10", targets),
        };
        let seconds =
            seconds.parse().with_context(|| format!("`{seconds}` is no number of seconds"))?;
        match targets.iter().find(|target| target.starts_with('-')) {
            Some(option) => {
                Err(anyhow!("`fuzz` has no option `{option}` here; `--seconds N` comes first"))
            }
            None => {
                let properties = targets.is_empty();
                let targets = targets.iter().map(ToString::to_string).collect();
                Ok(Self { seconds, targets, properties })
            }
        }
    }
}

/// Builds the targets and runs each for its time, as many at once as there are cores.
pub(crate) fn run(root: &Path, request: &Request) -> anyhow::Result<()> {
    let known = targets(root)?;
    if let Some(unknown) = request.targets.iter().find(|target| !known.contains(target)) {
        bail!("`{unknown}` is no fuzz target; there are {}", known.join(", "));
    }
    if request.properties {
        properties(root, request.seconds)?;
    }
    let targets = if request.targets.is_empty() { known } else { request.targets.clone() };
    let programs = build(root, &targets)?;
    let next = AtomicUsize::new(0);
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let turn = || targets.get(next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(turn)
            .map(|target| fuzz(root, &programs, target, request.seconds))
            .collect::<Vec<_>>()
    };
    let results = thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        let joined =
            workers.into_iter().map(|worker| worker.join().expect("because no worker panics"));
        joined.flatten().collect::<Vec<_>>()
    });
    all(results)
}

/// Runs the tests of every crate that has properties, with a new seed each time. proptest keeps failing
/// cases.
fn properties(root: &Path, seconds: u32) -> anyhow::Result<()> {
    let packages: String =
        with_properties(root)?.iter().map(|name| format!(" --package {name}")).collect();
    let cases = CASES_A_SECOND.saturating_mul(seconds).to_string();
    let environment = [("PROPTEST_RNG_SEED", "random"), ("PROPTEST_CASES", cases.as_str())];
    process::run(root, &environment, &format!("cargo test --quiet --lib --tests{packages}"))
}

/// The approximate number of cases per second.
const CASES_A_SECOND: u32 = 100;

/// Returns the crates that depend on proptest, sorted.
fn with_properties(root: &Path) -> anyhow::Result<Vec<String>> {
    let entries = fs::read_dir(root.join("crates")).context("`crates`")?;
    let folders = entries.filter_map(Result::ok).map(|entry| entry.path());
    let has_properties = |folder: &PathBuf| {
        let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
        manifest.lines().any(|line| line.starts_with("proptest"))
    };
    let mut names: Vec<String> = folders
        .filter(has_properties)
        .filter_map(|folder| Some(folder.file_name()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Returns the names of the files in `fuzz/fuzz_targets`, sorted.
fn targets(root: &Path) -> anyhow::Result<Vec<String>> {
    let folder = root.join("fuzz/fuzz_targets");
    let entries = fs::read_dir(&folder).context("`fuzz/fuzz_targets`")?;
    let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
    let mut names: Vec<String> = paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds the targets and returns the folder of their programs.
fn build(root: &Path, targets: &[String]) -> anyhow::Result<PathBuf> {
    let triple = process::output(root, "rustc -vV")?
        .lines()
        .find_map(|line| line.strip_prefix("host: ").map(str::to_owned))
        .context("`rustc -vV` names no host")?;
    let bins: String = targets.iter().map(|target| format!(" --bin {target}")).collect();
    // With a target triple the flags reach neither build scripts nor procedural macros.
    let line = format!(
        "cargo build --quiet --manifest-path fuzz/Cargo.toml --target-dir fuzz/target --release --target {triple}{bins}"
    );
    process::run(root, &[("RUSTFLAGS", COVERAGE)], &line)?;
    Ok(root.join("fuzz/target").join(triple).join("release"))
}

/// Runs a target. New inputs are kept in `fuzz/found`, failing inputs in `fuzz/artifacts`.
fn fuzz(root: &Path, programs: &Path, target: &str, seconds: u32) -> anyhow::Result<()> {
    let program = programs.join(target);
    let found = format!("fuzz/found/{target}");
    let corpus = format!("fuzz/corpus/{target}");
    let artifacts = format!("fuzz/artifacts/{target}/");
    for folder in [&found, &corpus, &artifacts] {
        fs::create_dir_all(root.join(folder)).with_context(|| format!("`{folder}`"))?;
    }
    let answers = root.join(ANSWERS).join(target).with_extension("json");
    if answers.exists() {
        write_seeds(&answers, &root.join(&found))?;
    }
    let time = format!("-max_total_time={seconds}");
    let prefix = format!("-artifact_prefix={artifacts}");
    let arguments = [time.as_str(), "-timeout=20", "-rss_limit_mb=2048", &prefix, &found, &corpus];
    let output = process::start(root, &program, arguments.into_iter())
        .output()
        .with_context(|| format!("target `{target}` cannot be started"))?;
    let log = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        println!("{target:<18} {}", summary(&log));
        return Ok(());
    }
    Err(anyhow!("target `{target}` fails:\n{}\n{}", tail(&log), repeat(&log, &program)))
}

/// The answers that the decoders of the protocols are tested with, a table for each.
const ANSWERS: &str = "crates/rye-providers/tests/rye_providers/wires";

/// Writes each answer of a table as a seed: the size of the pieces, then the body or the events.
fn write_seeds(answers: &Path, folder: &Path) -> anyhow::Result<()> {
    let table = fs::read(answers).with_context(|| answers.display().to_string())?;
    let rows: Vec<Value> = serde_json::from_slice(&table)?;
    let write = |name: &str, form: &str, text: &str| {
        files::write(&folder.join(format!("{name}.{form}")), &format!("\x07{text}"))
    };
    for row in &rows {
        let name = row["name"].as_str().context("an answer without a name")?;
        if let Some(events) = row["stream"].as_array() {
            let data = |event: &Value| event.as_str().map_or(event.to_string(), str::to_owned);
            let events: String =
                events.iter().map(|event| format!("data: {}\n\n", data(event))).collect();
            write(name, "stream", &events)?;
        }
        let body = row["text"].as_str().map(str::to_owned);
        let body = body.or_else(|| row.get("body").map(Value::to_string));
        body.map_or(Ok(()), |body| write(name, "whole", &body))?;
    }
    Ok(())
}

/// Returns the last line of libFuzzer's summary.
fn summary(log: &str) -> &str {
    log.lines().rfind(|line| line.contains("DONE") || line.contains("Done")).unwrap_or("").trim()
}

/// Returns the lines from the panic on, or the last lines without a panic.
fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let panic = lines.iter().position(|line| line.contains("panicked at"));
    let start = panic.unwrap_or(lines.len().saturating_sub(12));
    lines.into_iter().skip(start).take(12).collect::<Vec<_>>().join("\n")
}

/// Returns the command that runs the program with the failing input.
fn repeat(log: &str, program: &Path) -> String {
    let file = log.lines().find_map(|line| line.split_once("Test unit written to "));
    let file = file.map_or("", |(_, file)| file.trim());
    format!("to see it alone, run\n\n    {} {file}\n", program.display())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{Request, repeat, tail, with_properties};

    #[track_caller]
    fn check(words: &[&str], expected: Result<(u32, &[&str]), &str>) {
        let read = Request::parse(words);
        let read = read.as_ref().map(|request| {
            (request.seconds, request.targets.iter().map(String::as_str).collect::<Vec<_>>())
        });
        let expected = expected.map(|(seconds, targets)| (seconds, targets.to_vec()));
        assert_eq!(read.map_err(ToString::to_string), expected.map_err(str::to_owned));
    }

    #[test]
    fn arguments() {
        check(&[], Ok((10, &[])));
        check(&["--seconds", "3"], Ok((3, &[])));
        check(&["--seconds", "3", "pem", "tool"], Ok((3, &["pem", "tool"])));
        check(&["pem"], Ok((10, &["pem"])));
        check(&["--seconds", "x"], Err("`x` is no number of seconds"));
        check(
            &["pem", "--seconds", "3"],
            Err("`fuzz` has no option `--seconds` here; `--seconds N` comes first"),
        );
    }

    #[test]
    fn properties_are_tried_with_all_targets_and_not_in_the_gate() {
        assert!(Request::parse(&["--seconds", "3"]).unwrap().properties);
        assert!(!Request::parse(&["pem"]).unwrap().properties);
        assert!(!Request::short().properties);
    }

    #[test]
    fn the_crates_with_properties_are_found() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = with_properties(&root).unwrap();
        assert!(names.is_sorted());
        for name in ["rye-caps", "rye-parse", "rye-prompt", "rye-resolve", "rye-sign"] {
            assert!(names.iter().any(|found| found == name), "{name}");
        }
    }

    #[test]
    fn a_failure_shows_the_panic_and_how_to_repeat_it() {
        let log = "#1 INITED\nthread panicked at a.rs:1:\nno\nTest unit written to fuzz/artifacts/pem/crash-1\n";
        assert!(tail(log).starts_with("thread panicked at a.rs:1:\nno\n"));
        assert_eq!(
            repeat(log, Path::new("release/pem")),
            "to see it alone, run\n\n    release/pem fuzz/artifacts/pem/crash-1\n"
        );
    }
}
