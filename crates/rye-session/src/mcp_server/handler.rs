//! The handler of the protocol's requests, for both of its eras.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    GetSkillRequestParams, GetSkillResult, Implementation, ListPromptsResult, ListResourcesResult,
    ListSkillsResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use rye_mcp::{HttpOptions, ServeError, serve_http, serve_streams};
use rye_resolve::ItemId;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::arguments::Waits;
use super::asking::{Given, client_name};
use super::call::{Call, directive_request};
use super::directive_tools::directive_tools;
use super::error::RequestError;
use super::followed::may_follow_some;
use super::host::ServerHost;
use super::request_state::{RequestStates, request_digest};
use super::results::{broken_result, error_result};
use super::runs::Runs;
use super::tools::{Offered, offered_tools};
use super::{prompts, skills};

/// The server. Clones share the threads that clients started.
#[derive(Debug, Clone)]
pub struct McpServer {
    shared: Arc<Inner>,
    /// The calls of one conversation.
    own: Arc<Semaphore>,
}

#[derive(Debug)]
struct Inner {
    host: Arc<ServerHost>,
    offered: Vec<Offered>,
    runs: Runs,
    states: RequestStates,
    /// The calls of all clients.
    calls: Semaphore,
}

/// As many calls of one conversation are under way at a time, and of all together; a further one is refused at once.
const MOST_OF_ONE: usize = 32;
const MOST_CALLS: usize = 128;

impl McpServer {
    /// A server that offers what its host's grant leaves to do.
    #[must_use]
    pub fn new(host: ServerHost) -> Self {
        let offered = offered_tools(&host.caller());
        let host = Arc::new(host);
        let runs = Runs::default();
        let states = RequestStates::default();
        let calls = Semaphore::new(MOST_CALLS);
        let shared = Arc::new(Inner { host, offered, runs, states, calls });
        Self { shared, own: Arc::new(Semaphore::new(MOST_OF_ONE)) }
    }

    /// Serves one client until it closes its end or `stop` comes. Then it stops the client's threads, so that
    /// they can go on later.
    ///
    /// # Errors
    ///
    /// The method fails if the first message is no beginning of the protocol.
    pub async fn serve<R, W>(
        self,
        read: R,
        write: W,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        serve_streams(self.clone(), read, write, stop, self.stop()).await
    }

    /// Serves clients of this machine at `/mcp` of the listener's address until `stop` comes. Then it stops
    /// their threads, so that they can go on later.
    ///
    /// # Errors
    ///
    /// The method fails if the listener's address is not one of this machine alone, or if the system refuses.
    pub async fn serve_http(
        self,
        listener: TcpListener,
        options: HttpOptions,
        stop: impl Future<Output = ()>,
    ) -> Result<(), ServeError> {
        let server = self.clone();
        let new_handler = move || server.of_another_session();
        serve_http(new_handler, listener, options, stop, self.stop()).await
    }

    /// The same server for another conversation.
    fn of_another_session(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), own: Arc::new(Semaphore::new(MOST_OF_ONE)) }
    }

    /// Stops the threads that clients started, so that `rye resume` continues them, and waits until each has stopped.
    pub async fn stop(&self) {
        self.shared.runs.stop().await;
    }

    /// A place among the calls of this conversation, and one among all.
    fn places(&self) -> Result<(SemaphorePermit<'_>, SemaphorePermit<'_>), RequestError> {
        let taken = |most| move |_| RequestError::TooManyCalls { most };
        let own = self.own.try_acquire().map_err(taken(MOST_OF_ONE))?;
        Ok((own, self.shared.calls.try_acquire().map_err(taken(MOST_CALLS))?))
    }

    /// Returns the directives that are tools, as they are now; none unless the operator wants that.
    async fn directive_tools(&self) -> Result<Vec<(ItemId, Tool)>, ErrorData> {
        if !self.shared.host.directives_as_tools {
            return Ok(Vec::new());
        }
        self.blocking(directive_tools).await
    }

    /// Finds the tool of a name.
    async fn called_tool(&self, name: &str) -> Result<Called<'_>, ErrorData> {
        let offered = &self.shared.offered;
        if let Some(known) = offered.iter().find(|offered| offered.tool.name == name) {
            return Ok(Called::Operation(known));
        }
        let directives = self.directive_tools().await?;
        if let Some((id, _)) = directives.iter().find(|(_, tool)| tool.name == name) {
            return Ok(Called::Directive(id.clone()));
        }
        let names =
            offered.iter().map(|it| &it.tool).chain(directives.iter().map(|(_, tool)| tool));
        let names = names.map(|tool| &*tool.name).collect::<Vec<_>>().join(", ");
        let message = format!("there is no tool `{name}`; the tools are: {names}");
        Err(ErrorData::invalid_params(message, None))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ServerHost) -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let told = |error: &RequestError| {
            ErrorData::invalid_request(error.causes().join(": "), Some(error.to_json()))
        };
        let _places = self.places().map_err(|error| told(&error))?;
        let host = Arc::clone(&self.shared.host);
        match tokio::task::spawn_blocking(move || work(&host)).await {
            Ok(result) => result.map_err(|error| {
                ErrorData::invalid_params(error.causes().join(": "), Some(error.to_json()))
            }),
            Err(_) => Err(ErrorData::internal_error("the operation ended without an answer", None)),
        }
    }
}

