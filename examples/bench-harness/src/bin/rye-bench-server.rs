//! `rye-bench-server TURNS [TOOL ARGUMENTS]`: a server that answers at once, until it is stopped.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program talks to its terminal")]

use std::io::{Read as _, Write as _};
use std::process::ExitCode;

use rye_bench_harness::Server;

fn main() -> ExitCode {
    let Some(Ok(turns)) = std::env::args().nth(1).map(|word| word.parse()) else {
        eprintln!(
            "usage: rye-bench-server TURNS [TOOL ARGUMENTS]; it serves until its standard input is closed, and asks for calls \
             of `add`, or of the tool with this name on the wire and these arguments, in JSON"
        );
        return ExitCode::from(2);
    };
    let server = match (std::env::args().nth(2), std::env::args().nth(3)) {
        (Some(name), Some(arguments)) => Server::calling(turns, &name, &arguments),
        _ => Server::start(turns),
    };
    match server {
        Ok(server) => {
            println!("{}", server.url());
            drop(std::io::stdout().flush());
            // The parent process ends the server by closing its input or by ending.
            drop(std::io::stdin().read_to_end(&mut Vec::new()));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
