//! The process between the caller and the program: whatever happens, nothing of the program outlives it.
//!
//! It has one thread, because namespaces are entered by processes that have one, and waits on a descriptor for signals.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, killpg};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, close, getpgrp, getppid};

use super::fault::Fault;
use super::launch::{CONFINE, INIT, LAUNCH};
use super::stand_in::StandIn;
use super::{Mode, Plan, bubblewrap, descendants, init};

/// How often it looks whether its caller is still there.
const LOOK: u16 = 100;

pub(super) fn supervise(plan: &Plan, program: &[OsString]) -> Result<ExitCode, Fault> {
    close_inherited();
    let caller = getppid();
    let signals = blocked()?;
    prctl::set_child_subreaper(true).map_err(Fault::at("take in orphans"))?;
    let mut plan = plan.clone();
    let stand_in = StandIn::make(&mut plan);
    let plan = &plan;
    let child = start(plan, program)?;
    let begun = Instant::now();
    let mut watch = Watch { plan, caller, child, ended: None, left: None, asked: None, begun };
    let status = watch.until_end(&signals);
    watch.kill_all();
    drop(stand_in);
    Ok(exit_code(status?))
}

/// Descriptors that the caller inherited from its own caller are nobody's business below.
fn close_inherited() {
    let listed = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> =
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2) {
        // The one of the listing itself is closed by now.
        let _gone = close(number);
    }
}

/// Signals wait to be read; whoever becomes the program takes them again.
fn blocked() -> Result<SignalFd, Fault> {
    let mut set = SigSet::empty();
    for signal in
        [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT, Signal::SIGUSR1]
    {
        set.add(signal);
    }
    set.thread_block().map_err(Fault::at("hold back signals"))?;
    SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)
        .map_err(Fault::at("listen for signals"))
}

#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
fn start(plan: &Plan, program: &[OsString]) -> Result<Child, Fault> {
    let launcher = std::env::current_exe().map_err(Fault::at("find the launcher"))?;
    let stage = |name: &str| -> Result<Vec<OsString>, Fault> {
        let plan = serde_json::to_string(plan).map_err(Fault::at("write the plan"))?;
        let words = [launcher.clone().into(), LAUNCH.into(), name.into(), plan.into()];
        Ok(words.into_iter().chain(program.iter().cloned()).collect())
    };
    let words: Vec<OsString> = match plan.mode {
        Mode::Bubblewrap => {
            let words = bubblewrap::words(plan, &launcher)?;
            words.into_iter().chain(stage(CONFINE)?).collect()
        }
        Mode::Namespaces => {
            init::enter(plan)?;
            stage(INIT)?
        }
        Mode::Landlock | Mode::None => stage(CONFINE)?,
    };
    let (name, arguments) = words.split_first().ok_or_else(|| Fault::new("start", "no program"))?;
    Command::new(name)
        .args(arguments)
        .spawn()
        .map_err(Fault::at(&format!("start `{}`", name.display())))
}

/// A program under way.
struct Watch<'a> {
    plan: &'a Plan,
    caller: Pid,
    child: Child,
    ended: Option<ExitStatus>,
    /// When the caller left, and the program to itself.
    left: Option<Instant>,
    /// When the program was asked to end.
    asked: Option<Instant>,
    begun: Instant,
}

impl Watch<'_> {
    fn until_end(&mut self, signals: &SignalFd) -> Result<ExitStatus, Fault> {
        loop {
            let is_childless = self.reap();
            match self.ended {
                Some(status) => return Ok(status),
                None if is_childless => {
                    return Err(Fault::new("wait for the program", "it is gone"));
                }
                None => {}
            }
            let mut polled = [PollFd::new(signals.as_fd(), PollFlags::POLLIN)];
            match poll(&mut polled, PollTimeout::from(LOOK)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(Fault::new("wait for the program", error)),
            }
            while let Ok(Some(signal)) = signals.read_signal() {
                self.heard(i32::try_from(signal.ssi_signo).unwrap_or(0));
            }
            if self.left.is_some_and(|left| self.is_grace_over(left)) && self.asked.is_none() {
                self.ask();
            }
            if self.is_over() || self.is_too_many() {
                self.kill_all();
            }
        }
    }

    fn kill_all(&mut self) {
        descendants::kill_all(|| self.reap());
    }

    /// Collects all that ended, orphans that were taken in among them, and says whether no child is left.
    fn reap(&mut self) -> bool {
        let own = i32::try_from(self.child.id()).unwrap_or(0);
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid.as_raw() == own => {
                    self.ended = Some(ExitStatus::from_raw((code & 0xff) << 8));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid.as_raw() == own => {
                    self.ended = Some(ExitStatus::from_raw(signal as i32));
                }
                Ok(WaitStatus::StillAlive) => return false,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn heard(&mut self, signal: i32) {
        if signal == Signal::SIGHUP as i32 {
            self.kill_all();
        } else if signal == Signal::SIGUSR1 as i32 {
            self.left.get_or_insert_with(Instant::now);
        } else if signal != Signal::SIGCHLD as i32 && self.asked.is_none() {
            self.ask();
        }
    }

    /// Asks the whole group; this process is of it, and holds the signal back.
    fn ask(&mut self) {
        self.asked = Some(Instant::now());
        let _gone = killpg(getpgrp(), Signal::SIGTERM);
    }

    /// Where the system does not bound how many processes there are: it does not for root, and bubblewrap's are not ours.
    fn is_too_many(&self) -> bool {
        let is_bounded = self.plan.mode == Mode::Namespaces;
        let most = usize::try_from(self.plan.processes).unwrap_or(usize::MAX);
        !is_bounded && descendants::living().len() > most
    }

    fn is_over(&self) -> bool {
        // A caller that left may end, too; what is left of the program has its time all the same.
        (getppid() != self.caller && self.left.is_none())
            || self.begun.elapsed() >= Duration::from_millis(self.plan.deadline_ms)
            || self.asked.is_some_and(|asked| self.is_grace_over(asked))
    }

    fn is_grace_over(&self, since: Instant) -> bool {
        since.elapsed() >= Duration::from_millis(self.plan.grace_ms)
    }
}

/// The program's own code, or 128 and its signal, as shells have it.
fn exit_code(status: ExitStatus) -> ExitCode {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
