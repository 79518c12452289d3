//! Every command that there is: its help, what it does, and at least three ways in which it fails.
//!
//! The commands are read from what the program says of itself, so that one without rows here fails.

mod table;
mod table_of_trust;
mod world;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use serde_json::Value;

use self::table::{Row, TABLE};
use self::table_of_trust::TABLE_OF_TRUST;
use self::world::Worlds;
use crate::session::Session;
use crate::sweep::sweep;

/// The fewest failures that each command shows.
const FAILURES: usize = 3;

/// All commands that have no subcommand, as the help tells them.
fn leaves(session: &Session, above: &str) -> Vec<String> {
    let help = session.rye(&format!("{above} --help"));
    let commands = help.split_once("\nCommands:\n").map(|(_, rest)| rest).unwrap_or_default();
    let names = commands.lines().take_while(|line| !line.is_empty());
    // What goes on from the line above is indented further.
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    let below = names.filter(|name| !name.is_empty());
    let below: Vec<String> =
        below.flat_map(|name| leaves(session, format!("{above} {name}").trim_start())).collect();
    if below.is_empty() { vec![above.to_owned()] } else { below }
}

/// All rows, by their commands.
static ROWS: LazyLock<Vec<(&str, &[Row])>> = LazyLock::new(|| [TABLE, TABLE_OF_TRUST].concat());

#[test]
fn every_command_has_its_rows() {
    let mut told: BTreeSet<String> = leaves(&Session::new(), "").into_iter().collect();
    // They do something themselves, and have a command below them.
    told.extend(["mcp", "verify"].map(str::to_owned));
    let shown: BTreeSet<String> = ROWS.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(told, shown);
    assert_eq!(ROWS.len(), shown.len(), "a command stands twice");
    for (command, rows) in &*ROWS {
        let fine = rows.iter().filter(|row| row.2 == 0).count();
        let failures: BTreeSet<String> =
            rows.iter().filter(|row| row.2 != 0).map(|row| format!("{row:?}")).collect();
        assert!(fine > 0, "`{command}` never works");
        assert!(failures.len() >= FAILURES, "`{command}` fails only as {failures:?}");
    }
}

/// What scripts rely on, each shown by some command.
#[test]
fn every_exit_code_is_shown() {
    let codes: BTreeSet<u8> = ROWS.iter().flat_map(|(_, rows)| *rows).map(|row| row.2).collect();
    assert_eq!(codes, BTreeSet::from([0, 1, 2, 3, 4, 5]));
}

/// The reference holds what each command says of itself: it is the snapshot of the help, of which there is one.
#[test]
fn the_help_of_every_command_is_in_the_reference() {
    let session = Session::new();
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let reference = fs::read_to_string(reference).unwrap();
    for (command, _) in &*ROWS {
        let output = session.raw(&format!("{command} --help"));
        assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0), "{command}");
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(help.contains("\nExample"), "`rye {command} --help` has no example");
        assert!(
            *command == "help"
                || reference.contains(&format!("## `rye {command}`\n\n```text\n{help}```\n")),
            "docs/cli.md does not show `rye {command} --help` as it is; run `cargo xtask codegen`"
        );
    }
}

