//! The supervisor: the process between the caller and the program. No process of the program outlives it.
//!
//! It has a single thread, because only a process with one thread can enter namespaces and fork. It waits for
//! signals on a descriptor.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, close, dup2_stdin, getppid};

use rye_types::SandboxMode;

use super::account::Account;
use super::control_group::ControlGroup;
use super::fault::Fault;
use super::handover::{self, Channel, Inherited, SandboxProcess, SetupReport};
use super::launch_protocol::{self, CONFINE, LAUNCH};
use super::project_check::ProjectCheck;
use super::usage::UsageWatch;
use super::{Layout, Plan, bubblewrap, confine, descendants, init, launcher};
use crate::call_folder::Notes;
use crate::temporary;

/// The interval of the checks for the caller.
const LOOK: Duration = Duration::from_millis(50);

/// Reads the plan, runs the program to its end, checks the project, and writes the account for the caller.
pub(super) fn supervise(program: &[OsString]) -> Result<u8, Fault> {
    close_all_but(None);
    let caller = getppid();
    let signals = block_signals()?;
    prctl::set_child_subreaper(true).map_err(Fault::at("take in orphans"))?;
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let input = input.map_err(Fault::at("read the plan"))?;
    let mut plan = Plan::read(File::from(input)).map_err(Fault::at("read the plan"))?;
    let notes = Notes::open(&plan.scratch).map_err(Fault::at("find the folder of the call"))?;
    notes.hold();
    plan.project.open().map_err(Fault::at("find the project"))?;
    let _tools = hold_tools_lock(&plan, caller)?;
    let mut account = Account::default();
    let done = supervise_program((&mut plan, &notes), program, (caller, &signals), &mut account);
    if plan.is_awaited {
        // A caller that has abandoned the call has removed the folder.
        let _left = account.write(&notes);
    }
    done
}

/// Shares the lock for the tools of a thread tree. If the caller was killed before, nothing is started,
/// because another process may already have stopped waiting for this lock.
fn hold_tools_lock(plan: &Plan, caller: Pid) -> Result<Option<File>, Fault> {
    let Some(path) = &plan.tools_lock else { return Ok(None) };
    let file = temporary::open_lock(path).map_err(Fault::at("lock the tools of the thread"))?;
    if getppid() == caller {
        Ok(Some(file))
    } else {
        Err(Fault::new("start", "its caller is gone"))
    }
}

fn supervise_program(
    (plan, notes): (&mut Plan, &Notes),
    program: &[OsString],
    (caller, signals): (Pid, &SignalFd),
    account: &mut Account,
) -> Result<u8, Fault> {
    let mut aftermath = ProjectCheck::begin(plan, account)?;
    let group = ControlGroup::make(plan.bounds).and_then(|group| group.enter().ok());
    let mut usage = UsageWatch::new(plan.bounds, group);
    let begun = Instant::now();
    let (child, heard) = match begin(plan, (&mut aftermath, account), program) {
        Ok(begun) => begun,
        Err(fault) => {
            aftermath.end_without_program(account)?;
            return Err(fault);
        }
    };
    let mut watch = RunningProgram {
        plan,
        caller,
        child,
        ended: None,
        left: None,
        asked: None,
        begun,
        usage: &mut usage,
    };
    let status = watch.until_end(signals);
    watch.kill_all();
    if plan.is_awaited {
        // A caller that has abandoned the call has removed the folder.
        let _left = notes.write(Notes::ENDED, b"", 0o600);
    }
    let is_ended = watch.asked.is_some() || watch.left.is_some() || watch.is_over();
    let is_ended = is_ended || usage.exceeded_bound().is_some();
    let standing = handover::read_report(heard);
    if let Some(SetupReport::Complete(landlock)) = standing {
        (account.is_started, account.landlock) = (true, landlock);
    }
    // bubblewrap mounts by path and cannot distinguish a race from another problem.
    account.is_raced = match standing {
        Some(SetupReport::Complete(_)) => false,
        Some(SetupReport::Raced) => true,
        None => plan.mode == SandboxMode::Bubblewrap && !is_ended,
    };
    let is_heard = plan.is_awaited && getppid() == caller && notes.exists(Notes::AWAITED);
    aftermath.end(is_heard, account)?;
    match usage.exceeded_bound() {
        None => Ok(exit_code(status?)),
        Some(bound) => Err(Fault::new("go on with the program", bound.describe(plan.bounds))),
    }
}

