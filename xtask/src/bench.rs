//! `cargo xtask bench`: the whole program beside a Python interpreter that starts and imports a YAML parser.
//!
//! The two run in turns on the same machine, so that their ratio means something where their times do not.

use std::{
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::process;

const ROUNDS: usize = 41;

const VENV: &str = "target/xtask/bench-venv";

/// What a front end in Python would have to be faster than (SPEC 13).
const RENDER: &[&str] = &[
    "render",
    "notes/index",
    "--input",
    "folder=notes",
    "--project",
    "examples/quickstart",
    "--trust",
    "examples/keys/example-trust.toml",
];

/// Builds the program for release, runs both in turns, and prints the medians and their ratio.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    process::run(root, &[], "cargo build --quiet --release --package rye --bin rye")?;
    let metadata = crate::tidy::metadata(root)?;
    let rye: PathBuf = metadata.target_directory.join("release/rye").into();
    let python = python(root)?;
    let import = ["-c", "import yaml"];
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(time(root, &rye, RENDER)?);
        theirs.push(time(root, &python, &import)?);
    }
    print!("{}", table(&mut ours, &mut theirs));
    Ok(())
}

/// The interpreter of an environment with PyYAML, which is made on first use and needs the network for that.
fn python(root: &Path) -> Result<PathBuf, String> {
    let program = root.join(VENV).join("bin/python");
    if !program.exists() {
        process::run(root, &[], &format!("python3 -m venv {VENV}"))?;
    }
    process::run(root, &[], &format!("{VENV}/bin/python -m pip install --quiet pyyaml"))?;
    Ok(program)
}

/// How long one run takes, from its start to its end.
fn time(root: &Path, program: &Path, arguments: &[&str]) -> Result<Duration, String> {
    let mut command = process::start(root, program, arguments.iter().copied());
    command.env_clear();
    let start = Instant::now();
    let output = command.output();
    let took = start.elapsed();
    match output {
        Ok(output) if output.status.success() => Ok(took),
        Ok(output) => {
            let error = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(format!("`{}` failed with {}:\n{error}", program.display(), output.status))
        }
        Err(error) => Err(format!("`{}` cannot be started: {error}", program.display())),
    }
}

fn table(ours: &mut [Duration], theirs: &mut [Duration]) -> String {
    let (ours, theirs) = (spread(ours), spread(theirs));
    let row = |name: &str, [low, median, high]: [f64; 3]| {
        format!("{name:<34}{median:>8.2} ms   ({low:.2} to {high:.2})\n")
    };
    format!(
        "median of {ROUNDS} runs, in turns\n{}{}ratio {:.1}\n",
        row("rye render, quick start", ours),
        row("python, import yaml and nothing else", theirs),
        theirs[1] / ours[1],
    )
}

/// The fastest, the median and the slowest, in milliseconds.
fn spread(times: &mut [Duration]) -> [f64; 3] {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
    [at(0), at(times.len() / 2), at(times.len().saturating_sub(1))]
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::spread;

    #[test]
    fn the_median_is_the_middle_one() {
        let mut times = [5, 1, 3].map(Duration::from_millis);
        assert_eq!(spread(&mut times), [1.0, 3.0, 5.0]);
    }
}