/// The tool that a client calls.
enum Called<'a> {
    Operation(&'a Offered),
    Directive(ItemId),
}

const INSTRUCTIONS: &str = "Rye keeps directives (signed workflows), knowledge and tools. Find them with `rye_search`, read \
     them with `rye_load`. `rye_execute` gives you a directive to follow, or runs a tool. Every item is verified before you \
     see it; what is refused says why, and only the operator can change that. Check what you write with `rye_check`; the \
     operator reviews and signs it.";

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_prompts();
        let capabilities = match may_follow_some(&self.shared.host.caller()) {
            true => capabilities.enable_resources().enable_skills().build(),
            false => capabilities.build(),
        };
        let identity = Implementation::new("rye", env!("CARGO_PKG_VERSION")).with_title("Rye");
        let notice = self.shared.host.notice.iter();
        let instructions = [INSTRUCTIONS].into_iter().chain(notice.map(String::as_str));
        let instructions = instructions.collect::<Vec<_>>().join(" ");
        ServerConfig::new(capabilities).with_server_info(identity).with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools: Vec<Tool> =
            self.shared.offered.iter().map(|offered| offered.tool.clone()).collect();
        let of_directives = self.directive_tools().await?.into_iter().map(|(_, tool)| tool);
        let new: Vec<Tool> = of_directives
            .filter(|tool| tools.iter().all(|known| known.name != tool.name))
            .collect();
        tools.extend(new);
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let called = self.called_tool(&request.name).await?;
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let digest = request_digest(&request.name, &arguments, &client_name(&context));
        let Inner { host, runs, states, .. } = &*self.shared;
        let is_directive = matches!(called, Called::Directive(_));
        let call = Call { host, runs, states, digest, is_directive, context };
        let _places = match self.places() {
            Ok(places) => places,
            Err(error) => return Ok(error_result(&error).into()),
        };
        let given = Given { state: request.request_state, answers: request.input_responses };
        if !given.is_nothing() {
            return call.go_on_with_answer(given).await;
        }
        match (called, arguments) {
            (Called::Directive(id), Value::Object(inputs)) => {
                let started = call.start_directive(directive_request(id, inputs), Waits::ForTheEnd);
                Ok(started.await.unwrap_or_else(|error| error_result(&error).into()))
            }
            (Called::Directive(_), _) => Ok(broken_result().into()),
            (Called::Operation(offered), arguments) => Ok(call.answer(offered, arguments).await),
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let after = request.and_then(|request| request.cursor);
        self.blocking(move |host| prompts::page(host, after.as_deref())).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default().into_iter().collect();
        let filled = self.blocking(move |host| prompts::fill(host, &request.name, arguments));
        Ok(filled.await?.into())
    }

    async fn list_skills(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListSkillsResult, ErrorData> {
        let after = request.and_then(|request| request.cursor);
        self.blocking(move |host| skills::list(host, after.as_deref())).await
    }

    async fn get_skill(
        &self,
        request: GetSkillRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetSkillResult, ErrorData> {
        self.blocking(move |host| skills::get(host, &request.uri)).await
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let after = request.and_then(|request| request.cursor);
        self.blocking(move |host| skills::resources(host, after.as_deref())).await
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self.blocking(move |host| skills::read(host, &request.uri)).await;
        let not_found = |mut error: ErrorData| {
            // The library writes the code of the newest revision for its clients.
            if error.code == ErrorCode::INVALID_PARAMS {
                error.code = ErrorCode::RESOURCE_NOT_FOUND;
            }
            error
        };
        Ok(read.map_err(not_found)?.into())
    }
}
