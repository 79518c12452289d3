//! `cargo xtask bench thread`: measures the overhead of a thread with a server that answers at once.

use std::fs;
use std::path::Path;

use super::whole::{self, Project};
use crate::process::{self, Served};
use anyhow::{Context as _, anyhow};

const APIS: [&str; 3] = ["openai", "anthropic", "responses"];

/// The folder for transcripts on the disk of the workspace. A folder in memory shows the times without the
/// disk.
const DISK: &str = "target/xtask/bench-threads";
const MEMORY: &str = "/dev/shm";

/// Builds the harness and its server in the profile `dist`, runs every combination, and prints a line for each.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let programs = super::build(root, "--package rye-bench-harness")?;
    fs::create_dir_all(root.join(DISK)).with_context(|| format!("`{DISK}`"))?;
    let mut folders = vec![("disk", root.join(DISK))];
    folders.extend(Path::new(MEMORY).is_dir().then(|| ("memory", MEMORY.into())));
    println!("{HEAD}");
    for turns in [10, 50] {
        let server = Server {
            root,
            programs: &programs,
            served: whole::serve(root, &programs, turns, &[])?,
        };
        for (place, folder) in &folders {
            for api in APIS {
                for stream in [false, true] {
                    let asked = Asked { api, turns, threads: 1, reps: 40, stream };
                    println!("{}", asked.row(place, &server.measure(&asked, folder)?));
                }
            }
        }
    }
    let server =
        Server { root, programs: &programs, served: whole::serve(root, &programs, 10, &[])? };
    for (place, folder) in &folders {
        let asked = Asked { api: "openai", turns: 10, threads: 1_000, reps: 1, stream: true };
        println!("{}", asked.row(place, &server.measure(&asked, folder)?));
    }
    whole_processes(root, &programs)
}

/// Measures runs of the program, from its start to its end.
fn whole_processes(root: &Path, programs: &Path) -> anyhow::Result<()> {
    super::build(root, "--package rye-cli --bin rye")?;
    const TURNS: [u64; 3] = [1, 10, 50];
    let start = |turns: &u64| whole::serve(root, programs, *turns, &whole::TOOL);
    let servers = TURNS.iter().map(start).collect::<Result<Vec<_>, _>>()?;
    let names = TURNS.map(|turns| format!("turns-{turns}"));
    let addresses: Vec<(String, &str)> =
        names.iter().cloned().zip(servers.iter().map(|server| server.first.as_str())).collect();
    let spreads = Project::create(root, programs, whole::PROJECT, &addresses)?.measure(&names)?;
    print!("\n{}", whole::table(&TURNS, &spreads));
    Ok(())
}

const HEAD: &str = "api        turns threads stream records   wall/call    cpu/call   peak memory";

/// The parameters of a run of the harness.
struct Asked {
    api: &'static str,
    turns: u64,
    threads: u64,
    reps: u64,
    stream: bool,
}

impl Asked {
    fn row(&self, place: &str, line: &str) -> String {
        let Self { api, turns, threads, stream, .. } = self;
        let number = |name| member(line, name).unwrap_or(f64::NAN);
        let wall = number("per_call_wall_us");
        let cpu = number("per_call_cpu_us");
        let peak = number("rss_peak_kb") / 1024.0;
        let stream = if *stream { "yes" } else { "no" };
        format!(
            "{api:<10} {turns:>5} {threads:>7} {stream:>6} {place:>7} {wall:>8.1} µs {cpu:>8.1} µs {peak:>9.1} MB"
        )
    }
}

/// Returns the number of a member of a JSON object, if no nested object comes before it.
fn member(line: &str, name: &str) -> Option<f64> {
    let (_, rest) = line.split_once(&format!("\"{name}\":"))?;
    rest.split([',', '}']).next()?.trim().parse().ok()
}

/// The server, in its own process, so that its time does not count for the threads.
struct Server<'a> {
    root: &'a Path,
    programs: &'a Path,
    served: Served,
}

impl Server<'_> {
    /// Runs the harness and returns the line that it prints, or an error if a conversation failed.
    fn measure(&self, asked: &Asked, folder: &Path) -> anyhow::Result<String> {
        let Asked { api, turns, threads, reps, stream } = asked;
        let url = &self.served.first;
        let folder = folder.display();
        let program = self.programs.join("rye-bench-harness");
        let stream = u8::from(*stream);
        let warmup = if *threads == 1 { 5 } else { 0 };
        let words = format!(
            "--url {url} --api {api} --turns {turns} --threads {threads} --reps {reps} --warmup {warmup} --stream {stream} --dir {folder}"
        );
        let output = process::start(self.root, &program, words.split(' ')).output();
        let output = output.context("the harness cannot be started")?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(anyhow!("{words}: {}", String::from_utf8_lossy(&output.stderr))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_becomes_a_row() {
        let line = r#"{"wall_s":1.5,"per_call_wall_us":350.25,"per_call_cpu_us":79.5,"rss_peak_kb":20480,"errors":0,"versions":{"rye":"0.1.0"}}"#;
        let asked = Asked { api: "openai", turns: 10, threads: 1, reps: 40, stream: true };
        let row = asked.row("memory", line);
        assert_eq!(
            [HEAD, row.as_str()],
            [
                "api        turns threads stream records   wall/call    cpu/call   peak memory",
                "openai        10       1    yes  memory    350.2 µs     79.5 µs      20.0 MB",
            ]
        );
    }
}
