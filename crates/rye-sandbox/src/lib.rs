//! Starts programs, and confines them to a project (SPEC 5.6).
//!
//! [`Processes`] starts the programs of one project. Each runs in a sandbox with limits on time, memory and
//! processes, and ends with everything that it started. [`Template`] makes command lines from the arguments of
//! a call, without a shell.
//!
//! The modes that a machine supports are found by a test. [`Processes::sandbox`] starts a program in each [`SandboxMode`](rye_types::SandboxMode) that attempts to escape, and uses the first mode that holds it.
//!
//! Processes between the program and the caller do the confinement. They come from the launcher (see
//! [`launch`]). The launcher has a single thread, so that it can fork. The caller may have several threads
//! and cannot, so that it starts the launcher instead.
//!
//! ```
//! use rye_sandbox::{Placing, Template, command_line};
//!
//! let line = ["log", "--"].map(|word| Template::new(vec![Placing::Text(word.to_owned())]));
//! let file = Template::new(vec![Placing::Needed("file".to_owned())]);
//! let arguments = serde_json::json!({ "file": "$(x); a b" });
//! let arguments = arguments.as_object().expect("an object");
//! let words = command_line(&[&line[..], &[file]].concat(), arguments)?;
//! assert_eq!(words, ["log", "--", "$(x); a b"]);
//! # Ok::<(), rye_sandbox::TemplateError>(())
//! ```

#![warn(clippy::exhaustive_enums, clippy::exhaustive_structs)]

mod account;
mod bounds;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod call_folder;
#[cfg(target_os = "linux")]
mod confine;
#[cfg(target_os = "linux")]
mod control_group;
mod cover;
#[cfg(target_os = "linux")]
mod descendants;
mod enforcement;
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
mod launch_protocol;
mod launcher;
mod layout;
mod manual;
#[cfg(target_os = "linux")]
mod mount_table;
#[cfg(target_os = "linux")]
mod mounts;
pub mod names;
mod other_names;
mod path_encoding;
mod plan;
#[cfg(target_os = "linux")]
mod probe;
mod process;
#[cfg(target_os = "linux")]
mod project_check;
#[cfg(target_os = "linux")]
mod quarantine;
mod report;
pub mod repository;
mod self_starting;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod survey;
#[cfg(target_os = "linux")]
mod system_calls;
mod temporary;
#[cfg(target_os = "linux")]
mod usage;

pub use self::account::{Account, Changed, Excerpt, Moved};
pub use self::bounds::Bounds;
pub use self::cover::Cover;
pub use self::enforcement::{Enforcement, NEWEST_LANDLOCK, Promise};
pub use self::launch::launch;
pub(crate) use self::launch_protocol::{LAUNCH, SUPERVISE, UNSUPPORTED};
pub use self::launcher::Launcher;
pub(crate) use self::layout::{Layout, PINNED, POLICY};
pub use self::manual::promise_table;
pub(crate) use self::plan::{Attempted, Attempts, GRACE, Home, Link, Plan};
pub use self::process::{
    Capture, ENVIRONMENT, Exit, Input, Job, Pipes, Placing, ProcessHost, Processes, Rules, Script,
    ServerProcess, StandardStream, StartError, Template, TemplateError, Variables, command_line,
    limit_of, script_line,
};
pub(crate) use self::report::{Finding, Planted, Role};
pub use self::report::{Policy, PolicyError, ProbeError, Report};
pub use self::self_starting::is_self_starting;
pub use self::temporary::{TemporaryFolder, lock_shared, sweep_once, temporary_file};

/// Returns `true` if the system allows this program to put each call into a control group of its own, which
/// limits it exactly.
#[must_use]
pub fn has_control_groups() -> bool {
    #[cfg(target_os = "linux")]
    return control_group::ControlGroup::make(Bounds::default()).is_some();
    #[cfg(not(target_os = "linux"))]
    return false;
}
