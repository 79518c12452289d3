//! `cargo xtask bench`: the whole program beside a Python interpreter that starts and imports a YAML parser.
//!
//! The two run in turns on the same machine, so that their ratio means something where their times do not.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
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

/// Builds the program for release, runs all in turns, and prints the medians and their ratio.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    process::run(root, &[], "cargo build --quiet --release --package rye --bin rye")?;
    let metadata = crate::tidy::metadata(root)?;
    let rye: PathBuf = metadata.target_directory.join("release/rye").into();
    let python = python(root)?;
    let rows: [(&str, &Path, &[&str]); 3] = [
        ("rye render, quick start", &rye, RENDER),
        ("python, importing yaml", &python, &["-c", "import yaml"]),
        ("true, which does nothing", Path::new("/bin/true"), &[]),
    ];
    let mut times = rows.map(|_| Vec::new());
    for _ in 0..ROUNDS {
        for ((_, program, arguments), times) in rows.iter().zip(&mut times) {
            times.push(time(root, program, arguments)?);
        }
    }
    let spreads = times.map(spread);
    print!("{}", table(&rows.map(|(name, ..)| name), &spreads));
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
    command.env_clear().stdout(Stdio::null());
    let start = Instant::now();
    let status = command.status();
    let took = start.elapsed();
    match status {
        Ok(status) if status.success() => Ok(took),
        Ok(status) => Err(format!("`{}` failed with {status}", program.display())),
        Err(error) => Err(format!("`{}` cannot be started: {error}", program.display())),
    }
}

/// Ours, theirs and that of a program that does nothing, whose time is the machine's and nobody else's.
fn table(names: &[&str; 3], spreads: &[[f64; 3]; 3]) -> String {
    let rows: String = names
        .iter()
        .zip(spreads)
        .map(|(name, [low, median, high])| {
            format!("{name:<26}{median:>8.2} ms   ({low:.2} to {high:.2})\n")
        })
        .collect();
    let [ours, theirs, nothing] = spreads;
    let ratio = |column: usize| theirs[column] / ours[column];
    let above =
        |column: usize| (theirs[column] - nothing[column]) / (ours[column] - nothing[column]);
    format!(
        "median of {ROUNDS} runs, in turns\n{rows}ratio {:.1}, of the fastest runs {:.1}; above a program that does nothing {:.1} and {:.1}\n",
        ratio(1),
        ratio(0),
        above(1),
        above(0),
    )
}

/// The fastest, the median and the slowest, in milliseconds.
fn spread(mut times: Vec<Duration>) -> [f64; 3] {
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
        assert_eq!(spread([5, 1, 3].map(Duration::from_millis).to_vec()), [1.0, 3.0, 5.0]);
    }
}
