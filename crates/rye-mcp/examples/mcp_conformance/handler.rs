//! The handler that is given the fixture.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities,
    CompleteRequestParams, CompleteResult, CompletionInfo, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ServerConfig, SetLevelRequestMethod, SetLevelRequestParams, SubscribeRequestParams,
    SubscriptionFilter, Tool, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tokio::sync::broadcast;

use crate::asking::{self, Given, Next};
use crate::fixture::{self, Answer, Asked, Change, Fixture};

/// The handler of one conversation.
pub(crate) struct Handler {
    fixture: Arc<Fixture>,
    changes: broadcast::Sender<Change>,
    /// The lowest level of messages that the client of an older revision wants.
    level: Mutex<LoggingLevel>,
}

type Context = RequestContext<RoleServer>;
type Page = Option<PaginatedRequestParams>;
type Answered<T> = Result<T, ErrorData>;

impl Handler {
    pub(crate) fn new(fixture: Arc<Fixture>, changes: broadcast::Sender<Change>) -> Self {
        Self { fixture, changes, level: Mutex::new(LoggingLevel::Info) }
    }

    /// Whether what it has to say is worth it to the client, which says so once, or with each request.
    fn logs(&self, context: &Context) -> bool {
        let wanted = if is_newer(context) {
            context.meta.log_level()
        } else {
            Some(*self.level.lock().unwrap_or_else(PoisonError::into_inner))
        };
        matches!(wanted, Some(LoggingLevel::Debug | LoggingLevel::Info))
    }

    async fn logged(&self, context: &Context) -> CallToolResult {
        for text in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
            if self.logs(context) {
                let message = LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
                drop(context.peer.notify_logging_message(message).await);
            }
        }
        said("It logged what it did.")
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let identity = Implementation::new("mcp_conformance", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(self.fixture.capabilities.clone()).with_server_info(identity)
    }

    async fn list_tools(&self, _: Page, _: Context) -> Answered<ListToolsResult> {
        let tools = self.fixture.tools.iter().map(|offered| offered.shown.clone());
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let named = self.fixture.tools.iter().find(|offered| offered.shown.name == name);
        named.map(|offered| offered.shown.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Answered<CallToolResponse> {
        let named = self.fixture.tools.iter().find(|offered| offered.shown.name == request.name);
        let offered =
            named.ok_or_else(|| ErrorData::invalid_params("there is no such tool", None))?;
        let arguments = request.arguments.unwrap_or_default();
        let given = Given { answers: request.input_responses, state: request.request_state };
        let result = match &offered.answer {
            Answer::Fixed(result) => fixture::complete(result, &arguments)?,
            Answer::Asked(asked) => {
                return told::<_, CallToolResult>(asked, &request.name, given, &context);
            }
            Answer::Sent { request, then } => {
                asking::sent(request, then, &arguments, &context).await?
            }
            Answer::Changes(change) => {
                let listeners = self.changes.send(*change).unwrap_or(0);
                said(format!("{listeners} who listen are told."))
            }
            Answer::Progresses => progressed(&context).await,
            Answer::Logs => self.logged(&context).await,
        };
        Ok(result.into())
    }

    async fn list_prompts(&self, _: Page, _: Context) -> Answered<ListPromptsResult> {
        let prompts = self.fixture.prompts.iter().map(|offered| offered.shown.clone());
        Ok(ListPromptsResult::with_all_items(prompts.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Answered<GetPromptResponse> {
        let named = self.fixture.prompts.iter().find(|offered| offered.shown.name == request.name);
        let arguments = request.arguments.unwrap_or_default();
        let given = Given { answers: request.input_responses, state: request.request_state };
        match named.map(|offered| &offered.answer) {
            Some(Answer::Fixed(result)) => {
                fixture::complete::<GetPromptResult>(result, &arguments).map(Into::into)
            }
            Some(Answer::Asked(asked)) => {
                told::<_, GetPromptResult>(asked, &request.name, given, &context)
            }
            _ => Err(ErrorData::invalid_params("there is no such prompt", None)),
        }
    }

    async fn complete(&self, _: CompleteRequestParams, _: Context) -> Answered<CompleteResult> {
        Ok(CompleteResult::new(CompletionInfo::default()))
    }

    async fn list_resources(&self, _: Page, _: Context) -> Answered<ListResourcesResult> {
        Ok(ListResourcesResult::with_all_items(self.fixture.resources()))
    }

    async fn list_resource_templates(
        &self,
        _: Page,
        _: Context,
    ) -> Answered<ListResourceTemplatesResult> {
        Ok(ListResourceTemplatesResult::with_all_items(self.fixture.templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: Context,
    ) -> Answered<ReadResourceResponse> {
        let contents = self.fixture.contents(&request.uri)?;
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    /// Keeps no subscription, because no resource changes.
    async fn subscribe(&self, request: SubscribeRequestParams, _: Context) -> Answered<()> {
        self.fixture.contents(&request.uri).map(drop)
    }

    async fn unsubscribe(&self, request: UnsubscribeRequestParams, _: Context) -> Answered<()> {
        self.fixture.contents(&request.uri).map(drop)
    }

    async fn set_level(&self, request: SetLevelRequestParams, context: Context) -> Answered<()> {
        if is_newer(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        *self.level.lock().unwrap_or_else(PoisonError::into_inner) = request.level;
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Answered<()> {
        let mut changes = self.changes.subscribe();
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // A client gets only the notifications that it asked for.
            match change {
                Ok(Change::Tools) => drop(context.sink().notify_tool_list_changed().await),
                Ok(Change::Prompts) => drop(context.sink().notify_prompt_list_changed().await),
                Err(_) => return Ok(()),
            }
        }
    }
}

fn is_newer(context: &Context) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The next question, or the result.
fn told<R, T>(asked: &Asked, name: &str, given: Given, context: &Context) -> Answered<R>
where
    R: From<rmcp::model::InputRequiredResult> + From<T>,
    T: serde::de::DeserializeOwned,
{
    let capabilities: ClientCapabilities = context.client_capabilities().unwrap_or_default();
    match asked.next(name, given, &capabilities)? {
        Next::Ask(question) => Ok(question.into()),
        Next::Tell(answers) => fixture::complete::<T>(&asked.then, &answers).map(R::from),
    }
}

async fn progressed(context: &Context) -> CallToolResult {
    for percent in [0.0, 50.0, 100.0] {
        if let Some(token) = context.meta.get_progress_token() {
            let progress = ProgressNotificationParam::new(token, percent).with_total(100.0);
            drop(context.peer.notify_progress(progress).await);
        }
    }
    said("It came to its end.")
}

fn said(text: impl Into<String>) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(text)])
}