/// Surveys the project and starts the process that makes the sandbox. Returns the process, and the pipe with
/// its report.
fn begin(
    plan: &mut Plan,
    (aftermath, account): (&mut ProjectCheck, &Account),
    program: &[OsString],
) -> Result<(Pid, OwnedFd), Fault> {
    let repositories = aftermath.survey(account)?;
    if plan.mode.is_whole() {
        plan.layout = Layout::new(plan.project(), repositories, &plan.kept, &plan.hidden);
    }
    // A program could lock the notes, and no other could start then.
    plan.hidden.extend(plan.journal.as_ref().and_then(|notes| notes.canonicalize().ok()));
    let channel = Channel::new()?;
    let child = match plan.mode {
        SandboxMode::Bubblewrap => start_bubblewrap(plan, channel.standing, program)?,
        SandboxMode::Namespaces | SandboxMode::Landlock | SandboxMode::None => {
            split(plan, channel.standing, program)?
        }
    };
    Ok((child, channel.heard))
}

/// Closes the inherited descriptors, except for the first three and `kept`.
fn close_all_but(kept: Option<i32>) {
    let listed = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> =
        listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    for number in numbers.into_iter().filter(|number| *number > 2 && Some(*number) != kept) {
        // The descriptor of the listing is already closed.
        let _gone = close(number);
    }
}

/// Blocks signals and returns a descriptor to read them. The process that becomes the program unblocks them.
fn block_signals() -> Result<SignalFd, Fault> {
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

/// Starts bubblewrap, which makes the sandbox and starts this program again in it.
#[expect(clippy::disallowed_methods, reason = "this crate is the one that starts processes")]
fn start_bubblewrap(plan: &Plan, standing: OwnedFd, program: &[OsString]) -> Result<Pid, Fault> {
    let inherited = Inherited::new(plan, standing)?;
    let (bubblewrap, words) = bubblewrap::words(plan)?;
    let words = handover::inheritable_file(&words).map_err(Fault::at("tell bubblewrap"))?;
    let mut command = Command::new(&bubblewrap);
    command.arg("--args").arg(handover::name(&words)).arg("--");
    command.arg(launcher::by_number(&inherited.launcher)).args([LAUNCH, CONFINE]);
    let numbers = [&inherited.plan, &inherited.standing, &inherited.launcher].map(handover::name);
    command.args(numbers).args(program);
    if !plan.reads_input {
        command.stdin(Stdio::null());
    }
    let child = command.spawn();
    let child = child.map_err(Fault::at(&format!("start `{}`", bubblewrap.display())))?;
    Ok(Pid::from_raw(i32::try_from(child.id()).unwrap_or(0)))
}

/// Forks this process, which is much faster than starting this program again. The new process makes the
/// sandbox.
fn split(plan: &Plan, standing: OwnedFd, program: &[OsString]) -> Result<Pid, Fault> {
    // A lock of another thread would stay locked in the new process for ever.
    let threads = std::fs::read_dir("/proc/self/task").map_err(Fault::at("count threads"))?;
    if threads.count() != 1 {
        return Err(Fault::new("start", "the launcher has more than one thread"));
    }
    if plan.mode == SandboxMode::Namespaces {
        init::enter(plan)?;
    }
    match fork::fork().map_err(Fault::at_call("start a process"))? {
        fork::Fork::Parent(child) => Ok(Pid::from_raw(child)),
        fork::Fork::Child => become_below(plan, standing, program),
    }
}

/// Runs the new process to its end. It exits here, because it must not drop the supervisor's locks and
/// groups.
#[expect(clippy::exit, reason = "the values of the supervisor must not be dropped here")]
fn become_below(plan: &Plan, standing: OwnedFd, program: &[OsString]) -> ! {
    close_all_but(Some(standing.as_raw_fd()));
    let below = SandboxProcess::new(plan.clone(), standing);
    let done = without_input(plan).and_then(|()| match plan.mode.is_whole() {
        true => init::init(below, program),
        false => confine::become_program(below, program),
    });
    std::process::exit(launch_protocol::code(done).into())
}

/// Closes standard input, unless the program reads it.
fn without_input(plan: &Plan) -> Result<(), Fault> {
    if plan.reads_input {
        return Ok(());
    }
    let null = File::open("/dev/null").map_err(Fault::at("open `/dev/null`"))?;
    dup2_stdin(null).map_err(Fault::at("close standard input"))
}

/// A running program.
struct RunningProgram<'a> {
    plan: &'a Plan,
    caller: Pid,
    child: Pid,
    ended: Option<ExitStatus>,
    /// The time when the caller gave up the program and left it to end by itself.
    left: Option<Instant>,
    /// The time when the program was asked to end.
    asked: Option<Instant>,
    begun: Instant,
    usage: &'a mut UsageWatch,
}

