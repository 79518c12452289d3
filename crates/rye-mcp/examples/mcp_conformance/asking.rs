//! What a client has to give before it gets a result.

use rmcp::model::{
    ClientCapabilities, CreateMessageResult, ElicitResult, ElicitationAction, InputRequest,
    InputRequests, InputRequiredResult, InputResponses, ListRootsResult, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use rye_sign::Digest;
use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use crate::fixture::{self, Asked};

/// What a client gives back with a call.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) answers: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

/// What comes of a call that asks.
pub(crate) enum Next {
    Ask(InputRequiredResult),
    /// What fills the result.
    Tell(Map<String, Value>),
}

impl Asked {
    /// Goes one round on when everything that the last one asked for is there, and asks for it again when not.
    pub(crate) fn next(
        &self,
        name: &str,
        given: Given,
        capabilities: &ClientCapabilities,
    ) -> Result<Next, ErrorData> {
        let answers = given.answers.unwrap_or_default();
        let (mut round, mut is_known) = (0, !self.sealed);
        if let Some(state) = given.state.filter(|_| self.sealed) {
            (round, is_known) = (opened(name, &state)?, true);
        }
        let mut asked = self.possible(round, capabilities)?;
        let is_answered = |(key, request): (&String, &InputRequest)| {
            answers.get(key).is_some_and(|answer| answers_to(request, answer))
        };
        if is_known && asked.iter().all(is_answered) {
            round += 1;
            if round == self.rounds.len() {
                return Ok(Next::Tell(Map::from_iter([("answers".to_owned(), json!(answers))])));
            }
            asked = self.possible(round, capabilities)?;
        }
        let state = self.sealed.then(|| sealed(name, round));
        Ok(Next::Ask(InputRequiredResult::new(Some(asked), state)))
    }

    /// What a round asks for and the client says that it can give.
    fn possible(
        &self,
        round: usize,
        capabilities: &ClientCapabilities,
    ) -> Result<InputRequests, ErrorData> {
        let wanted = self.rounds.get(round).cloned().unwrap_or_default();
        let mut missing = Map::new();
        let mut possible = InputRequests::new();
        for (key, request) in wanted {
            let (capability, is_there) = needed(&request, capabilities);
            if is_there {
                possible.insert(key, request);
            } else {
                missing.insert(capability.to_owned(), json!({}));
            }
        }
        if possible.is_empty() {
            return Err(lacking(missing));
        }
        Ok(possible)
    }
}

/// Asks in a request of its own.
pub(crate) async fn sent(
    request: &Value,
    then: &Value,
    arguments: &Map<String, Value>,
    context: &RequestContext<RoleServer>,
) -> Result<rmcp::model::CallToolResult, ErrorData> {
    let request = fixture::request(request, arguments)?;
    let capabilities = context.client_capabilities().unwrap_or_default();
    let (capability, is_there) = needed(&request, &capabilities);
    if !is_there {
        return Err(lacking(Map::from_iter([(capability.to_owned(), json!({}))])));
    }
    let request: ServerRequest = match request {
        InputRequest::CreateMessage(request) => request.into(),
        InputRequest::Elicitation(request) => request.into(),
        InputRequest::ListRoots(request) => request.into(),
        _ => return Err(ErrorData::internal_error("the fixture asks what nobody knows", None)),
    };
    let answer = context.peer.send_request(request).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let answer = Map::from_iter([("answer".to_owned(), json!(answer))]);
    fixture::complete(then, &answer)
}

/// The capability that a request needs, and whether the client has it.
fn needed(request: &InputRequest, capabilities: &ClientCapabilities) -> (&'static str, bool) {
    match request {
        InputRequest::CreateMessage(_) => ("sampling", capabilities.sampling.is_some()),
        InputRequest::Elicitation(_) => ("elicitation", capabilities.elicitation.is_some()),
        _ => ("roots", capabilities.roots.is_some()),
    }
}

fn lacking(missing: Map<String, Value>) -> ErrorData {
    let missing = serde_json::from_value(Value::Object(missing)).unwrap_or_default();
    ErrorData::missing_required_client_capability(missing)
}

/// Returns `true` if the answer fits the request. A refusal is an answer.
fn answers_to(request: &InputRequest, answer: &Value) -> bool {
    match request {
        InputRequest::CreateMessage(_) => CreateMessageResult::deserialize(answer).is_ok(),
        InputRequest::Elicitation(asked) => {
            let asked = json!(asked);
            let required = asked.pointer("/params/requestedSchema/required");
            let required = required.and_then(Value::as_array).into_iter().flatten();
            let mut names = required.filter_map(Value::as_str);
            ElicitResult::deserialize(answer).is_ok_and(|answer| {
                let content = answer.content.unwrap_or_default();
                answer.action != ElicitationAction::Accept
                    || names.all(|name| content.get(name).is_some())
            })
        }
        _ => ListRootsResult::deserialize(answer).is_ok(),
    }
}

/// The progress of a client, sealed so that only this server can have made it. A real server needs a key that is not in its
/// source.
fn sealed(name: &str, round: usize) -> String {
    let seal =
        Digest::of(format!("key of the fixture: {name}: {round}: key of the fixture").as_bytes());
    format!("{round}/{seal}")
}

fn opened(name: &str, state: &str) -> Result<usize, ErrorData> {
    let round = state.split_once('/').and_then(|(round, _)| round.parse().ok());
    round
        .filter(|round| sealed(name, *round) == state)
        .ok_or_else(|| ErrorData::invalid_params("the state is not what was given", None))
}
