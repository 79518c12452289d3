//! A program that can be a launcher: all it needs is to ask first whether it was started as one.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    rye_sandbox::launch(&words).unwrap_or(ExitCode::SUCCESS)
}
