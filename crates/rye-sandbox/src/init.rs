//! New namespaces, and the first process in them. All other processes in them end with it.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;

use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{Pid, getegid, geteuid};
use rustix::thread::{CapabilitySet, capabilities};

use super::fault::Fault;
use super::handover::{SandboxProcess, SetupReport};
use super::{Plan, confine, guards, mounts, probe};

/// Enters namespaces for the next process. This process keeps its own view of files and processes.
pub(super) fn enter(plan: &Plan) -> Result<(), Fault> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if !plan.network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    if is_administrator()? {
        return unshare(flags).map_err(Fault::at_call("make namespaces"));
    }
    let user = geteuid();
    let group = getegid();
    unshare(flags | CloneFlags::CLONE_NEWUSER).map_err(Fault::at_call("make user namespaces"))?;
    for (file, text) in [
        ("setgroups", "deny".to_owned()),
        ("uid_map", format!("{user} {user} 1")),
        ("gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(format!("/proc/self/{file}"), text).map_err(Fault::at_call("map the user"))?;
    }
    Ok(())
}

/// Returns `true` if namespaces can be made without a user namespace, which would remove access to files of
/// other users in the project.
fn is_administrator() -> Result<bool, Fault> {
    let own = capabilities(None).map_err(Fault::at("read capabilities"))?;
    Ok(geteuid().is_root()
        && own.effective.contains(CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP))
}

/// Runs the first process: mounts the files, confines itself, starts the program, and collects orphans until
/// the program ends.
pub(super) fn init(below: SandboxProcess, program: &[OsString]) -> Result<u8, Fault> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Fault::at("be bound to the launcher"))?;
    if let Some(place) = mounts::make(&below.plan)? {
        below.tell(SetupReport::Raced)?;
        return Err(guards::moved_fault(&place));
    }
    let landlock = confine::confine(&below.plan)?;
    let plan = below.tell(SetupReport::Complete(landlock))?;
    if let Some(attempts) = &plan.attempts {
        return probe::probe(&plan, attempts, landlock);
    }
    // The program must not read the memory, the variables or the descriptors of this process below `/proc/1`.
    prctl::set_dumpable(false).map_err(Fault::at("hide the first process"))?;
    let mut command = confine::command(&plan, program)?;
    // A program that signals or slows down its own group must not reach the launcher.
    command.process_group(0);
    let start = confine::start_of(&plan, command.get_program());
    let child = command.spawn().map_err(Fault::at(&start))?;
    let own = Pid::from_raw(i32::try_from(child.id()).unwrap_or(0));
    let code = loop {
        match waitpid(None, None) {
            Ok(WaitStatus::Exited(pid, code)) if pid == own => break code,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == own => break 128 + signal as i32,
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(Fault::new("wait for the program", error)),
        }
    };
    Ok(u8::try_from(code).unwrap_or(u8::MAX))
}
