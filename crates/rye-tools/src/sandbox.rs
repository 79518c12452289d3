//! What stands around a program that a tool starts (SPEC 5.6).
//!
//! Which of the [`Mode`]s a machine can do is found out by doing it: [`Processes::sandbox`](crate::Processes::sandbox)
//! starts a program in each that tries to get out, and takes the first one that it does not get out of.
//!
//! Everything that confines a program is done by processes between it and the caller, which come from the launcher (see
//! [`launch`]). The launcher has one thread, so that it can be split in two. A caller with threads cannot, which is why it starts
//! the launcher.

mod account;
#[cfg(target_os = "linux")]
mod aftermath;
mod bounds;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod control_group;
#[cfg(target_os = "linux")]
mod descendants;
mod encoded;
#[cfg(target_os = "linux")]
mod fault;
#[cfg(target_os = "linux")]
mod guards;
#[cfg(target_os = "linux")]
mod handover;
#[cfg(target_os = "linux")]
mod hierarchy;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod journal;
mod launch;
mod layout;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod quarantine;
mod report;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod survey;
#[cfg(target_os = "linux")]
mod system_calls;
#[cfg(target_os = "linux")]
mod usage;

pub(crate) use self::account::{Account, Changed};
pub use self::bounds::Bounds;
pub use self::launch::launch;
pub(crate) use self::launch::{HELD, LAUNCH, PROBE, SUPERVISE, UNSUPPORTED};
pub(crate) use self::layout::{Layout, PINNED, POLICY};
pub(crate) use self::plan::{GRACE, Home, Link, Plan};
pub(crate) use self::report::Finding;
pub use self::report::{Mode, Policy, PolicyError, ProbeError, Report};

/// Returns `true` if the system lets this program put each call into a control group of its own, which bounds it exactly.
#[must_use]
pub fn has_control_groups() -> bool {
    #[cfg(target_os = "linux")]
    return control_group::ControlGroup::make(Bounds::default()).is_some();
    #[cfg(not(target_os = "linux"))]
    return false;
}
