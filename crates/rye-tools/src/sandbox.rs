//! The sandbox of programs that tools start (SPEC 5.6).
//!
//! The modes that a machine supports are found by a test. [`Processes::sandbox`](crate::Processes::sandbox)
//! starts a program in each [`Mode`] that attempts to escape, and uses the first mode that holds it.
//!
//! Processes between the program and the caller do the confinement. They come from the launcher (see
//! [`launch`]). The launcher has a single thread, so that it can fork. The caller may have several threads
//! and cannot, so that it starts the launcher instead.

mod account;
mod bounds;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod control_group;
#[cfg(target_os = "linux")]
mod descendants;
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
mod path_encoding;
mod plan;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod project_check;
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

/// Returns `true` if the system allows this program to put each call into a control group of its own, which
/// limits it exactly.
#[must_use]
pub fn has_control_groups() -> bool {
    #[cfg(target_os = "linux")]
    return control_group::ControlGroup::make(Bounds::default()).is_some();
    #[cfg(not(target_os = "linux"))]
    return false;
}
