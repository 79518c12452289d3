//! The requests of the client that wait for an answer.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, JsonRpcMessage, RequestId,
};

/// The part of the protocol that a request belongs to, which decides how its result is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Question {
    /// `server/discover`.
    Revisions,
    /// `tools/list`.
    Tools,
    /// `tools/call`.
    Call,
    /// Another request, whose result the protocol's library reads.
    Other,
}

/// The open requests of one connection. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Awaited(Arc<Mutex<Vec<(RequestId, Question)>>>);

impl Awaited {
    /// Notes a message that is sent: a request waits for its answer, and a cancelled one does not any more.
    pub(super) fn note(&self, sent: &ClientJsonRpcMessage) {
        match sent {
            JsonRpcMessage::Request(request) => {
                let question = match request.request {
                    ClientRequest::DiscoverRequest(_) => Question::Revisions,
                    ClientRequest::ListToolsRequest(_) => Question::Tools,
                    ClientRequest::CallToolRequest(_) => Question::Call,
                    _ => Question::Other,
                };
                self.with(|open| open.push((request.id.clone(), question)));
            }
            JsonRpcMessage::Notification(told) => {
                if let ClientNotification::CancelledNotification(cancelled) = &told.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.end(id);
                }
            }
            _ => {}
        }
    }

    /// Removes a request. Returns `false` if it did not wait for an answer.
    pub(super) fn end(&self, id: &RequestId) -> bool {
        self.with(|open| {
            let before = open.len();
            open.retain(|(other, _)| other != id);
            open.len() < before
        })
    }

    /// Returns the open request that an answer names, with its own id. Servers may write a number as text.
    pub(super) fn find(&self, named: &RequestId) -> Option<(RequestId, Question)> {
        let text = named.to_string();
        self.with(|open| open.iter().find(|(id, _)| id.to_string() == text).cloned())
    }

    /// Returns the ids of all open requests.
    pub(super) fn all(&self) -> Vec<RequestId> {
        self.with(|open| open.iter().map(|(id, _)| id.clone()).collect())
    }

    /// Returns the open request for the server's revisions, if there is one.
    pub(super) fn revisions(&self) -> Option<RequestId> {
        let is_it = |(_, question): &&(RequestId, Question)| *question == Question::Revisions;
        self.with(|open| open.iter().find(is_it).map(|(id, _)| id.clone()))
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<(RequestId, Question)>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
