//! Follows the help of findings about a project: what it shows to write is written, what it shows to run is run, and the finding is gone.
//!
//! `tests/helps.txt` has the mistakes, and its head describes the form. Every help with code in it that a state of `tests/gates.txt`
//! gets has a row there, or stands in [`NOT_FOLLOWED`]. Help about the form of one file is followed in `rye-project`.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::gates::{State, apply, in_parallel, made, signed_project, states};
use crate::session::Session;

const TABLE: &str = include_str!("../../../../tests/helps.txt");

/// Help that cannot be followed by a program, by its shape, with the reason.
const NOT_FOLLOWED: &[(&str, &str)] = &[
    (
        "correct it before you sign: `…` refuses it, and a run warns of it",
        "the author knows which of the two is right",
    ),
    ("put `…` into a fence that starts with `…``…`", "the code has dots in the place of the name"),
    ("separate the elements by commas, and close each `…` and `…`", "the place is not known"),
    ("did you mean `…`? valid: `…`", "about the form; `rye-project` follows it"),
];

/// A mistake with its help.
struct Row {
    name: &'static str,
    state: State,
    code: &'static str,
    help: &'static str,
    follow: Vec<&'static str>,
    /// `true` if the help only shows where to look, so that the finding stays.
    stays: bool,
}

fn rows() -> Vec<Row> {
    TABLE.split("\n[").skip(1).map(row).collect()
}

fn row(block: &'static str) -> Row {
    let (name, rest) = block.split_once("]\n").unwrap();
    let state = State { name, changes: vec![], says: vec![], cells: vec![], because: vec![] };
    let mut row = Row { name, state, code: "", help: "", follow: vec![], stays: false };
    for line in rest.lines().take_while(|line| !line.is_empty()) {
        let (word, value) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "state" => {
                let known = states().into_iter().find(|state| state.name == value);
                row.state.changes = known.unwrap_or_else(|| panic!("no state `{value}`")).changes;
            }
            "do" => row.state.changes.push(value),
            "code" => row.code = value,
            "help" => row.help = value,
            "follow" => row.follow.push(value),
            "stays" => row.stays = true,
            other => panic!("`{name}` has a line `{other}`"),
        }
    }
    row
}

/// The help with dots in the place of each code, and one code in the place of a list.
fn shape(help: &str) -> String {
    let parts = help.split('`').enumerate();
    let shape: String = parts.map(|(at, part)| if at % 2 == 1 { "`…`" } else { part }).collect();
    let mut shape = shape;
    while shape.contains("`…`, `…`") {
        shape = shape.replace("`…`, `…`", "`…`");
    }
    shape
}

struct Told {
    code: String,
    message: String,
    help: String,
    is_error: bool,
}

fn findings(session: &Session) -> Vec<Told> {
    let output = session.raw("check --json").stdout;
    let json: Value = serde_json::from_slice(&output).unwrap_or_default();
    let files = json["files"].as_array().into_iter().flatten();
    let problems = files.flat_map(|file| file["problems"].as_array().unwrap());
    let text = |problem: &Value, name: &str| problem[name].as_str().unwrap_or_default().to_owned();
    problems
        .map(|problem| Told {
            code: text(problem, "code"),
            message: text(problem, "message"),
            help: text(problem, "help"),
            is_error: problem["severity"] == "error",
        })
        .collect()
}

/// Carries out one line of `follow`, in which `{1}` is the first code of the help.
fn follow(session: &Session, help: &str, line: &str) {
    let codes = help.split('`').skip(1).step_by(2);
    let line = (1..)
        .zip(codes)
        .fold(line.to_owned(), |line, (place, code)| line.replace(&format!("{{{place}}}"), code));
    let (verb, rest) = line.split_once(' ').unwrap();
    match verb {
        "run" => {
            let said = session.rye(rest.strip_prefix("rye ").expect("a command of `rye`"));
            assert!(said.ends_with("--- exit 0\n"), "{line}: {said}");
        }
        "key-grants" => {
            let folder = session.home().join(".ai/config/keys/trusted");
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let text = fs::read_to_string(&path).unwrap();
                fs::write(path, text.replace("grants = [", &format!("grants = [\"{rest}\", ")))
                    .unwrap();
            }
        }
        "copy-file" => {
            let (from, to) = rest.split_once(' ').unwrap();
            let to = session.project().join(to);
            let text = fs::read(session.project().join(from)).unwrap();
            fs::remove_file(&to).unwrap();
            fs::write(to, text).unwrap();
        }
        _ => apply(session, &line),
    }
}

/// Returns what is wrong with the help of a row.
fn faults(signed: &Session, row: &Row) -> Option<String> {
    let session = made(signed, &row.state);
    let before = findings(&session);
    let meant = before.iter().find(|it| it.code == row.code && shape(&it.help) == row.help);
    let Some(meant) = meant else {
        let told: Vec<String> =
            before.iter().map(|it| format!("{}: {} ({})", it.code, it.message, it.help)).collect();
        return Some(format!("[{}] has no such help, and\n  {}", row.name, told.join("\n  ")));
    };
    row.follow.iter().for_each(|line| follow(&session, &meant.help, line));
    let after = findings(&session);
    let is_same = |it: &&Told| it.code == meant.code && it.message == meant.message;
    let is_new = |it: &&Told| it.is_error && !before.iter().any(|old| old.code == it.code);
    let bad = after.iter().find(|it| (is_same(it) && !row.stays) || is_new(it))?;
    Some(format!("[{}] {}: leads to {}: {}", row.name, meant.help, bad.code, bad.message))
}

#[test]
fn help_works_when_it_is_followed() {
    let signed = signed_project();
    let faults = in_parallel(&rows(), |row| faults(&signed, row));
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_help_that_a_state_of_a_project_gets_is_followed() {
    let signed = signed_project();
    let told = in_parallel(&states(), |state| {
        let told = findings(&made(&signed, state)).into_iter();
        let told = told.filter(|it| it.help.contains('`'));
        told.map(|it| (it.code, shape(&it.help))).collect::<BTreeSet<_>>()
    });
    let told: BTreeSet<_> = told.into_iter().flatten().collect();
    let rows = rows();
    let is_followed = |help: &str| {
        rows.iter().any(|row| row.help == help) || NOT_FOLLOWED.iter().any(|(it, _)| *it == help)
    };
    let lacking: Vec<_> = told.iter().filter(|(_, help)| !is_followed(help)).collect();
    assert!(lacking.is_empty(), "{lacking:#?}");
    let needless = NOT_FOLLOWED.iter().filter(|(it, _)| !told.iter().any(|(_, help)| help == it));
    assert_eq!(needless.collect::<Vec<_>>(), [] as [&(&str, &str); 0]);
}
