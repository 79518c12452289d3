//! The threads that clients started.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::CallToolResult;
use rye_project::primary::ExecuteRequest;
use rye_resolve::ItemId;
use rye_thread::{Cancel, Decider, Decision, ThreadId, ThreadReference, ThreadReferenceError};
use rye_types::ThreadState;
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};

use super::error::RequestError;
use super::host::{Approvals, ServerHost};
use super::progress::Lines;
use super::results::{answer, broken_result, error_result, tool_result};
use crate::session::{Host, ReopenError, RunReport, RunRequest, Waiting};

/// The threads of one server, which all of its clients share.
#[derive(Debug, Default)]
pub(super) struct Runs {
    threads: Mutex<BTreeMap<ThreadId, Running>>,
}

/// A thread, from its start or from its resume point.
#[derive(Debug, Clone)]
pub(super) struct Running {
    pub(super) thread: ThreadId,
    pub(super) directive: ItemId,
    pub(super) cancel: Cancel,
    ended: watch::Receiver<Option<Ended>>,
}

/// The end of a thread.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) result: CallToolResult,
    /// The length of the result as text.
    bytes: usize,
    /// `true` if it waits with a call.
    pub(super) waits: bool,
    /// The call that the client may be asked about.
    pub(super) asks: Option<Waiting>,
}

/// The work to do on a thread.
enum Work {
    Begin(ExecuteRequest),
    GoOn(Box<Settled>),
    /// The end of a thread that no process drives.
    End,
}

/// A call with its decision.
pub(super) struct Settled {
    pub(super) waiting: Waiting,
    pub(super) decision: Decision,
    pub(super) by: Decider,
    /// Returns `true` if the client has cancelled the call of the decision since.
    pub(super) is_over: Box<dyn Fn() -> bool + Send>,
}

/// A thread, and its lines of progress.
pub(super) type Started = (Running, mpsc::Receiver<String>);

/// As many run at a time; each holds a thread of the system and may cost money.
const MOST_RUNNING: usize = 16;

/// As many are remembered after their end.
const MOST_ENDED: usize = 1_000;

/// The most bytes of answers that are kept of threads that have ended; `rye threads show` has them all.
const MOST_ENDED_BYTES: usize = 64 * 1024 * 1024;

/// As many lines of a thread wait for a client; further ones are left out.
const MOST_LINES: usize = 256;

impl Runs {
    /// Starts a thread, whose lines come out of the receiver.
    pub(super) fn start(
        &self,
        host: &Arc<ServerHost>,
        request: ExecuteRequest,
    ) -> Result<Started, RequestError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        refuse_more(&threads)?;
        let thread = (host.new_thread)(&request.id);
        let directive = request.id.clone();
        Ok(launch(&mut threads, host, thread, directive, Work::Begin(request)))
    }

    /// Records a decision about the call that a thread waits for, and continues the thread.
    pub(super) fn go_on(
        &self,
        host: &Arc<ServerHost>,
        thread: &ThreadId,
        settled: Settled,
    ) -> Result<Started, RequestError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let known = threads.get(thread).cloned();
        let waits = known.filter(|it| it.asks().as_ref() == Some(&settled.waiting));
        // A cancelled thread and a server that stops have the last word.
        let Some(running) = waits.filter(|it| !it.cancel.is_cancelled()) else {
            return Err(RequestError::usage(format!(
                "thread `{thread}` no longer waits with that call"
            )));
        };
        refuse_more(&threads)?;
        let work = Work::GoOn(Box::new(settled));
        Ok(launch(&mut threads, host, running.thread, running.directive, work))
    }

    /// Ends a thread if it waits with a call; what comes of that is what came of the thread from then on.
    pub(super) fn end_waiting(&self, host: &Arc<ServerHost>, thread: &ThreadId) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let waits = threads.get(thread).filter(|it| it.waits()).cloned();
        if let Some(running) = waits {
            // No client hears of the result, because the thread is over at once.
            let (_running, _lines) =
                launch(&mut threads, host, running.thread, running.directive, Work::End);
        }
    }

    /// Returns the thread that `reference` means, if a client of this server started it.
    pub(super) fn find(&self, reference: &ThreadReference) -> Result<Running, RequestError> {
        let unknown = || RequestError::UnknownThread { thread: reference.clone() };
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = reference.resolve(threads.keys()).map_err(|error| match error {
            ThreadReferenceError::Ambiguous { .. } => RequestError::usage(error.to_string()),
            _ => unknown(),
        })?;
        threads.get(&thread).cloned().ok_or_else(unknown)
    }

    /// Stops every thread so that the operator can resume it, and waits until each has recorded its resume point.
    pub(super) async fn stop(&self) {
        loop {
            let running = self.interrupt_all();
            // One that was about to begin may have begun since.
            if running.is_empty() {
                return;
            }
            for mut it in running {
                it.end().await;
            }
        }
    }

    /// Interrupts all threads and returns those that run. No thread begins or continues meanwhile.
    fn interrupt_all(&self) -> Vec<Running> {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.values().for_each(|it| it.cancel.interrupt());
        threads.values().filter(|it| it.ended.borrow().is_none()).cloned().collect()
    }
}

