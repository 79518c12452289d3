//! The measurement with an engine that needs no server.

use std::cell::Cell;

use super::{Ended, Engine, Problem, measure, pinned_version};
use crate::Arguments;

/// An engine in which three conversations fail and all others succeed.
struct Scripted {
    turns: usize,
    held: Cell<usize>,
}

impl Engine for Scripted {
    const PACKAGE: &'static str = "rig";

    fn new(arguments: &Arguments) -> Result<Self, Problem> {
        Ok(Self { turns: arguments.turns, held: Cell::new(0) })
    }

    async fn converse(&self) -> Result<Ended, Problem> {
        let text = "done".to_owned();
        match self.held.replace(self.held.get() + 1) {
            0 => Ok(Ended { calls: self.turns - 1, text }),
            2 => Ok(Ended { calls: self.turns, text: String::new() }),
            4 => Err(Box::new(std::io::Error::other("no answer"))),
            _ => Ok(Ended { calls: self.turns, text }),
        }
    }
}

#[test]
fn what_is_not_as_it_is_to_be_is_an_error() {
    let arguments = Arguments { base_url: String::new(), turns: 3, reps: 4, warmup: 1, workers: 1 };
    let figures = measure::<Scripted>(&arguments).expect("because it can be made");
    let expected = [
        "a conversation made 2 calls instead of 3",
        "a conversation ended without a text",
        "no answer",
    ];
    assert_eq!(figures.errors, expected);
    assert_eq!(figures.requests, 16);
    let line = figures.to_json(Scripted::PACKAGE);
    assert_eq!(line["errors"], 3);
    assert_eq!(line["versions"]["rig"], pinned_version("rig").expect("because it is pinned"));
}

/// The versions that the programs print are those in the lock file.
#[test]
fn pinned_versions_are_locked() {
    let lock = include_str!("../../Cargo.lock");
    for package in ["reqwest", "rig"] {
        let version = pinned_version(package).expect("because it is pinned");
        assert!(lock.contains(&format!("name = \"{package}\"\nversion = \"{version}\"\n")));
    }
    assert_eq!(pinned_version("tokio"), None);
}
