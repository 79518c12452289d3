//! The arguments of the command line: one struct for each command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands;

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
    after_help = "Manual:\n  rye help format  The format of directives, knowledge, tools, hooks and configuration"
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The options of every command.
#[derive(Clone, Debug, Args)]
pub(crate) struct Global {
    /// The project: the folder that holds `.ai`. Default: the nearest folder above that has one
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where")]
    pub(crate) project: Option<PathBuf>,
    /// The user space: the folder that holds your own `.ai`. Default: your home folder
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        env = "USER_SPACE",
        hide_env_values = true,
        help_heading = "Where"
    )]
    pub(crate) user_space: Option<PathBuf>,
    /// A further read-only system root (may be given many times)
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where")]
    pub(crate) system: Vec<PathBuf>,
    /// Trust this document's key, for this command only (may be given many times)
    #[arg(long, global = true, value_name = "FILE", help_heading = "Trust")]
    pub(crate) trust: Vec<PathBuf>,
    /// Accept unsigned items, for authoring; tampered ones stay refused
    #[arg(long, global = true, env = "RYE_DEV_MODE", hide_env_values = true, help_heading = "Trust",
          value_parser = switch)]
    pub(crate) allow_unsigned: bool,
    /// Print data as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The use of color; `auto` colors for a terminal, unless `NO_COLOR` is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        value_enum,
        default_value_t,
        hide_default_value = true
    )]
    pub(crate) color: Color,
}

/// The choice of `--color`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    Always,
    #[default]
    Auto,
    Never,
}

/// Parses the value of a variable that switches something on. Any other text is an error, because the switch
/// lowers a protection and must not depend on a guess.
fn switch(text: &str) -> Result<bool, String> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "" | "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("write `1` or `0`".to_owned()),
    }
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
            Self::Run(arguments) => !arguments.telling.quiet,
            Self::Resume(arguments) => !arguments.telling.quiet,
            _ => false,
        }
    }
}
