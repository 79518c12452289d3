//! The descriptors between the supervisor and the process that makes the sandbox. That process reports that
//! the sandbox is complete. It gets the plan if it is started as a program.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::unistd::close;
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use super::fault::Fault;
use super::{Plan, launcher};

/// Creates a file in memory that the next process inherits.
pub(super) fn inheritable_file(content: &[u8]) -> io::Result<OwnedFd> {
    let memory = memfd_create("rye", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(content)?;
    io::Seek::rewind(&mut file)?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file.into())
}

/// Returns the argument that names a descriptor for the next process.
pub(super) fn name(descriptor: &impl AsFd) -> OsString {
    descriptor.as_fd().as_raw_fd().to_string().into()
}

/// The pipe on which the supervisor is told about the sandbox.
#[derive(Debug)]
pub(super) struct Channel {
    /// The write end, for the process that makes the sandbox.
    pub(super) standing: OwnedFd,
    /// The read end.
    pub(super) heard: OwnedFd,
}

impl Channel {
    pub(super) fn new() -> Result<Self, Fault> {
        let (heard, standing) = pipe_with(PipeFlags::CLOEXEC).map_err(Fault::at("make a pipe"))?;
        let set =
            fcntl_getfl(&heard).and_then(|flags| fcntl_setfl(&heard, flags | OFlags::NONBLOCK));
        set.map_err(Fault::at("make a pipe"))?;
        Ok(Self { standing, heard })
    }
}

/// The descriptors that a started program inherits to make the sandbox. Their numbers are on its command
/// line.
#[derive(Debug)]
pub(super) struct Inherited {
    /// The plan, as a file in memory.
    pub(super) plan: OwnedFd,
    pub(super) standing: OwnedFd,
    /// The launcher, which is started by this number.
    pub(super) launcher: OwnedFd,
}

impl Inherited {
    pub(super) fn new(plan: &Plan, standing: OwnedFd) -> Result<Self, Fault> {
        let text = serde_json::to_vec(plan).map_err(Fault::at("write the plan"))?;
        let plan = inheritable_file(&text).map_err(Fault::at("write the plan"))?;
        fcntl_setfd(&standing, FdFlags::empty()).map_err(Fault::at("make a pipe"))?;
        let launcher = launcher::inheritable().map_err(Fault::at("open the launcher"))?.into();
        Ok(Self { plan, standing, launcher })
    }
}

/// The report of the process that makes the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum SetupReport {
    /// The sandbox is complete, with the rights of this version of Landlock given up. The program starts.
    Complete(u8),
    /// A protected place was moved during the start, so that no program starts.
    Raced,
}

/// Reads the report. Returns `None` if the sandbox could not be made.
pub(super) fn read_report(from: OwnedFd) -> Option<SetupReport> {
    let mut text = Vec::new();
    let mut byte = [0];
    let mut pipe = File::from(from);
    while pipe.read(&mut byte).is_ok_and(|count| count == 1) && byte != [b'\n'] {
        text.extend_from_slice(&byte);
    }
    serde_json::from_slice(&text).ok()
}

/// The state of the process that makes the sandbox.
#[derive(Debug)]
pub(super) struct SandboxProcess {
    pub(super) plan: Plan,
    standing: File,
}

impl SandboxProcess {
    /// Creates the state in a process that has the plan in memory.
    pub(super) fn new(plan: Plan, standing: OwnedFd) -> Self {
        Self { plan, standing: standing.into() }
    }

    /// Takes over the descriptors of the supervisor by the numbers on the command line. Other programs do not
    /// inherit them.
    pub(super) fn take(
        plan: &OsString,
        standing: &OsString,
        launcher: &OsString,
    ) -> Result<Self, Fault> {
        let number = |word: &OsString| {
            let number = word.to_str().and_then(|text| text.parse::<i32>().ok());
            number.filter(|number| *number > 2).ok_or_else(|| Fault::new("start", "it is misused"))
        };
        let plan = number(plan)?;
        let standing = number(standing)?;
        let launcher = number(launcher)?;
        let path = |number: i32| format!("/proc/self/fd/{number}");
        let text = fs::read(path(plan)).map_err(Fault::at("read the plan"))?;
        let pipe = OpenOptions::new().write(true).open(path(standing));
        let pipe = pipe.map_err(Fault::at("answer the launcher"))?;
        for number in [plan, standing, launcher] {
            close(number).map_err(Fault::at("close a descriptor"))?;
        }
        let plan = serde_json::from_slice(&text).map_err(Fault::at("read the plan"))?;
        Ok(Self { plan, standing: pipe })
    }

    /// Sends the report, closes the pipe, and returns the plan.
    ///
    /// A program in the sandbox can open the descriptors of this process below `/proc`. With the pipe open, it
    /// could take the report back or write another one.
    pub(super) fn tell(mut self, standing: SetupReport) -> Result<Plan, Fault> {
        let text = serde_json::to_string(&standing);
        let text = text.map_err(Fault::at("answer the launcher"))? + "\n";
        let written = self.standing.write_all(text.as_bytes());
        written.map_err(Fault::at("answer the launcher"))?;
        Ok(self.plan)
    }
}
