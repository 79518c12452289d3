//! `cargo xtask bench view`: pages and exports of a thread of 10,000 records, and the list of 10,000 threads.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::whole::{self, Project, TOOL};
use super::{Spread, spread};
use crate::process::Served;
use anyhow::{Context as _, anyhow};

const PROJECT: &str = "target/xtask/bench-view";

/// The turns of the long thread: five records each.
const TURNS: u64 = 2_000;

/// The threads of the list.
const THREADS: u64 = 10_000;

/// The number of requests for each page, and of exports in each format.
const ROUNDS: usize = 9;

/// Builds the program in the profile `dist`, runs the threads, and prints the times.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let packages = "--package rye-cli --bin rye --package rye-bench-harness --bin rye-bench-server";
    let programs = super::build(root, packages)?;
    let long = whole::serve(root, &programs, TURNS, &TOOL)?;
    let short = whole::serve(root, &programs, 1, &TOOL)?;
    let servers = [("long".to_owned(), &*long.first), ("short".to_owned(), &*short.first)];
    let project = Project::create(root, &programs, PROJECT, &servers)?;
    project.took(&["run", "bench/read", "--quiet", "--provider", "long"])?;
    let thread = newest(&root.join(PROJECT))?;
    let mut rows = pages(&project, &format!("thread/{thread}"), "thread of 10,000 records")?;
    for format in ["html", "jsonl", "atif", "receipt"] {
        rows.push(export(&project, &thread, format, &root.join(PROJECT))?);
    }
    print!("{}", table(&rows));
    for number in 1..THREADS {
        project.took(&["run", "bench/read", "--quiet", "--provider", "short"])?;
        if number % 1_000 == 0 {
            println!("{number} threads of {THREADS}");
        }
    }
    print!("{}", table(&pages(&project, "threads/", "list of 10,000 threads")?));
    print!("{}", table(&[list(&project)?]));
    Ok(())
}

/// Measures `rye threads list`, which is read from the index.
fn list(project: &Project<'_>) -> anyhow::Result<Row> {
    let times: anyhow::Result<Vec<Duration>> =
        (0..ROUNDS).map(|_| project.took(&["threads", "list"])).collect();
    let name = "`rye threads list` of 10,000".to_owned();
    Ok(Row { name, spread: spread(times?), bytes: 0, memory: None })
}

/// A line of the output.
struct Row {
    name: String,
    spread: Spread,
    /// The size of what was sent or written, and of the memory that it took, in bytes.
    bytes: u64,
    memory: Option<u64>,
}

/// Measures the first page that a server makes, and its pages afterwards.
fn pages(project: &Project<'_>, page: &str, name: &str) -> anyhow::Result<Vec<Row>> {
    let mut first = Vec::new();
    let mut again = Vec::new();
    let mut bytes = 0;
    let mut memory = None;
    for _ in 0..ROUNDS {
        let mut command = project.command(&["view"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let server = Served::start(command)?;
        let address = server.first.replace("threads/", page);
        let got = get(&address)?;
        first.push(got.took);
        again.push(get(&address)?.took);
        again.push(get(&address)?.took);
        bytes = got.bytes;
        memory = memory.max(peak_memory(server.id()));
    }
    let row = |when: &str, times, memory| Row {
        name: format!("{name}, {when}"),
        spread: spread(times),
        bytes,
        memory,
    };
    Ok(vec![row("first page", first, memory), row("again", again, None)])
}

fn export(project: &Project<'_>, thread: &str, format: &str, folder: &Path) -> anyhow::Result<Row> {
    let path = folder.join(format!("export.{format}"));
    let file = path.display().to_string();
    let words = ["threads", "export", thread, "--format", format, "--output", &file];
    let times: anyhow::Result<Vec<Duration>> = (0..ROUNDS)
        .map(|_| {
            drop(fs::remove_file(&path));
            project.took(&words)
        })
        .collect();
    let bytes = fs::metadata(&path).map_or(0, |file| file.len());
    Ok(Row { name: format!("export as {format}"), spread: spread(times?), bytes, memory: None })
}

/// A response, and the time from the connection to its last byte.
struct Got {
    took: Duration,
    bytes: u64,
}

fn get(address: &str) -> anyhow::Result<Got> {
    let failed = || format!("`{address}`");
    let rest = address.strip_prefix("http://").unwrap_or(address);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let start = Instant::now();
    let mut stream = TcpStream::connect(host).with_context(failed)?;
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).with_context(failed)?;
    let mut response = Vec::new();
    stream.read_to_end(&mut response).with_context(failed)?;
    let took = start.elapsed();
    if response.starts_with(b"HTTP/1.1 200 ") {
        Ok(Got { took, bytes: u64::try_from(response.len()).unwrap_or(u64::MAX) })
    } else {
        Err(anyhow!("`{address}`: {}", String::from_utf8_lossy(&response)))
    }
}

/// The most memory that a process had so far, in bytes, where the system says it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes * 1024)
}

/// The thread of a project that has one.
fn newest(project: &Path) -> anyhow::Result<String> {
    let entries = fs::read_dir(project.join(".ai/threads"))?;
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut threads: Vec<String> = names.filter(|name| name.starts_with("read-")).collect();
    threads.sort_unstable();
    threads.pop().context("no thread was run")
}

#[expect(clippy::cast_precision_loss, reason = "megabytes are rounded anyway")]
fn table(rows: &[Row]) -> String {
    let mega = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    let line = |row: &Row| {
        let Spread { median, fastest } = row.spread;
        let memory = row.memory.map_or_else(String::new, mega);
        let size = mega(row.bytes);
        let line =
            format!("{:<38}{median:>9.1} ms{fastest:>9.1} ms{size:>10}{memory:>10}", row.name);
        format!("{}\n", line.trim_end())
    };
    let head =
        format!("{:<38}{:>12}{:>12}{:>10}{:>10}\n", "", "median", "fastest", "size", "memory");
    head + &rows.iter().map(line).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_its_size_and_its_memory() {
        let row = |memory| Row {
            name: "list, first page".to_owned(),
            spread: Spread { median: 12.34, fastest: 9.0 },
            bytes: 1_500_000,
            memory,
        };
        assert_eq!(
            table(&[row(Some(40_000_000)), row(None)]).lines().collect::<Vec<_>>(),
            [
                "                                            median     fastest      size    memory",
                "list, first page                           12.3 ms      9.0 ms    1.5 MB   40.0 MB",
                "list, first page                           12.3 ms      9.0 ms    1.5 MB",
            ]
        );
    }
}
