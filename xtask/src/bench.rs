//! `cargo xtask bench`: compares the whole program with a Python interpreter that imports a YAML parser.
//!
//! Both run in turns on the same machine, so their ratio is comparable between machines.

pub(crate) mod thread;
pub(crate) mod view;
mod whole;

use std::{
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use crate::{files, packages, process};
use anyhow::Context as _;

const ROUNDS: usize = 41;

const QUICKSTART: &str = "examples/quickstart";

/// The copy of the quick start in which the runs write their threads.
const COPY: &str = "target/xtask/bench-quickstart";

const TRUST: [&str; 2] = ["--trust", "examples/keys/example-trust.toml"];

/// A measured program with its name and its arguments.
struct Row<'a> {
    name: &'static str,
    program: &'a Path,
    arguments: Vec<&'static str>,
}

/// Builds the program in the profile `dist`, runs all rows in turns, and prints their times.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let rye = build(root, "--package rye-cli --bin rye")?.join("rye");
    let python = packages::python(root, "bench-venv", "pyyaml")?;
    files::remove_folder(&root.join(COPY))?;
    files::copy_folder(&root.join(QUICKSTART), &root.join(COPY))
        .with_context(|| format!("`{QUICKSTART}` cannot be copied"))?;
    let rows = rows(&rye, &python);
    let mut times = vec![Vec::new(); rows.len()];
    for _ in 0..ROUNDS {
        for (row, times) in rows.iter().zip(&mut times) {
            times.push(time(root, row)?);
        }
    }
    let names = rows.iter().map(|row| row.name);
    let measured: Vec<(&str, Spread)> = names.zip(times.into_iter().map(spread)).collect();
    print!("{}", table(&measured));
    Ok(())
}

/// Builds packages in the profile `dist`, and returns the folder of their programs.
fn build(root: &Path, packages: &str) -> anyhow::Result<PathBuf> {
    process::run(root, &[], &format!("cargo build --quiet --profile dist {packages}"))?;
    Ok(process::target_folder(root)?.join("dist"))
}

/// Returns the measured programs. The yardstick is the Python interpreter with one import, which a front end
/// in Python could not beat (SPEC 13).
fn rows<'a>(rye: &'a Path, python: &'a Path) -> Vec<Row<'a>> {
    let row = |name, program, arguments: &[&'static str]| Row {
        name,
        program,
        arguments: arguments.to_vec(),
    };
    let render = ["render", "notes/index", "--input", "folder=notes", "--project", QUICKSTART];
    let run = ["run", "notes/index", "--quiet", "--project", COPY, "--provider", "steps"];
    vec![
        row("rye render, quick start", rye, &[&render[..], &TRUST].concat()),
        row("rye --version", rye, &["--version"]),
        row("rye run, quick start", rye, &[&run[..], &TRUST].concat()),
        row(YARDSTICK, python, &["-c", "import yaml"]),
        row("python alone", python, &["-c", "pass"]),
        row("true, which does nothing", Path::new("/bin/true"), &[]),
    ]
}

const YARDSTICK: &str = "python, importing yaml";

/// Measures one run, from its start to its end.
fn time(root: &Path, row: &Row<'_>) -> anyhow::Result<Duration> {
    let mut command = process::start(root, row.program, row.arguments.iter().copied());
    process::time(command.env_clear().stdout(Stdio::null()).stderr(Stdio::null()))
}

/// Writes the times of each row and their ratio to the yardstick.
///
/// The last line is the ratio of the first row to the yardstick after the time of the last row is subtracted
/// from both. The last row is a program that does nothing, so its time is that of the machine.
fn table(measured: &[(&str, Spread)]) -> String {
    let find = |name| measured.iter().find(|(found, _)| *found == name).map(|(_, spread)| *spread);
    let (Some(yardstick), Some((first, ours)), Some((_, nothing))) =
        (find(YARDSTICK), measured.first(), measured.last())
    else {
        return String::new();
    };
    let row = |(name, spread): &(&str, Spread)| {
        let Spread { median, fastest } = spread;
        let usual = yardstick.median / median;
        let best = yardstick.fastest / fastest;
        format!("{name:<26}{median:>9.2} ms{fastest:>9.2} ms{usual:>8.1}{best:>8.1}\n")
    };
    let rows: String = measured.iter().map(row).collect();
    let above = |of: fn(&Spread) -> f64| (of(&yardstick) - of(nothing)) / (of(ours) - of(nothing));
    let caption = format!("{ROUNDS} runs, in turns");
    let [usual, best] = [above(|spread| spread.median), above(|spread| spread.fastest)]
        .map(|ratio| format!("{ratio:.1}"));
    format!(
        "{caption:<26}{:>12}{:>12}  ratios to `{YARDSTICK}`\n{rows}{first}, above a program that does nothing: ratio {usual}, of the fastest runs {best}\n",
        "median", "fastest",
    )
}

/// In milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    median: f64,
    fastest: f64,
}

fn spread(mut times: Vec<Duration>) -> Spread {
    times.sort_unstable();
    let at = |index: usize| times.get(index).map_or(f64::NAN, |time| time.as_secs_f64() * 1000.0);
    Spread { median: at(times.len() / 2), fastest: at(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        let spread = spread([5, 1, 3].map(Duration::from_millis).to_vec());
        assert_eq!(spread, Spread { median: 3.0, fastest: 1.0 });
    }

    #[test]
    fn ratios_are_to_the_yardstick_with_and_without_the_time_of_nothing() {
        let row = |name, median, fastest| (name, Spread { median, fastest });
        let table =
            table(&[row("ours", 2.0, 1.5), row(YARDSTICK, 30.0, 27.0), row("nothing", 1.0, 0.5)]);
        let lines: Vec<&str> = table.lines().skip(1).collect();
        assert_eq!(
            lines,
            [
                "ours                           2.00 ms     1.50 ms    15.0    18.0",
                "python, importing yaml        30.00 ms    27.00 ms     1.0     1.0",
                "nothing                        1.00 ms     0.50 ms    30.0    54.0",
                "ours, above a program that does nothing: ratio 29.0, of the fastest runs 26.5",
            ]
        );
    }
}
