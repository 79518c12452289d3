//! One call of a tool, from its arguments to its answer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResult, ProgressNotificationParam};
use rmcp::service::RequestContext;
use rye_caps::Primary;
use rye_resolve::ItemKind;
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;

use super::arguments::{Request, Waits, request};
use super::host::ServerHost;
use super::results::{answer, broken, executed, misfit};
use super::runs::{Running, Runs, or_failed};
use super::tools::Offered;
use crate::primary::{Asked, ExecuteRequest, PrimaryError, execute, fetch, sign};

/// What a call works with.
pub(super) struct Call<'a> {
    pub(super) host: &'a Arc<ServerHost>,
    pub(super) runs: &'a Runs,
    pub(super) context: RequestContext<RoleServer>,
}

impl Call<'_> {
    /// Answers, whatever happens: what fails is an answer too, for the client's model to read.
    pub(super) async fn answered(self, offered: &Offered, arguments: Value) -> CallToolResult {
        let problems = offered.problems(&arguments);
        if !problems.is_empty() {
            return misfit(&problems);
        }
        match request(offered.operation, arguments) {
            Ok(Request::Fork { request, waits }) => or_failed(self.forked(request, waits).await),
            Ok(Request::ThreadStatus { thread, seconds }) => {
                let wait = Duration::from_secs(seconds);
                match self.runs.find(&thread) {
                    Ok(running) => running.status(wait).await,
                    Err(error) => or_failed(Err(error)),
                }
            }
            Ok(Request::ThreadCancel(thread)) => or_failed(self.cancelled(&thread).await),
            Ok(request) => self.done(request).await,
            Err(error) => or_failed(Err(error)),
        }
    }

    /// Does what a thread of the system can do: files are read, and a panic must not take the answer with it.
    async fn done(self, request: Request) -> CallToolResult {
        let (host, runtime) = (Arc::clone(self.host), Handle::current());
        let stopped = self.context.ct.clone();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    result = primary(&host, request) => or_failed(result),
                    // Nobody reads the answer to a call that was cancelled.
                    () = stopped.cancelled() => broken(),
                }
            })
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| broken())
    }

    /// Runs a directive as a thread, and tells how far it is to whoever waits.
    async fn forked(
        self,
        request: ExecuteRequest,
        waits: Waits,
    ) -> Result<CallToolResult, PrimaryError> {
        let may = self.host.caller();
        may.permit(Primary::Execute, ItemKind::Directive, &request.id)?;
        let (running, lines) = self.runs.start(self.host, request)?;
        match waits {
            Waits::No => Ok(running.status(Duration::ZERO).await),
            Waits::ForTheEnd => Ok(self.waited(running, lines).await),
        }
    }

    async fn waited(
        self,
        mut running: Running,
        mut lines: UnboundedReceiver<String>,
    ) -> CallToolResult {
        let (cancel, mut told) = (running.cancel.clone(), 1_u32);
        // Whoever stops waiting can ask about it later.
        self.tell(told, format!("thread {}", running.thread)).await;
        loop {
            tokio::select! {
                biased;
                () = self.context.ct.cancelled(), if !cancel.is_cancelled() => cancel.interrupt(),
                Some(line) = lines.recv() => {
                    told += 1;
                    self.tell(told, line).await;
                }
                result = running.end() => return result,
            }
        }
    }

    /// Progress goes to those who asked for it, in numbers that grow.
    async fn tell(&self, told: u32, line: String) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let progress = ProgressNotificationParam::new(token, f64::from(told)).with_message(line);
        // A client that has gone is noticed elsewhere.
        drop(self.context.peer.notify_progress(progress).await);
    }

    async fn cancelled(
        self,
        thread: &rye_thread::ThreadId,
    ) -> Result<CallToolResult, PrimaryError> {
        let mut running = self.runs.find(thread)?;
        running.cancel.cancel();
        Ok(running.end().await)
    }
}

async fn primary(host: &ServerHost, request: Request) -> Result<CallToolResult, PrimaryError> {
    let (rye, caller) = (host.rye()?, host.caller());
    match request {
        Request::Execute(request) => Ok(executed(&execute(&rye, &request, &caller).await?)),
        Request::Items(Asked::Sign(request)) => {
            caller.permit(Primary::Sign, request.kind, &request.id)?;
            let key = host.key()?.ok_or(PrimaryError::NoKey)?;
            let at = host.clock.now().timestamp();
            Ok(answer(sign(&rye, &request, &key, at, &caller)?.to_json()))
        }
        Request::Items(Asked::Read(request)) => {
            Ok(answer(fetch(&rye, &request, &caller)?.to_json()))
        }
        Request::Fork { .. } | Request::ThreadCancel(_) | Request::ThreadStatus { .. } => {
            Err(PrimaryError::usage("threads are not dealt with here"))
        }
    }
}
