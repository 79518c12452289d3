//! What stands around a program that a tool starts (SPEC 5.6).
//!
//! Which of the [`Mode`]s a machine can do is found out by doing it: [`Processes::sandbox`](crate::Processes::sandbox)
//! starts a program in each, strongest first, that tries to get out, and takes the first one that it does not get out of.
//!
//! Everything that confines a program is done by processes between it and the caller, which are started from the
//! launcher (see [`launch`]), because code that runs between `fork` and `exec` cannot be safe Rust.

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod hierarchy;
#[cfg(target_os = "linux")]
mod init;
mod launch;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
mod plan;
#[cfg(target_os = "linux")]
mod probe;
mod report;
#[cfg(target_os = "linux")]
mod stand_in;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod system_calls;

pub use self::launch::launch;
pub(crate) use self::launch::{LAUNCH, PROBE, SUPERVISE};
pub(crate) use self::plan::{GRACE, Plan, VARIABLES};
pub(crate) use self::report::Finding;
pub use self::report::{Mode, Policy, PolicyError, Report};