fn refuse_more(threads: &BTreeMap<ThreadId, Running>) -> Result<(), RequestError> {
    let running = threads.values().filter(|it| it.ended.borrow().is_none()).count();
    if running < MOST_RUNNING {
        Ok(())
    } else {
        Err(RequestError::TooManyThreads { most: MOST_RUNNING })
    }
}

fn launch(
    threads: &mut BTreeMap<ThreadId, Running>,
    host: &Arc<ServerHost>,
    thread: ThreadId,
    directive: ItemId,
    work: Work,
) -> Started {
    forget_oldest(threads);
    let cancel = Cancel::new();
    let (lines, received) = mpsc::channel(MOST_LINES);
    let (end, ended) = watch::channel(None);
    let running = Running { thread: thread.clone(), directive, cancel: cancel.clone(), ended };
    threads.insert(thread.clone(), running.clone());
    let host = Arc::clone(host);
    // Preparing a thread reads files, so it gets a thread of the system's; one that panics still has an end.
    tokio::spawn(async move {
        let runtime = Handle::current();
        let driven = move || runtime.block_on(drive(&host, work, thread, &cancel, lines));
        let ended = tokio::task::spawn_blocking(driven).await;
        end.send_replace(Some(ended.unwrap_or_else(|_| Ended::of_panic())));
    });
    (running, received)
}

fn forget_oldest(threads: &mut BTreeMap<ThreadId, Running>) {
    // The order of ids is that of directives, and of time only within one; which of a thousand goes first matters little.
    let ended: Vec<ThreadId> = threads
        .iter()
        .filter(|(_, it)| it.ended.borrow().is_some())
        .map(|(thread, _)| thread.clone())
        .collect();
    let bytes = |it: &Running| it.ended.borrow().as_ref().map_or(0, |ended| ended.bytes);
    let mut kept: usize = threads.values().map(bytes).sum();
    let mut count = ended.len();
    for thread in ended {
        if count < MOST_ENDED && kept <= MOST_ENDED_BYTES {
            break;
        }
        kept -= threads.remove(&thread).as_ref().map_or(0, bytes);
        count -= 1;
    }
}

impl Running {
    /// Waits for the end, and gives what came of it.
    pub(super) async fn end(&mut self) -> Ended {
        let ended = self.ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|it| it.clone()).unwrap_or_else(Ended::of_panic)
    }

    pub(super) fn waits(&self) -> bool {
        self.ended.borrow().as_ref().is_some_and(|ended| ended.waits)
    }

    /// Returns the call that the client may be asked about, if the thread waits with one.
    pub(super) fn asks(&self) -> Option<Waiting> {
        self.ended.borrow().as_ref().and_then(|ended| ended.asks.clone())
    }

    /// Returns the result of the thread, or that it still runs when the time is over.
    pub(super) async fn status(mut self, wait: Duration) -> CallToolResult {
        let thread = self.thread.clone();
        match tokio::time::timeout(wait, self.end()).await {
            Ok(ended) => ended.result,
            Err(_) => answer(json!({ "thread": thread.as_str(), "state": "running" })),
        }
    }
}

