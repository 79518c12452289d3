//! New namespaces, and the first process in them, which all others of them end with.

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
use super::handover::{Below, Standing};
use super::{Plan, confine, guards, mounts};

/// Enters namespaces for what is started next. This process keeps its own files and its own view of processes.
pub(super) fn enter(plan: &Plan) -> Result<(), Fault> {
    let mut flags = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWIPC | CloneFlags::CLONE_NEWUTS;
    if !plan.network {
        flags |= CloneFlags::CLONE_NEWNET;
    }
    if is_administrator()? {
        return unshare(flags).map_err(Fault::at_call("make namespaces"));
    }
    let (user, group) = (geteuid(), getegid());
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

/// Whether namespaces can be made without one of users, which would take away files of others in the project.
fn is_administrator() -> Result<bool, Fault> {
    let own = capabilities(None).map_err(Fault::at("read capabilities"))?;
    Ok(geteuid().is_root()
        && own.effective.contains(CapabilitySet::SYS_ADMIN | CapabilitySet::SETPCAP))
}

/// Is the first process: makes the files, confines itself, starts the program, and collects orphans until it ends.
pub(super) fn init(mut below: Below, program: &[OsString]) -> Result<u8, Fault> {
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(Fault::at("be bound to the launcher"))?;
    if let Some(place) = mounts::make(&below.plan)? {
        below.tell(Standing::Raced)?;
        return Err(guards::moved(&place));
    }
    confine::confine(&below.plan)?;
    below.tell(Standing::Stands)?;
    let mut command = confine::command(&below.plan, program)?;
    // Who signals or slows down its own group does not meet the launcher.
    command.process_group(0);
    let start = confine::start_of(&below.plan, command.get_program());
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
