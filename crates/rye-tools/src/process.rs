//! Programs that tools start: their sandbox, input, output, limits and end (SPEC 5.6).

mod capture;
mod home;
mod host;
mod job;
mod known_paths;
mod pipes;
mod probe;
mod project_guard;
mod run;
#[cfg(feature = "mcp")]
mod server_process;
mod template;
mod termination;

#[cfg(feature = "mcp")]
pub(crate) use self::capture::Capture;
pub use self::host::{ENVIRONMENT, ProcessHost, Processes, Rules, Variables};
pub(crate) use self::job::{Exit, Job, Script, failure, limit_of, with_account};
pub use self::job::{QUARANTINED, UNCHECKED};
pub(crate) use self::template::command_line;
pub use self::template::{Placing, Template, TemplateError};
#[cfg(feature = "mcp")]
pub(crate) use self::{
    job::StartError,
    server_process::{Pipes, ServerProcess},
};
