//! The client's side of the protocol: it refuses requests and receives notifications.

#![expect(
    deprecated,
    reason = "older servers ask for what newer revisions left out, and are refused"
)]

use std::sync::atomic::{AtomicBool, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ErrorCode, ErrorData, Implementation, ListRootsResult, ProgressNotificationParam,
    ProgressToken, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use tokio::sync::broadcast;

use super::secrets::Secrets;

/// The number of progress notifications that wait for a slow call. Older ones are dropped.
const WAITING: usize = 64;

/// The length of the longest progress line, in characters.
const PIECE: usize = 500;

/// A progress line of a call.
#[derive(Debug, Clone)]
pub(super) struct Progress {
    pub(super) token: ProgressToken,
    pub(super) line: String,
}

/// A client without a model to sample, without roots and without a person to ask.
#[derive(Debug)]
pub(super) struct Client {
    progress: broadcast::Sender<Progress>,
    /// The values that the server received and that are removed from its texts.
    secrets: Secrets,
    /// `true` if the server announced a change of its tools since the last [`Client::take_change`].
    is_changed: AtomicBool,
}

impl Client {
    pub(super) fn new(secrets: Secrets) -> Self {
        let progress = broadcast::Sender::new(WAITING);
        Self { progress, secrets, is_changed: AtomicBool::new(false) }
    }

    pub(super) fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    fn line(&self, told: &ProgressNotificationParam) -> String {
        let of = told.total.map(|total| format!(" of {total}")).unwrap_or_default();
        let message = told.message.as_deref().unwrap_or_default();
        // The numbers come from the server too and may contain a secret.
        let line = self.secrets.text(&format!("{}{of} {message}", told.progress));
        let line: String = line.chars().take(PIECE).collect();
        line.trim_end().to_owned() + "\n"
    }

    pub(super) fn take_change(&self) -> bool {
        self.is_changed.swap(false, Ordering::Relaxed)
    }

    pub(super) fn put_change_back(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
    }
}

// The library itself refuses requests for sampling.
impl ClientHandler for Client {
    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        Err(unknown_method("roots/list"))
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        // A server that asks without the capability gets an answer of the protocol, and no person is asked.
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_progress(
        &self,
        told: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let line = self.line(&told);
        // There is no receiver if no call is running.
        let _nobody = self.progress.send(Progress { token: told.progress_token, line });
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.is_changed.store(true, Ordering::Relaxed);
    }

    fn get_info(&self) -> ClientConfig {
        let own = Implementation::new("rye", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(ClientCapabilities::default(), own)
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}

fn unknown_method(method: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::server::{Server, ServerAddress, ServerHeader};
    use super::*;

    #[track_caller]
    fn check(secret: &str, told: Value, line: &str) {
        let mut address = ServerAddress::new("https://example.org");
        address.headers.insert("x-key".to_owned(), ServerHeader::new("KEY"));
        let server = Server::new("far", address);
        let client = Client::new(Secrets::of(&server, |_| Some(secret.to_owned())));
        assert_eq!(client.line(&serde_json::from_value(told).unwrap()), line);
    }

    #[test]
    fn a_secret_is_taken_out_before_a_line_is_cut() {
        let long = "x".repeat(494);
        let told =
            json!({ "progressToken": 1, "progress": 1, "message": format!("{long}tok-5f2e") });
        check("tok-5f2e", told, &format!("1 {long}[cre\n"));
    }

    #[test]
    fn a_number_that_is_a_secret_is_taken_out_of_a_line() {
        let told = json!({ "progressToken": 1, "progress": 48_151_623, "total": 148_151_623_u32 });
        let line = "[credential x-key] of 1[credential x-key]\n";
        check("48151623", told, line);
    }
}
