//! The options of every command.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

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
    /// A further read-only system root (may be given many times). Default: the folders of `RYE_SYSTEM`, else those of `system`
    /// in `config/spaces.yaml` of the user space
    #[arg(long, global = true, value_name = "DIR", help_heading = "Where")]
    pub(crate) system: Vec<PathBuf>,
    /// Trust this document's key, for this command only (may be given many times). A file of the project counts only if a key that
    /// you trust signed it
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
