//! Programs that run across several calls: servers that communicate over standard input and output.

use std::io;
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};

use super::host::Processes;
use super::job::{Job, StartError, io_error};
use super::run::{SAID, last_line};
use super::termination::Guard;
use crate::call_folder::CallFolder;
use crate::{Cover, GRACE, Plan};

/// A running server. Dropping it ends the server with everything that it started. First its input ends. If it
/// continues, it is asked to end, and then it is killed, each after a while.
#[derive(Debug)]
pub struct ServerProcess {
    // The fields are dropped in this order, so that the program ends before its folder is removed.
    guard: Guard,
    child: Option<Child>,
    folder: Option<CallFolder>,
    input: Input,
    cover: Cover,
}

/// The standard input of a program, shared by its writer and the code that ends the program.
#[derive(Debug, Clone)]
pub struct Input(Arc<Mutex<Option<ChildStdin>>>);

/// The standard streams of a program.
#[derive(Debug)]
#[non_exhaustive]
pub struct Pipes {
    /// The standard input.
    pub stdin: Input,
    /// The standard output.
    pub stdout: ChildStdout,
    /// The standard error.
    pub stderr: ChildStderr,
}

impl Processes {
    /// Starts a server in the same sandbox as the programs of calls. The `input` of the job is ignored. Its
    /// `limit` is the longest lifetime.
    ///
    /// # Errors
    ///
    /// [`StartError`] if the server was not started.
    pub async fn start_server(&self, job: &Job) -> Result<(ServerProcess, Pipes), StartError> {
        let mode = self.mode()?;
        self.prepare_project(mode)?;
        let folder = self.call_folder()?;
        let plan = self.plan_of(mode, &folder, job)?;
        // A server may serve threads of several trees, and ends with the last one.
        let plan = Plan { is_awaited: false, reads_input: true, tools_lock: None, ..plan };
        let mut command = self.command(&plan, &job.words)?;
        command.stdin(Stdio::piped());
        let mut child = command.spawn().map_err(io_error("start the program"))?;
        let guard = Guard::over(&child, self.launcher().is_some());
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(mut stdin), Some(stdout), Some(mut stderr)) = pipes else {
            return Err(io_error("start the program")(io::Error::other("it has no pipes")));
        };
        let begin = self.input(&plan, None)?.unwrap_or_default();
        if let Err(error) = stdin.write_all(&begin).await {
            return Err(refusal(&plan, &mut stderr, error).await);
        }
        let input = Input(Arc::new(Mutex::new(Some(stdin))));
        let pipes = Pipes { stdin: input.clone(), stdout, stderr };
        let child = Some(child);
        let folder = Some(folder);
        let cover = Cover::of(&plan);
        Ok((ServerProcess { guard, child, folder, input, cover }, pipes))
    }
}

/// Returns the error of a launcher that ended before it had read its plan.
async fn refusal(plan: &Plan, stderr: &mut ChildStderr, error: io::Error) -> StartError {
    let mut said = Vec::new();
    let most = u64::try_from(SAID).unwrap_or(u64::MAX);
    let read = tokio::time::timeout(GRACE, stderr.take(most).read_to_end(&mut said)).await;
    let said = String::from_utf8_lossy(&said);
    match last_line(&said) {
        problem if matches!(read, Ok(Ok(_))) && !problem.is_empty() => {
            let problem = problem.to_owned();
            let account = Box::default();
            StartError::Sandbox { mode: plan.mode, problem, is_raced: false, account }
        }
        _ => io_error("start the program")(error),
    }
}

impl ServerProcess {
    /// Returns `true` if the program is known to have ended, without waiting.
    pub fn has_ended(&mut self) -> bool {
        !self.child.as_mut().is_some_and(|child| matches!(child.try_wait(), Ok(None)))
    }

    /// Returns a hint if the standard error of the server says that it lacks something because of its sandbox.
    #[must_use]
    pub fn hint(&self, stderr: &str) -> Option<String> {
        self.cover.hint(stderr)
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        drop(self.input.0.lock().unwrap_or_else(PoisonError::into_inner).take());
        self.guard.part();
        let child = self.child.take();
        let folder = self.folder.take();
        // Without a runtime that could wait, the folder is removed at once.
        if let (Some(mut child), Ok(runtime)) = (child, tokio::runtime::Handle::try_current()) {
            runtime.spawn(async move {
                let _ended = tokio::time::timeout(3 * GRACE, child.wait()).await;
                drop(folder);
            });
        }
    }
}

impl Input {
    /// Calls `work` with the pipe, or fails if it is closed.
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
