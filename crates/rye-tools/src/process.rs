//! Programs that tools start: how they are confined, fed, read, bounded and ended (SPEC 5.6).

mod capture;
mod ending;
mod guarded;
mod home;
mod host;
mod job;
#[cfg(feature = "mcp")]
mod lasting;
mod places;
mod probe;
mod run;
mod talking;
mod template;

#[cfg(feature = "mcp")]
pub(crate) use self::capture::Captured;
pub use self::host::{ENVIRONMENT, ProcessHost, Processes, Rules, Variables};
pub(crate) use self::job::{Ended, Job, Script, failure, limit_of, with_account};
pub use self::job::{QUARANTINED, UNCHECKED};
pub(crate) use self::template::command_line;
pub use self::template::{Placing, Template, TemplateError};
#[cfg(feature = "mcp")]
pub(crate) use self::{
    job::StartError,
    lasting::{Lasting, Pipes},
};
