//! The arguments of the command line: one struct for each command.

use clap::{Parser, Subcommand};

use crate::commands;
use crate::global::Global;

/// Runs directives: agent workflows as signed files, with no more authority than they declare.
#[derive(Debug, Parser)]
#[cfg_attr(
    feature = "otel",
    command(long_version = concat!(env!("CARGO_PKG_VERSION"), " with telemetry (otel)"))
)]
#[command(
    name = "rye",
    version,
    about,
    max_term_width = 100,
    propagate_version = true,
    disable_help_subcommand = true,
    after_help = "Manual:\n  rye help format   The format of directives, knowledge, tools, hooks and configuration\n  \
                  rye help sandbox  What programs of tools do in which sandbox"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(commands::run::Arguments),
    Call(commands::call::Arguments),
    Resume(commands::reopen::Resume),
    Approve(commands::reopen::Approve),
    Deny(commands::reopen::Deny),
    Cancel(commands::reopen::End),
    Replay(commands::replay::Arguments),
    Render(commands::render::Arguments),
    Explain(commands::explain::Arguments),
    Diff(commands::diff::Arguments),
    Init(commands::init::Arguments),
    #[command(subcommand)]
    New(commands::new::Command),
    Import(commands::import::Arguments),
    Check(commands::check::Arguments),
    Lock(commands::lock::Arguments),
    #[command(subcommand)]
    Caps(commands::caps::Command),
    Verify(commands::verify::Arguments),
    Sign(commands::sign::Arguments),
    #[command(subcommand)]
    Keys(commands::keys::Command),
    #[command(subcommand)]
    Trust(commands::trust::Command),
    Search(commands::search::Arguments),
    List(commands::list::Arguments),
    Load(commands::load::Arguments),
    Which(commands::which::Arguments),
    Export(commands::export::Arguments),
    #[command(subcommand)]
    Threads(commands::threads::Command),
    View(commands::threads::view::Arguments),
    #[cfg(feature = "mcp")]
    Mcp(commands::mcp::Arguments),
    Schema(commands::schema::Arguments),
    Doctor(commands::doctor::Arguments),
    Completions(commands::completions::Arguments),
    Man(commands::man::Arguments),
    Help(commands::help::Arguments),
}

impl Command {
    /// Returns `true` if `--json` prints an object per line while the command runs.
    pub(crate) fn tells_as_it_happens(&self) -> bool {
        match self {
            Self::Run(arguments) => arguments.tells_as_it_happens(),
            Self::Resume(arguments) => !arguments.telling.quiet,
            _ => false,
        }
    }
}
