//! `rye-bench-server TURNS`: the server that answers without thinking, until it is stopped.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its terminal")]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use rye_bench_harness::Server;

fn main() -> ExitCode {
    let Some(Ok(turns)) = std::env::args().nth(1).map(|word| word.parse()) else {
        eprintln!("usage: rye-bench-server TURNS; it serves until its standard input is closed");
        return ExitCode::from(2);
    };
    match Server::start(turns) {
        Ok(server) => {
            println!("{}", server.url());
            drop(std::io::stdout().flush());
            // Whoever started it lets it go by closing its input, or by ending.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
