//! The descriptors by which the supervisor and the process below it talk: upward that the sandbox stands, and downward the plan, if
//! that process is a program that was started.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use nix::unistd::close;
use rustix::fs::{MemfdFlags, OFlags, fcntl_getfl, fcntl_setfl, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};

use super::Plan;
use super::fault::Fault;

/// A file in memory that the next process inherits.
pub(super) fn inherited(content: &[u8]) -> io::Result<OwnedFd> {
    let memory = memfd_create("rye", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(memory);
    file.write_all(content)?;
    io::Seek::rewind(&mut file)?;
    fcntl_setfd(&file, FdFlags::empty())?;
    Ok(file.into())
}

/// The word by which a descriptor is named to the next process.
pub(super) fn name(descriptor: &impl AsFd) -> OsString {
    descriptor.as_fd().as_raw_fd().to_string().into()
}

/// The pipe by which the supervisor hears of the sandbox.
#[derive(Debug)]
pub(super) struct Channel {
    /// Where the process that makes the sandbox says that it stands.
    pub(super) standing: OwnedFd,
    /// Where that is read.
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

/// What a program inherits that makes the sandbox, and finds by the numbers on its command line.
#[derive(Debug)]
pub(super) struct Inherited {
    /// The plan, as a file in memory.
    pub(super) plan: OwnedFd,
    pub(super) standing: OwnedFd,
}

impl Inherited {
    pub(super) fn new(plan: &Plan, standing: OwnedFd) -> Result<Self, Fault> {
        let text = serde_json::to_vec(plan).map_err(Fault::at("write the plan"))?;
        let plan = inherited(&text).map_err(Fault::at("write the plan"))?;
        fcntl_setfd(&standing, FdFlags::empty()).map_err(Fault::at("make a pipe"))?;
        Ok(Self { plan, standing })
    }
}

/// The word of the process that makes the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Standing {
    /// It stands, and the program starts.
    Stands,
    /// What was to be guarded was moved in that moment, so that no program starts.
    Raced,
}

/// Reads whether the sandbox stood. `None` is said by a process that could not make it.
pub(super) fn heard(from: OwnedFd) -> Option<Standing> {
    let mut text = Vec::new();
    let mut byte = [0];
    let mut pipe = File::from(from);
    while pipe.read(&mut byte).is_ok_and(|count| count == 1) && byte != [b'\n'] {
        text.extend_from_slice(&byte);
    }
    serde_json::from_slice(&text).ok()
}

/// The side of the process that makes the sandbox.
#[derive(Debug)]
pub(super) struct Below {
    pub(super) plan: Plan,
    standing: File,
}

impl Below {
    /// The side of a process that has the plan in its memory.
    pub(super) fn new(plan: Plan, standing: OwnedFd) -> Self {
        Self { plan, standing: standing.into() }
    }

    /// Takes over what the supervisor opened, by the numbers on the command line, and hands it on to no other program.
    pub(super) fn take(plan: &OsString, standing: &OsString) -> Result<Self, Fault> {
        let number = |word: &OsString| {
            let number = word.to_str().and_then(|text| text.parse::<i32>().ok());
            number.filter(|number| *number > 2).ok_or_else(|| Fault::new("start", "it is misused"))
        };
        let (plan, standing) = (number(plan)?, number(standing)?);
        let path = |number: i32| format!("/proc/self/fd/{number}");
        let text = fs::read(path(plan)).map_err(Fault::at("read the plan"))?;
        let pipe = OpenOptions::new().write(true).open(path(standing));
        let pipe = pipe.map_err(Fault::at("answer the launcher"))?;
        for number in [plan, standing] {
            close(number).map_err(Fault::at("close a descriptor"))?;
        }
        let plan = serde_json::from_slice(&text).map_err(Fault::at("read the plan"))?;
        Ok(Self { plan, standing: pipe })
    }

    /// Says whether the sandbox stands.
    pub(super) fn tell(&mut self, standing: Standing) -> Result<(), Fault> {
        let text = serde_json::to_string(&standing);
        let text = text.map_err(Fault::at("answer the launcher"))? + "\n";
        self.standing.write_all(text.as_bytes()).map_err(Fault::at("answer the launcher"))
    }
}
