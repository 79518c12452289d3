//! Every command that there is: its help, what it does, and at least three ways in which it fails.
//!
//! The commands are read from what the program says of itself, so that one without rows here fails.

mod table;
mod world;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use self::table::{Row, TABLE};
use crate::session::Session;

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

#[test]
fn every_command_has_its_rows() {
    let mut told: BTreeSet<String> = leaves(&Session::new(), "").into_iter().collect();
    // It serves, and has a command below it.
    told.insert("mcp".to_owned());
    let shown: BTreeSet<String> = TABLE.iter().map(|(command, _)| (*command).to_owned()).collect();
    assert_eq!(told, shown);
    assert_eq!(TABLE.len(), shown.len(), "a command stands twice");
    for (command, rows) in TABLE {
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
    let codes: BTreeSet<u8> = TABLE.iter().flat_map(|(_, rows)| *rows).map(|row| row.2).collect();
    assert_eq!(codes, BTreeSet::from([0, 1, 2, 3, 4, 5]));
}

/// The reference holds what each command says of itself: it is the snapshot of the help, of which there is one.
#[test]
fn the_help_of_every_command_is_in_the_reference() {
    let session = Session::new();
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    let reference = fs::read_to_string(reference).unwrap();
    for (command, _) in TABLE {
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
    for (command, shown) in all_shown() {
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

type Shown = Vec<(String, &'static Row)>;

/// What each row shows; several at a time, because each is a program or more.
fn all_shown() -> Vec<(&'static str, Shown)> {
    let of_rows = |rows: &'static [Row]| rows.iter().map(|row| (transcript(row), row)).collect();
    std::thread::scope(|scope| {
        let parts: Vec<_> = TABLE
            .chunks(12)
            .map(|part| {
                scope.spawn(move || -> Vec<(&'static str, Shown)> {
                    part.iter().map(|(command, rows)| (*command, of_rows(rows))).collect()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap()).collect()
    })
}

fn transcript((world, line, _): &Row) -> String {
    world::steady(&world.session().rye(line))
}
