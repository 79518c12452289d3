//! `cargo xtask soak`: cuts, power losses and kills of threads at every place, of which ordinary tests only
//! try some.

use std::{path::Path, time::Instant};

use crate::process;
use anyhow::anyhow;

/// The extent of the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    /// The number of programs that are killed in each of two tests. A third one always kills 200.
    pub(crate) kills: u32,
}

impl Request {
    /// Reads `[--kills N]`.
    pub(crate) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        match words {
            [] => Ok(Self { kills: 100 }),
            ["--kills", kills] => match kills.parse() {
                Ok(kills @ 1..) => Ok(Self { kills }),
                _ => Err(anyhow!("`{kills}` is no number of programs to kill")),
            },
            other => Err(anyhow!("`soak` takes `--kills N` and not `{}`", other.join(" "))),
        }
    }
}

/// Runs the tests with variables that make them try every place.
pub(crate) fn run(root: &Path, request: Request) -> anyhow::Result<()> {
    let kills = request.kills.to_string();
    process::run(root, &[], LAUNCHER)?;
    let steps = [
        (
            "cut at every byte, without power at every use of the store",
            ("RYE_EVERY_BYTE", "1"),
            CUTS,
        ),
        ("programs killed", ("RYE_KILLS", kills.as_str()), KILLS),
        ("parallel starts in a sandbox", ("RYE_STARTS", "1000"), STARTS),
    ];
    for (told, variable, line) in steps {
        println!("== {told}");
        let began = Instant::now();
        process::run(root, &[variable, ("RYE_SWEEP", "all")], line)?;
        println!("== {told}: all held, {:.0} s", began.elapsed().as_secs_f64());
    }
    Ok(())
}

/// `cargo test` builds no example under its own name if a test is named.
const LAUNCHER: &str = "cargo build --quiet --package rye-tools --example launcher";
const CUTS: &str = "cargo test --quiet --package rye-thread --test rye_thread -- --nocapture cut_anywhere cut_inside \
                    whatever_the_power whenever_the_power";
const KILLS: &str =
    "cargo test --quiet --package rye-cli --test cli -- --nocapture killing:: stopped::";
const STARTS: &str =
    "cargo test --quiet --package rye-tools --test processes -- --nocapture parallel_starts";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_kills_is_read() {
        let rows = [
            (vec![], Ok(Request { kills: 100 })),
            (vec!["--kills", "7"], Ok(Request { kills: 7 })),
            (vec!["--kills", "0"], Err("`0` is no number of programs to kill".to_owned())),
            (vec!["--kills", "x"], Err("`x` is no number of programs to kill".to_owned())),
            (vec!["--all"], Err("`soak` takes `--kills N` and not `--all`".to_owned())),
        ];
        for (words, expected) in rows {
            let read = Request::parse(&words).map_err(|error| error.to_string());
            assert_eq!(read, expected, "{words:?}");
        }
    }
}
