//! The `rye` program: a thin layer over the library.
//!
//! Only this program reads the command line, the environment, the clock and the working directory.

// Declared first, because its macros replace those of the standard library in all other modules.
#[macro_use]
mod output;

mod approval;
mod args;
mod call_name;
mod clock;
mod command_line;
mod commands;
mod completion;
mod confirm;
mod directive;
mod directive_inputs;
#[cfg(feature = "engine")]
mod engine;
mod environment;
mod excerpt;
mod exit;
mod failure;
mod files;
mod global;
mod inputs;
mod key_store;
mod lock_judge;
mod progress;
mod refused;
mod revision;
mod side;
mod signals;
mod stream;
mod table;
#[cfg(feature = "otel")]
mod telemetry;
mod thread_argument;
mod typed_spaces;
mod unmatched;
mod writable;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use args::{Cli, Command};
use clap::CommandFactory as _;
use environment::Environment;
use exit::Exit;
use failure::Failure;

fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    // First of all: this program is also the launcher that confines and supervises the programs of tools.
    if let Some(code) = rye::sandbox::launch(&words) {
        return code;
    }
    if let Some(code) = completion::answer(&words, Cli::command) {
        return code;
    }
    let cli = match command_line::read(&words) {
        Ok(cli) => cli,
        Err(error) => {
            let exit = failure::report_command_line(&error);
            if exit == Exit::Fine {
                directive_inputs::print_help(&words);
            }
            return exit.into();
        }
    };
    let environment = Environment::read(cli.global, cli.command.tells_as_it_happens());
    let clock = Environment::moment().validate().map_err(|error| Failure::of(&error, Exit::Failed));
    match clock.and_then(|_| dispatch(cli.command, &environment)) {
        Ok(exit) => exit.into(),
        Err(failure) => {
            failure.print(&environment);
            failure.exit().into()
        }
    }
}

fn dispatch(command: Command, environment: &Environment) -> Result<Exit, Failure> {
    match command {
        Command::Run(arguments) => commands::run::run(arguments, environment),
        Command::Call(arguments) => commands::call::run(&arguments, environment),
        Command::Resume(arguments) => commands::reopen::resume(&arguments, environment),
        Command::Approve(arguments) => commands::reopen::approve(&arguments, environment),
        Command::Deny(arguments) => commands::reopen::deny(&arguments, environment),
        Command::Cancel(arguments) => commands::reopen::cancel(&arguments, environment),
        Command::Replay(arguments) => commands::replay::run(&arguments, environment),
        Command::Render(arguments) => commands::render::run(&arguments, environment),
        Command::Explain(arguments) => commands::explain::run(&arguments, environment),
        Command::Diff(arguments) => commands::diff::run(&arguments, environment),
        Command::Init(arguments) => commands::init::run(&arguments, environment),
        Command::New(command) => commands::new::run(&command, environment),
        Command::Import(arguments) => commands::import::run(&arguments, environment),
        Command::Check(arguments) => commands::check::run(&arguments, environment),
        Command::Caps(command) => commands::caps::run(&command, environment),
        Command::Lock(arguments) => commands::lock::run(&arguments, environment),
        Command::Verify(arguments) => commands::verify::run(&arguments, environment),
        Command::Sign(arguments) => commands::sign::run(&arguments, environment),
        Command::Keys(command) => commands::keys::run(&command, environment),
        Command::Trust(command) => commands::trust::run(&command, environment),
        Command::Search(arguments) => commands::search::run(&arguments, environment),
        Command::List(arguments) => commands::list::run(&arguments, environment),
        Command::Load(arguments) => commands::load::run(&arguments, environment),
        Command::Which(arguments) => commands::which::run(&arguments, environment),
        Command::Export(arguments) => commands::export::run(&arguments, environment),
        Command::Threads(command) => commands::threads::run(&command, environment),
        Command::View(arguments) => commands::threads::view::run(&arguments, environment),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => commands::mcp::run(&arguments, environment),
        Command::Schema(arguments) => commands::schema::run(&arguments, environment),
        Command::Doctor(arguments) => commands::doctor::run(&arguments, environment),
        Command::Help(arguments) => commands::help::run(&arguments, Cli::command(), environment),
        Command::Man(arguments) => commands::man::run(&arguments, Cli::command(), environment),
        Command::Completions(arguments) => commands::completions::run(&arguments, environment),
    }
}
