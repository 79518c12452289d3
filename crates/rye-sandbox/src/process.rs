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
mod server_process;
mod template;
mod termination;

pub use self::capture::Capture;
pub use self::host::{ENVIRONMENT, ProcessHost, Processes, Rules, Variables};
pub use self::job::{Exit, Job, Script, StartError, limit_of};
pub use self::pipes::StandardStream;
pub use self::server_process::{Input, Pipes, ServerProcess};
pub use self::template::{Placing, Template, TemplateError, command_line, script_line};