/// One snapshot for each command: what a person sees of each row, whole.
#[test]
fn transcripts() {
    let mut wrong = String::new();
    for (command, shown) in of_all(1, transcript, |_, _| true) {
        for (shown, (_, line, exit)) in &shown {
            assert!(!shown.contains("panicked"), "{shown}");
            assert!(line.starts_with(command), "`rye {line}` stands below `{command}`");
            if !shown.ends_with(&format!("--- exit {exit}\n")) {
                writeln!(wrong, "not exit code {exit}: {shown}").unwrap();
            }
            let is_silent = shown.contains("--- standard error\n--- exit");
            let is_told = !is_silent || shown.split_once('\n').unwrap().1.len() > 40;
            if *exit != 0 && !is_told {
                writeln!(wrong, "fails without a word: {shown}").unwrap();
            }
        }
        let all: Vec<String> = shown.into_iter().map(|(shown, _)| shown).collect();
        insta::assert_snapshot!(command.replace(' ', "_"), all.join("\n"));
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What one command's rows came to, each with its row.
type Shown = Vec<(String, &'static Row)>;

/// What `of_row` makes of each row of every `step`th command; several at a time, because each is a program or more.
fn of_all(
    step: usize,
    of_row: impl Fn(&Session, &Row) -> String + Copy + Send,
    is_meant: impl Fn(&[Row], &Row) -> bool + Copy + Send,
) -> Vec<(&'static str, Shown)> {
    let of_rows = move |worlds: &mut Worlds, rows: &'static [Row]| {
        let meant = rows.iter().filter(|row| is_meant(rows, row));
        meant.map(|row| (of_row(worlds.session(row.0), row), row)).collect()
    };
    let commands = sweep(ROWS.iter().copied(), 0, step);
    std::thread::scope(|scope| {
        let parts: Vec<_> = commands
            .chunks(24)
            .map(|part| {
                scope.spawn(move || -> Vec<(&'static str, Shown)> {
                    let mut worlds = Worlds::default();
                    let shown = |(command, rows): &(&'static str, &'static [Row])| {
                        (*command, of_rows(&mut worlds, rows))
                    };
                    part.iter().map(shown).collect()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

/// What prints no answer: text for people, a protocol, and lines of a thread that is followed.
const NO_ANSWER: [&str; 4] = ["help", "mcp", "threads tail", "view"];

/// With `--json`, what every command prints is one object: a list with a name of its own, and a summary that counts it. Every
/// failure is told in the same form. Unless the sweep is whole, every second command shows it.
#[test]
fn data_has_one_form() {
    let mut wrong = String::new();
    for (_, shown) in of_all(2, as_data, has_answer) {
        for (data, (_, line, exit)) in &shown {
            if let Err(problem) = answer(data, *exit) {
                writeln!(wrong, "`rye {line}`: {problem}: {data}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns `true` for the first row of its command with its exit code, unless it prints no answer.
fn has_answer(rows: &[Row], row: &Row) -> bool {
    let (_, line, exit) = row;
    let first = rows.iter().find(|(_, line, code)| code == exit && is_told_as_answer(line));
    first.is_some_and(|(_, first, _)| first == line)
}

fn is_told_as_answer(line: &str) -> bool {
    let is_text = NO_ANSWER.iter().any(|command| line.starts_with(command));
    // `--deltas` asks for lines.
    !["--help", "--deltas"].iter().any(|option| line.contains(option))
        && (!is_text || line.starts_with("mcp discover"))
}

/// What a row prints as data; of a run, the result alone.
fn as_data(session: &Session, (_, line, _): &Row) -> String {
    let is_run = line.starts_with("run ") || line.starts_with("resume ");
    let quiet = if is_run { " --quiet" } else { "" };
    let output = session.raw(&format!("{}{quiet} --json", line.replace(" --json", "")));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns what is wrong with the form of an answer.
fn answer(data: &str, exit: u8) -> Result<(), String> {
    let data: Value = serde_json::from_str(data).map_err(|error| error.to_string())?;
    let object = data.as_object().ok_or("it is no object")?;
    let (list, rows) = object.iter().next().ok_or("it is empty")?;
    let rows = rows.as_array().ok_or(format!("`{list}` is no list"))?;
    let summary = object.get("summary").and_then(Value::as_object).ok_or("there is no summary")?;
    if summary.get("total") != Some(&rows.len().into()) {
        return Err(format!("the summary does not count `{list}`"));
    }
    if object.iter().any(|(name, value)| name != "summary" && !value.is_array()) {
        return Err("a member is neither a list nor the summary".to_owned());
    }
    if summary.get("ok") != Some(&(exit == 0).into()) {
        return Err("`ok` of the summary is not whether the exit code is 0".to_owned());
    }
    let is_error = list == "errors";
    let has_code = summary.get("exit_code") == Some(&exit.into());
    (!is_error || (exit != 0 && has_code))
        .then_some(())
        .ok_or("the exit code is another".to_owned())
}

fn transcript(session: &Session, (_, line, _): &Row) -> String {
    world::steady(&session.rye(line))
}
