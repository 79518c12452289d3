//! `rye call TOOL`.

use clap::Args;
use rye::resolve::ItemId;
use rye::thread::{Cancel, ThreadId};
use rye::{CallError, Host};

use super::reopen::host;
use super::run::{Prompt, tell, with_signals};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::inputs::GivenArguments;
use crate::stream::Telling;

/// Call one tool with your own grants, and keep a record of it
#[derive(Debug, Args)]
#[command(
    after_help = "The call is a thread like any other, which declares this tool and nothing else: the tool is verified, your \
                        policy, the risk table and `ask` hold, programs are confined, and `rye threads show` has the record. \
                        No model is asked.\n\n\
                        Wrong arguments are told all at once, before there is a thread. Exits with 1 when the tool fails or does not exist, with 2 for \
                        wrong arguments, with 3 when it is refused, and with 4 when the call waits for approval.\n\n\
                        Examples:\n  rye call rye/file-system/read path=notes/bread.md\n  \
                        rye call rye/file-system/write path=notes/new.md content=@draft.md --json"
)]
pub(crate) struct Arguments {
    /// The id of the tool, such as `rye/file-system/read`
    tool: ItemId,
    #[command(flatten)]
    given: GivenArguments,
    /// Ask nothing on the terminal: a call that needs approval waits for `rye approve`
    #[arg(long, short)]
    quiet: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    environment.project()?;
    let rye = environment.rye()?;
    let thread = ThreadId::new("call", &uuid::Uuid::now_v7().to_string());
    let thread = thread.map_err(|error| Failure::of(&error, Exit::Usage))?;
    let request = rye.call(&arguments.tool, arguments.given.bound()?, thread)?;
    // A single call has no turns to report.
    let telling = Telling { quiet: true, ..Telling::default() };
    let watch = telling.begin(&request.thread, environment);
    let cancel = Cancel::new();
    let clock = SystemClock::new();
    let prompt = Prompt::new(environment, arguments.quiet);
    let host = Host { observer: &watch, approver: &prompt, ..host(&clock, &cancel, environment)? };
    let report = with_signals(&cancel, rye.run(request, host))??;
    Ok(tell(&report, &watch, environment))
}

impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Resolve(error) => error.into(),
            error => Self::of(&error, error.class().into()),
        }
    }
}
