//! Questions to the person at a client about a call, in both eras of the protocol (SPEC 10.11).

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientResult, ElicitRequest, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext};
use rye_thread::{Decider, Decision};
use serde_json::{Value, json};

use super::host::Approvals;
use super::question::{decision_of, decision_of_value};

/// The name of the question among those that a client gets with a result.
const APPROVAL: &str = "approval";

/// The state and the answers that a client returns with a repeated request.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) state: Option<String>,
    pub(super) answers: Option<InputResponses>,
}

impl Given {
    pub(super) fn is_nothing(&self) -> bool {
        self.state.is_none() && self.answers.is_none()
    }

    /// Returns the decision of the client.
    ///
    /// # Errors
    ///
    /// The method returns the reason if there is no decision.
    pub(super) fn decision(&self) -> Result<Decision, &'static str> {
        decision_of_value(self.answers.as_ref().and_then(|answers| answers.get(APPROVAL)))
    }
}

/// The ways to ask a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// By a request of its own, within the call.
    Request,
    /// With a result, after which the client sends its request again.
    Result,
}

/// Returns the way to ask the client, with the time that it has. It is `None` where the operator does not
/// want it or the client cannot.
pub(super) fn way(
    approvals: Approvals,
    context: &RequestContext<RoleServer>,
) -> Option<(Way, Duration)> {
    let Approvals::Clients { within } = approvals else { return None };
    let asks = context.client_capabilities()?.elicitation?;
    // A client that names no mode has the one that was there first.
    if asks.form.is_none() && asks.url.is_some() {
        return None;
    }
    let way = if is_newer(context) { Way::Result } else { Way::Request };
    Some((way, within))
}

/// Returns `true` for a request of the era in which servers send no requests.
pub(super) fn is_newer(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// The result that asks.
pub(super) fn asking(question: ElicitRequest, state: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(question);
    InputRequiredResult::new(
        Some(InputRequests::from([(APPROVAL.to_owned(), question)])),
        Some(state),
    )
}

/// Asks by a request, and waits for the answer, no longer than so long or until the call is cancelled.
///
/// # Errors
///
/// With the reason, when nothing was decided.
pub(super) async fn await_answer(
    context: &RequestContext<RoleServer>,
    question: ElicitRequest,
    within: Duration,
) -> Result<Decision, &'static str> {
    const CANCELLED: &str = "the call was cancelled while somebody was asked";
    let request = ServerRequest::ElicitRequest(question);
    let sent = tokio::select! {
        biased;
        () = context.ct.cancelled() => return Err(CANCELLED),
        sent = context.peer.send_request_with_option(request, PeerRequestOptions::no_options()) => sent,
    };
    let mut sent = sent.map_err(|_| CANNOT_ASK)?;
    let why = tokio::select! {
        biased;
        () = context.ct.cancelled() => CANCELLED,
        answer = tokio::time::timeout(within, &mut sent.rx) => match answer {
            Ok(Ok(Ok(answer))) => return decision_of_answer(&answer),
            Ok(_) => return Err(CANNOT_ASK),
            Err(_) => "nobody answered in time",
        },
    };
    // The client need not show the question any longer; one that has gone is noticed elsewhere.
    drop(sent.cancel(Some(why.to_owned())).await);
    Err(why)
}

const CANNOT_ASK: &str = "the client cannot ask";

fn decision_of_answer(answer: &ClientResult) -> Result<Decision, &'static str> {
    match answer {
        ClientResult::ElicitResult(answer) => decision_of(answer),
        _ => Err("the client's answer is none to the question"),
    }
}

/// Returns the name and the version of the client, to which a request is bound.
pub(super) fn client_name(context: &RequestContext<RoleServer>) -> Value {
    let client = context.client_info();
    json!(client.map(|client| [client.name, client.version]))
}

/// Returns the decider that the record names.
pub(super) fn decider(context: &RequestContext<RoleServer>) -> Decider {
    Decider::client(&context.client_info().map(|client| client.name).unwrap_or_default())
}