impl Ended {
    fn new(result: CallToolResult, waits: bool, asks: Option<Waiting>) -> Self {
        let bytes = serde_json::to_string(&result).map_or(0, |text| text.len());
        Self { result, bytes, waits, asks }
    }

    fn over(result: CallToolResult) -> Self {
        Self::new(result, false, None)
    }

    fn of_panic() -> Self {
        Self::over(broken_result())
    }
}

async fn drive(
    host: &ServerHost,
    work: Work,
    thread: ThreadId,
    cancel: &Cancel,
    lines: mpsc::Sender<String>,
) -> Ended {
    let is_begun = !matches!(work, Work::Begin(_));
    let is_decision = matches!(work, Work::GoOn(_));
    let mut is_decided = false;
    match perform(host, work, thread.clone(), cancel, lines, &mut is_decided).await {
        Ok(ended) => ended,
        Err(error) => {
            let mut value = error.to_json();
            value["thread"] = thread.as_str().into();
            // One that is there is left as it was.
            let state = is_begun.then(|| Some(host.rye().ok()?.stands(&thread)?.state)).flatten();
            value["state"] = match error {
                RequestError::Reopen(ReopenError::Ended { state, .. }) => state,
                _ => state.unwrap_or(ThreadState::Error),
            }
            .as_str()
            .into();
            if is_decided {
                let recorded = "the decision is recorded";
                value["decided"] =
                    format!("{recorded}; `rye resume {thread}` goes on with it").into();
            }
            // The client is not asked again, but it may end the thread.
            let waits = is_decision && state == Some(ThreadState::Suspended);
            Ended::new(CallToolResult::structured_error(value), waits, None)
        }
    }
}

async fn perform(
    host: &ServerHost,
    work: Work,
    thread: ThreadId,
    cancel: &Cancel,
    lines: mpsc::Sender<String>,
    is_decided: &mut bool,
) -> Result<Ended, RequestError> {
    let rye = host.rye()?;
    let signing_key = host.key()?;
    let observer = Lines(lines);
    let around = Host {
        clock: &*host.clock,
        secrets: &*host.secrets,
        observer: &observer,
        approver: &(),
        cancel,
        random: host.random.clone(),
        signing_key,
    };
    let report = match work {
        Work::Begin(request) => {
            let mut wish = RunRequest::new(request.id, thread);
            wish.inputs = request.parameters.into_iter().collect();
            wish.provider = host.provider.clone();
            rye.run(wish, around).await?
        }
        Work::GoOn(settled) => {
            if (settled.is_over)() || cancel.is_cancelled() {
                return Err(RequestError::usage("the call was cancelled; nothing was decided"));
            }
            rye.decide_on(&settled.waiting, (settled.decision, &settled.by), &around)?;
            *is_decided = true;
            rye.resume(&thread, around).await?
        }
        Work::End => {
            let cancelled = rye.cancel(&thread, &around)?;
            return Ok(Ended::over(answer(cancelled.to_json(&thread))));
        }
    };
    let asked = report.outcome.asked.as_ref();
    let asks = asked.filter(|_| host.approvals != Approvals::Operator);
    let asks = asks.and_then(|request| rye.waiting(request));
    Ok(Ended::new(report_result(&report), asked.is_some(), asks))
}

/// Returns the output of `rye run --json --quiet`. A failed end is an error for the client.
fn report_result(report: &RunReport) -> CallToolResult {
    use rye_thread::ToolStatus::{Error, Ok};
    let status = if report.outcome.failure.is_some() { Error } else { Ok };
    tool_result(report.to_json(), status)
}

/// An error as the answer to a call.
pub(super) fn or_failed(result: Result<CallToolResult, RequestError>) -> CallToolResult {
    result.unwrap_or_else(|error| error_result(&error))
}
