//! One call of a tool, from its arguments to its answer.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{CallToolResponse, CallToolResult};
use rmcp::service::RequestContext;
use rye_caps::Primary;
use rye_project::primary::{Asked, ExecuteRequest, PrimaryError, check, execute, fetch, sign};
use rye_resolve::ItemId;
use rye_sign::Digest;
use rye_thread::ThreadReference;
use rye_types::ItemKind;
use serde_json::{Map, Value};
use tokio::runtime::Handle;

use super::arguments::{Request, request};
use super::error::RequestError;
use super::explaining::explain;
use super::host::ServerHost;
use super::request_state::RequestStates;
use super::results::{
    answer, broken_result, error_result, execution_result, misfit, present_state,
};
use super::runs::{Running, Runs, or_failed};
use super::tools::Offered;

/// The parts that a call works with.
pub(super) struct Call<'a> {
    pub(super) host: &'a Arc<ServerHost>,
    pub(super) runs: &'a Runs,
    pub(super) states: &'a RequestStates,
    /// The digest over the client, the tool and its arguments.
    pub(super) digest: Digest,
    /// `true` for a tool that is a directive, whose result is the outputs.
    pub(super) is_directive: bool,
    pub(super) context: RequestContext<RoleServer>,
}

impl Call<'_> {
    /// Answers, whatever happens: what fails is an answer too, for the client's model to read.
    pub(super) async fn answer(self, offered: &Offered, arguments: Value) -> CallToolResponse {
        let problems = offered.problems(&arguments);
        if !problems.is_empty() {
            return misfit(&problems).into();
        }
        let result = match request(offered.operation, arguments) {
            Ok(Request::Fork { request, waits }) => {
                let forked = self.start_directive(request, waits).await;
                return forked.unwrap_or_else(|error| error_result(&error).into());
            }
            Ok(Request::ThreadStatus { thread, seconds }) => {
                let wait = Duration::from_secs(seconds);
                match self.runs.find(&thread) {
                    Ok(running) => self.status(running, wait).await,
                    Err(error) => or_failed(Err(error)),
                }
            }
            Ok(Request::ThreadCancel(thread)) => or_failed(self.cancel_thread(&thread).await),
            Ok(request) => self.perform(request).await,
            Err(error) => or_failed(Err(error.into())),
        };
        result.into()
    }

    /// Does what a thread of the system can do: files are read, and a panic must not take the answer with it.
    async fn perform(self, request: Request) -> CallToolResult {
        let host = Arc::clone(self.host);
        let runtime = Handle::current();
        let stopped = self.context.ct.clone();
        let work = move || {
            runtime.block_on(async {
                tokio::select! {
                    result = primary(&host, request) => or_failed(result),
                    // No client reads the answer to a call that was cancelled.
                    () = stopped.cancelled() => broken_result(),
                }
            })
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| broken_result())
    }

    /// Returns the result of a thread. A thread that waited may have changed since, by the operator's
    /// decision or by a resumed run. The result then has its present state.
    async fn status(&self, running: Running, wait: Duration) -> CallToolResult {
        let result = running.clone().status(wait).await;
        if !running.waits() {
            return result;
        }
        let host = Arc::clone(self.host);
        let thread = running.thread.clone();
        let stands = move || host.rye().ok()?.stands(&thread);
        match tokio::task::spawn_blocking(stands).await {
            Ok(Some(now)) => present_state(&running.thread, &now, result),
            _ => result,
        }
    }

    async fn cancel_thread(
        self,
        reference: &ThreadReference,
    ) -> Result<CallToolResult, RequestError> {
        loop {
            let mut running = self.runs.find(reference)?;
            running.cancel.cancel();
            let ended = running.end().await;
            if !ended.waits {
                return Ok(ended.result);
            }
            self.runs.end_waiting(self.host, &running.thread);
        }
    }
}

/// Runs the directive `id` as `rye_execute` does, with these arguments as its inputs.
pub(super) fn directive_request(id: ItemId, inputs: Map<String, Value>) -> ExecuteRequest {
    ExecuteRequest::new(ItemKind::Directive, id).with(inputs)
}

async fn primary(host: &ServerHost, request: Request) -> Result<CallToolResult, RequestError> {
    let caller = host.caller();
    match request {
        Request::Execute(request) => {
            let rye = host.rye()?;
            Ok(execution_result(&execute(&rye, &request, &caller).await?))
        }
        Request::Items(Asked::Sign(request)) => {
            caller.permit(Primary::Sign, request.kind, &request.id)?;
            let key = host.key()?.ok_or(PrimaryError::NoKey)?;
            let at = host.clock.now().timestamp();
            Ok(answer(sign(&*host.rye()?, &request, &key, at, &caller)?.to_json()))
        }
        Request::Check(request) => {
            Ok(answer(check(&host.spaces_to_check()?, &request, &caller)?.to_json()))
        }
        Request::Explain(id) => Ok(answer(explain(&*host.rye()?, &id, &caller)?)),
        Request::Items(Asked::Read(request)) => {
            Ok(answer(fetch(&*host.rye()?, &request, &caller)?.to_json()))
        }
        Request::Fork { .. } | Request::ThreadCancel(_) | Request::ThreadStatus { .. } => {
            Err(RequestError::usage("threads are not dealt with here"))
        }
    }
}
