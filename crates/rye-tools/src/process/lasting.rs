//! A program that goes on between calls, such as a server that is spoken to over its standard input and output.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::ending::Guard;
use super::host::Processes;
use super::job::{Job, StartError};
use super::run::{SAID, io as failed, last_line};
use crate::TemporaryFolder;
use crate::sandbox::{GRACE, Plan};

/// A program under way, which ends with this value and everything that it started with it: its input ends first, and what goes
/// on all the same is asked to end and then made to, each after a while.
#[derive(Debug)]
pub(crate) struct Lasting {
    // Dropped in this order: the program is ended before its folder goes.
    guard: Guard,
    child: Option<Child>,
    scratch: Option<TemporaryFolder>,
    input: Input,
}

/// What a program reads, for whoever writes it and for whoever ends it.
#[derive(Debug, Clone)]
pub(crate) struct Input(Arc<Mutex<Option<ChildStdin>>>);

/// What a program reads and writes.
#[derive(Debug)]
pub(crate) struct Pipes {
    pub(crate) stdin: Input,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Processes {
    /// Starts a program in the same sandbox as those of calls; its `input` is not used, its `limit` is how long it may last.
    pub(crate) async fn lasting(&self, job: &Job) -> Result<(Lasting, Pipes), StartError> {
        let mode = self.mode()?;
        self.prepare_project(mode)?;
        let scratch = self.scratch()?;
        let plan = self.plan_of(mode, &scratch, job)?;
        // A server may serve threads of several trees, and ends with its last one.
        let plan = Plan { is_awaited: false, reads_input: true, tools_lock: None, ..plan };
        let mut command = self.command(&plan, &job.words)?;
        command.stdin(Stdio::piped());
        let mut child = command.spawn().map_err(failed("start the program"))?;
        let guard = Guard::over(&child, self.launcher().is_some());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err(failed("start the program")(io::Error::other("it has no pipes")));
        };
        let begin = self.input(&plan, None)?.unwrap_or_default();
        if let Err(error) = stdin.write_all(&begin).await {
            return Err(refusal(&plan, &mut stderr, error).await);
        }
        let input = Input(Arc::new(Mutex::new(Some(stdin))));
        let pipes = Pipes { stdin: input.clone(), stdout, stderr };
        let (child, scratch) = (Some(child), Some(scratch));
        Ok((Lasting { guard, child, scratch, input }, pipes))
    }
}

/// Returns what a launcher says that ends before it has read its plan.
async fn refusal(plan: &Plan, stderr: &mut ChildStderr, error: io::Error) -> StartError {
    let mut said = Vec::new();
    let most = u64::try_from(SAID).unwrap_or(u64::MAX);
    let read = tokio::time::timeout(GRACE, stderr.take(most).read_to_end(&mut said)).await;
    let said = String::from_utf8_lossy(&said);
    match last_line(&said) {
        problem if matches!(read, Ok(Ok(_))) && !problem.is_empty() => {
            let (problem, account) = (problem.to_owned(), Box::default());
            StartError::Sandbox { mode: plan.mode, problem, is_raced: false, account }
        }
        _ => failed("start the program")(error),
    }
}

impl Lasting {
    /// Whether it has ended, as far as that is known without waiting.
    pub(crate) fn has_ended(&mut self) -> bool {
        !self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }
}

impl Drop for Lasting {
    fn drop(&mut self) {
        drop(self.input.0.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.guard.part();
        let (child, scratch) = (self.child.take(), self.scratch.take());
        // Where nothing goes on that could wait, the folder goes at once.
        if let (Some(mut child), Ok(runtime)) = (child, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                let _ended = tokio::time::timeout(3 * GRACE, child.wait()).await;
                drop(scratch);
            });
        }
    }
}

impl Input {
    /// Does something with what is written to, unless that has ended.
    fn with<T>(
        &self,
        work: impl FnOnce(Pin<&mut ChildStdin>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(stdin) => work(Pin::new(stdin)),
            None => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl AsyncWrite for Input {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.with(|stdin| stdin.poll_write(cx, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stdin| stdin.poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.with(|stdin| stdin.poll_shutdown(cx))
    }
}
