//! The main function of all programs, from the command line to the exit code.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its terminal")]

use std::process::ExitCode;

use crate::arguments::{Arguments, OPTIONS};
use crate::measure::{Engine, measure};

/// Measures the engine with the options of the command line, and prints the line of JSON.
#[must_use]
pub fn run<E: Engine>(program: &str) -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("Usage: {program} {OPTIONS}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    match measure::<E>(&arguments) {
        Ok(figures) => {
            println!("{}", figures.to_json(E::PACKAGE));
            match figures.errors.as_slice() {
                [] => ExitCode::SUCCESS,
                [first, ..] => {
                    let count = figures.errors.len();
                    eprintln!("error: {count} conversations failed; the first: {first}");
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
