//! A call that runs a directive as a thread, from its start to the thread's end or to a question.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    CallToolResponse, CallToolResult, InputRequiredResult, ProgressNotificationParam,
};
use rye_caps::Primary;
use rye_project::primary::ExecuteRequest;
use rye_thread::Decision;
use rye_types::ItemKind;

use super::arguments::Waits;
use super::asking::{Given, Way, asking, await_answer, decider, is_newer, way};
use super::call::Call;
use super::directive_tools::outputs_result;
use super::error::RequestError;
use super::host::Approvals;
use super::question::question;
use super::request_state::call_identity;
use super::results::with_reason;
use super::runs::{Ended, Running, Settled, Started};
use crate::session::Waiting;

/// The next step after a question about a call.
enum Next {
    /// The client brings the answer with its next request.
    Ask(InputRequiredResult),
    Decided(Decision),
    /// Nothing was decided, for this reason.
    Left(&'static str),
    /// No person at the client can decide.
    NoDecider,
}

impl Call<'_> {
    /// Runs a directive as a thread, and sends its progress to a client that waits.
    pub(super) async fn start_directive(
        self,
        request: ExecuteRequest,
        waits: Waits,
    ) -> Result<CallToolResponse, RequestError> {
        let may = self.host.caller();
        may.permit(Primary::Execute, ItemKind::Directive, &request.id)?;
        let started = self.runs.start(self.host, request)?;
        match waits {
            Waits::No => Ok(started.0.status(Duration::ZERO).await.into()),
            Waits::ForTheEnd => Ok(self.attend(started).await),
        }
    }

    /// Continues the thread that the client was asked about, with the client's answer.
    ///
    /// # Errors
    ///
    /// The method fails if the state is not the one that this server gave this client for this request.
    pub(super) async fn go_on_with_answer(
        self,
        given: Given,
    ) -> Result<CallToolResponse, ErrorData> {
        let refused = |why: &str| ErrorData::invalid_params(why.to_owned(), None);
        if self.host.approvals == Approvals::Operator || !is_newer(&self.context) {
            return Err(refused("nothing was asked here, so that there is nothing to answer"));
        }
        let state = given.state.as_deref().ok_or_else(|| refused("`requestState` is missing"))?;
        let opened = self.states.open(state, &self.digest, self.host.clock.now());
        let opened = opened.map_err(|error| refused(&error.to_string()))?;
        let found = self.runs.find(&(&opened.thread).into()).ok();
        let asked = found.and_then(|running| Some((running.asks()?, running)));
        let waits = asked.filter(|(waiting, _)| call_identity(waiting) == opened.call);
        let Some((waiting, mut running)) = waits else {
            return Err(refused("the thread no longer waits with the call that was asked about"));
        };
        let result = running.end().await.result;
        Ok(
            match given
                .decision()
                .map_err(str::to_owned)
                .and_then(|decision| self.settle(&running, &waiting, decision))
            {
                Ok(started) => self.attend(started).await,
                Err(why) => self.form_result(with_reason(result, &running.thread, &waiting, &why)),
            },
        )
    }

    /// Waits for the end of the thread, over every call that the client decides on.
    async fn attend(self, mut started: Started) -> CallToolResponse {
        let mut told = 1;
        // A client that stops waiting can ask about the thread later.
        self.tell(told, format!("thread {}", started.0.thread)).await;
        loop {
            let ended = self.wait_for_end(&mut started, &mut told).await;
            let Some(waiting) = ended.asks else { return self.form_result(ended.result) };
            let next = match self.ask(&started.0, &waiting, &mut told).await {
                Next::Ask(result) => return result.into(),
                Next::NoDecider => return self.form_result(ended.result),
                Next::Left(why) => Err(why.to_owned()),
                Next::Decided(decision) => self.settle(&started.0, &waiting, decision),
            };
            match next {
                Ok(next) => started = next,
                Err(why) => {
                    let result = with_reason(ended.result, &started.0.thread, &waiting, &why);
                    return self.form_result(result);
                }
            }
        }
    }

    /// Returns the result of a thread in the form that the called tool has.
    fn form_result(&self, result: CallToolResult) -> CallToolResponse {
        match self.is_directive {
            true => outputs_result(result).into(),
            false => result.into(),
        }
    }

    async fn wait_for_end(&self, (running, lines): &mut Started, told: &mut u32) -> Ended {
        let cancel = running.cancel.clone();
        loop {
            tokio::select! {
                biased;
                () = self.context.ct.cancelled(), if !cancel.is_cancelled() => cancel.interrupt(),
                Some(line) = lines.recv() => {
                    *told += 1;
                    self.tell(*told, line).await;
                }
                ended = running.end() => return ended,
            }
        }
    }

    /// Asks the client for a decision, if the operator wants that and the client can ask a person.
    async fn ask(&self, running: &Running, waiting: &Waiting, told: &mut u32) -> Next {
        let Some((way, within)) = way(self.host.approvals, &self.context) else {
            return Next::NoDecider;
        };
        let question = match question(&running.thread, waiting) {
            Ok(question) => question,
            Err(why) => return Next::Left(why),
        };
        *told += 1;
        self.tell(*told, format!("asks whether {} may be called", waiting.request().item_id)).await;
        match way {
            Way::Request => await_answer(&self.context, question, within)
                .await
                .map_or_else(Next::Left, Next::Decided),
            Way::Result => {
                let call = call_identity(waiting);
                let now = self.host.clock.now();
                let subject = (&running.thread, call.as_str());
                let state = self.states.seal(&self.digest, subject, now, within);
                state.map_or_else(Next::Left, |state| Next::Ask(asking(question, state)))
            }
        }
    }

    /// Has the decision recorded, and the thread go on.
    ///
    /// # Errors
    ///
    /// With the reason, when it is not, and nothing was recorded.
    fn settle(
        &self,
        running: &Running,
        waiting: &Waiting,
        decision: Decision,
    ) -> Result<Started, String> {
        if self.context.ct.is_cancelled() {
            return Err("the call was cancelled".to_owned());
        }
        let waiting = waiting.clone();
        let by = decider(&self.context);
        let call = self.context.ct.clone();
        let is_over = Box::new(move || call.is_cancelled());
        let settled = Settled { waiting, decision, by, is_over };
        self.runs.go_on(self.host, &running.thread, settled).map_err(|error| error.to_string())
    }

    /// Sends progress to a client that asked for it, in numbers that grow.
    async fn tell(&self, told: u32, line: String) {
        let Some(token) = self.context.meta.get_progress_token() else { return };
        let progress = ProgressNotificationParam::new(token, f64::from(told)).with_message(line);
        // A client that has gone is noticed elsewhere.
        drop(self.context.peer.notify_progress(progress).await);
    }
}
