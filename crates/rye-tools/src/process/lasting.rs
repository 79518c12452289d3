//! A program that goes on between calls, such as a server that is spoken to over its standard input and output.

use std::process::Stdio;

use tempfile::TempDir;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::host::Processes;
use super::job::{Job, StartError};
use super::run::{Guard, io};

/// A program under way, which ends with this value and everything that it started with it.
#[derive(Debug)]
pub(crate) struct Lasting {
    // Dropped in this order: the program is ended before its folder goes.
    _guard: Guard,
    child: Child,
    _scratch: TempDir,
}

/// What a program reads and writes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Processes {
    /// Starts a program in the same sandbox as those of calls; its `input` is not used, its `limit` is how long it may last.
    pub(crate) fn lasting(&self, job: &Job) -> Result<(Lasting, Pipes), StartError> {
        let mode = self.mode()?;
        self.refuse_links()?;
        let scratch = self.scratch()?;
        let plan = self.plan(mode, &scratch, job)?;
        let mut command = self.command(&plan, &job.words)?;
        command.stdin(Stdio::piped());
        let mut child = command.spawn().map_err(io("start the program"))?;
        let guard = Guard::over(&child, self.launcher().is_some());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else {
            return Err(io("start the program")(std::io::Error::other("it has no pipes")));
        };
        let lasting = Lasting { _guard: guard, child, _scratch: scratch };
        Ok((lasting, Pipes { stdin, stdout, stderr }))
    }
}

impl Lasting {
    /// Whether it has ended, as far as that is known without waiting.
    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}
