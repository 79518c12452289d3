//! `rye-bench-harness`: holds conversations with a server and prints their figures as a line of JSON.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its terminal")]

use std::process::ExitCode;

use rye_bench_harness::{Arguments, HELP, measure};

#[cfg(feature = "mimalloc")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            print!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("error: {problem}");
            return ExitCode::from(2);
        }
    };
    match measure(&arguments) {
        Ok(figures) => {
            println!("{}", figures.to_json());
            match figures.first_error {
                None => ExitCode::SUCCESS,
                Some(error) => {
                    eprintln!("error: {} conversations failed; the first: {error}", figures.errors);
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