impl RunningProgram<'_> {
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
            let pause = self.usage.pause().min(LOOK);
            match poll(&mut polled, PollTimeout::try_from(pause).unwrap_or(PollTimeout::ZERO)) {
                Ok(_) | Err(Errno::EINTR) => {}
                Err(error) => return Err(Fault::new("wait for the program", error)),
            }
            while let Ok(Some(signal)) = signals.read_signal() {
                self.handle_signal(i32::try_from(signal.ssi_signo).unwrap_or(0));
            }
            if self.left.is_some_and(|left| self.is_grace_over(left)) && self.asked.is_none() {
                self.ask();
            }
            if self.is_over() || self.usage.look() {
                self.kill_all();
            }
        }
    }

    /// Ends the program. In a namespace, the kernel ends all processes with the first one, however fast they
    /// multiply.
    fn kill_all(&mut self) {
        if self.plan.mode.is_whole() && self.ended.is_none() {
            let _gone = kill(self.child, Signal::SIGKILL);
        }
        descendants::kill_all(|| self.reap());
    }

    /// Collects the children that ended, including adopted orphans. Returns `true` if no child is left.
    fn reap(&mut self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.child => {
                    self.ended = Some(ExitStatus::from_raw((code & 0xff) << 8));
                }
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.child => {
                    self.ended = Some(ExitStatus::from_raw(signal as i32));
                }
                Ok(WaitStatus::StillAlive) => return false,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return true,
            }
        }
    }

    fn handle_signal(&mut self, signal: i32) {
        if signal == Signal::SIGHUP as i32 {
            self.kill_all();
        } else if signal == Signal::SIGUSR1 as i32 {
            self.left.get_or_insert_with(Instant::now);
        } else if signal != Signal::SIGCHLD as i32 && self.asked.is_none() {
            self.ask();
        }
    }

    /// Asks all processes of the program to end. The first process of a whole sandbox belongs to the sandbox
    /// and ends with them.
    fn ask(&mut self) {
        self.asked = Some(Instant::now());
        let own = self.plan.mode.is_whole().then_some(self.child);
        for id in descendants::living().into_iter().map(Pid::from_raw) {
            if Some(id) == own {
                continue;
            }
            let _gone = kill(id, Signal::SIGTERM);
        }
    }

    fn is_over(&self) -> bool {
        // A caller that gave up the program may end too. The rest of the program still has its time.
        (getppid() != self.caller && self.left.is_none())
            || self.begun.elapsed() >= Duration::from_millis(self.plan.deadline_ms)
            || self.asked.is_some_and(|asked| self.is_grace_over(asked))
    }

    fn is_grace_over(&self, since: Instant) -> bool {
        since.elapsed() >= Duration::from_millis(self.plan.grace_ms)
    }
}

/// Returns the program's exit code, or 128 plus the number of its signal, as in shells.
fn exit_code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}
