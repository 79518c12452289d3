//! `rye mcp`.

mod discover;

use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::{Args, Subcommand};
use rye::caps::{Grant, Kind, Pattern, Primary, risk::Acknowledgement};
use rye::resolve::ItemId;
use rye::thread::ThreadId;
use rye::{
    Approvals, HttpOptions, McpServer, ProviderChoice, Rye, ServeError, ServerHost, ServerTools,
    reading,
};

use super::run::{Variables, multi_thread_runtime, random};
use crate::clock::SystemClock;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::key_store::signing_key_if_any;
use crate::unmatched;

/// Serve the project's items to MCP clients, over standard input and output or over HTTP
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Clients may search, load, check and explain items, and take directives and knowledge into their conversation. \
                  Everything else is what you add with `--allow`: tools that they call, directives that they run, items that they sign with your key. \
                  A pattern that is too dangerous by `config/agent/capability_risk.yaml` is refused unless you acknowledge it.\n\n\
                  Over HTTP, the server listens to this machine alone. With `--allow` it also wants a token from its clients, \
                  which it takes from the variable RYE_MCP_TOKEN: other users of the machine can reach it too.\n\n\
                  Examples:\n  rye mcp --project /home/me/notes\n  rye mcp --allow 'rye.execute.tool.rye.file-system.*'\n  \
                  rye mcp --allow 'rye.execute.directive.notes.*' --as-tools\n  rye mcp --allow 'rye.execute.directive.notes.*' --http 127.0.0.1:8931"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// Let clients do what this capability pattern covers (may be given many times)
    #[arg(long, value_name = "PATTERN", help_heading = "Clients")]
    allow: Vec<Pattern>,
    /// Accept a risk of what is allowed, and say why, such as `elevated=I watch it` (may be given many times)
    #[arg(long, value_name = "RISK=REASON", help_heading = "Clients")]
    acknowledge: Vec<Acknowledged>,
    /// Have people at clients approve or deny calls that wait in the threads that their client runs, where the client can ask
    /// them. What a client answers by itself, without a person, counts as much
    #[arg(long, help_heading = "Clients")]
    approve_by_client: bool,
    /// The provider of the threads that clients run, instead of the one that a directive asks for: the name of a provider's
    /// configuration, or `steps` for no model at all
    #[arg(long, value_name = "NAME", help_heading = "Clients")]
    provider: Option<String>,
    /// Offer each directive that clients may run as a tool of its own, too: its inputs are the arguments, and its outputs the result
    #[arg(long, help_heading = "Clients")]
    as_tools: bool,
    /// Serve over HTTP at this address of this machine; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:8931", help_heading = "HTTP")]
    http: Option<SocketAddr>,
    /// Let web pages of this origin call the server, such as `http://localhost:6274` (may be given many times)
    #[arg(long, value_name = "ORIGIN", requires = "http", help_heading = "HTTP")]
    allow_origin: Vec<Origin>,
}

#[derive(Debug, Subcommand)]
enum Action {
    Discover(discover::Arguments),
}

/// `RISK=REASON`.
#[derive(Debug, Clone)]
struct Acknowledged(Acknowledgement);

impl FromStr for Acknowledged {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (risk, reason) = text.split_once('=').ok_or("write `RISK=REASON`")?;
        Acknowledgement::new(risk, reason).map(Self).map_err(|error| error.to_string())
    }
}

/// Scheme, host and port of a web page, or scheme and host for all of their ports.
#[derive(Debug, Clone)]
struct Origin(String);

impl FromStr for Origin {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let rest =
            rest.filter(|rest| !rest.is_empty() && !rest.contains(['/', '*', '@', '?', '#']));
        match rest.and_then(|rest| rest.rsplit_once(':')) {
            Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                Ok(Self(text.to_owned()))
            }
            _ => Err("write scheme, host and port, such as `http://localhost:6274`".to_owned()),
        }
    }
}

/// A shorter token is guessed.
const SHORTEST_TOKEN: usize = 16;

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    match &arguments.action {
        Some(Action::Discover(arguments)) => discover::run(arguments, environment),
        None => serve(arguments, environment),
    }
}

/// Starts a server of the configuration and returns the tools that it offers.
pub(super) fn server_tools(rye: &Rye, server: &str) -> Result<ServerTools, Failure> {
    let runtime = multi_thread_runtime()?;
    let offered = runtime.block_on(rye.server_tools(server));
    offered.map_err(|error| Failure::of(&error, error.class().into()))
}

fn serve(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let added: Grant = arguments.allow.iter().cloned().collect();
    refuse_risks(&added, &arguments.acknowledge, environment)?;
    let token = Environment::variable("RYE_MCP_TOKEN");
    check_token(token.as_deref(), !added.is_empty() && arguments.http.is_some())?;
    let mut host = host(reading().union(&added), environment)?;
    check_provider(arguments.provider.as_deref(), environment)?;
    host.provider =
        arguments.provider.as_deref().map(ProviderChoice::from_name).unwrap_or_default();
    host.directives_as_tools = arguments.as_tools;
    host.approvals = approvals(arguments.approve_by_client, &host.grant)?;
    host.notice = notice(&host.grant, environment)?;
    crate::output::warnings(&unmatched::warnings("--allow", &arguments.allow, &environment.rye()?));
    crate::output::warnings(uncallable(&added, environment)?.as_slice());
    if std::io::stderr().is_terminal() {
        announce(arguments, &host.grant, environment)?;
    }
    let server = McpServer::new(host);
    let origins = arguments.allow_origin.iter().map(|origin| origin.0.clone()).collect();
    let runtime = multi_thread_runtime()?;
    let served = runtime.block_on(async {
        match arguments.http {
            None => over_pipes(server).await,
            Some(address) => {
                let mut options = HttpOptions::default();
                (options.token, options.origins) = (token, origins);
                over_http(server, address, options).await
            }
        }
    });
    // A read of standard input that cannot be taken back is left to the end of the process.
    runtime.shutdown_background();
    served.map_err(|error| Failure::of(&error, Exit::Failed))?;
    Ok(Exit::Fine)
}

/// The time that a person at a client has for an answer. A silent conversation over HTTP is ended after five minutes, with its question.
const ANSWER_WITHIN: Duration = Duration::from_secs(240);

/// Returns the source of decisions on waiting calls. Without directives to run, no call can wait,
/// and a message says so.
fn approvals(is_by_client: bool, grant: &Grant) -> Result<Approvals, Failure> {
    if !is_by_client {
        return Ok(Approvals::Operator);
    }
    if !grant.allows_some(Primary::Execute, Kind::Directive) {
        return Err(Failure::usage(
            "`--approve-by-client` is for directives that clients run; add `--allow rye.execute.directive.PATTERN`",
        ));
    }
    Ok(Approvals::Clients { within: ANSWER_WITHIN })
}

/// Returns the warning about a sandbox that is not complete, if clients can have programs started.
fn notice(grant: &Grant, environment: &Environment) -> Result<Option<String>, Failure> {
    let starts =
        [Kind::Directive, Kind::Tool].map(|kind| grant.allows_some(Primary::Execute, kind));
    let rye = environment.rye()?;
    if !starts.contains(&true) || rye.library().spaces().project().is_none() {
        return Ok(None);
    }
    let notice = rye.sandbox_warning()?;
    crate::output::warnings(notice.as_slice());
    Ok(notice)
}

async fn over_pipes(server: McpServer) -> Result<(), ServeError> {
    let (read, write) = rmcp::transport::io::stdio_pipes();
    server.serve(read, write, crate::signals::wait()).await
}

async fn over_http(
    server: McpServer,
    address: SocketAddr,
    options: HttpOptions,
) -> Result<(), ServeError> {
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback { address });
    }
    let listener = tokio::net::TcpListener::bind(address).await?;
    eprintln!("listening at http://{}/mcp", listener.local_addr()?);
    server.serve_http(listener, options, crate::signals::wait()).await
}

/// The capability of the shell, which each command tool and script needs.
const SHELL: &str = "rye.execute.tool.rye.bash.bash";

/// The warning of tools that are allowed and that no client can call, with all that is missing.
fn uncallable(grant: &Grant, environment: &Environment) -> Result<Option<String>, Failure> {
    let found = environment.rye()?.uncallable(grant);
    let Some((first, _)) = found.first() else { return Ok(None) };
    let missing = found.iter().flat_map(|(_, missing)| missing);
    let missing: BTreeSet<&str> = missing.map(Pattern::as_str).collect();
    let options: Vec<String> = missing.iter().map(|pattern| format!("--allow {pattern}")).collect();
    let (tools, them) = match found.len() {
        1 => (format!("tool `{first}` is allowed and what it stands for is"), "it"),
        count => (
            format!("{count} tools, such as `{first}`, are allowed and what they stand for is"),
            "them",
        ),
    };
    let shell = match missing.contains(SHELL) {
        true => format!("; `{SHELL}` allows every command of the shell, too"),
        false => String::new(),
    };
    Ok(Some(format!(
        "{tools} not, so that no client can call {them}: add `{}`{shell}. To allow {them} alone, allow a directive that calls \
         {them}, with `--allow rye.execute.directive.ID`",
        options.join(" ")
    )))
}

/// Tells a person at a terminal what is served and how a client connects.
fn announce(
    arguments: &Arguments,
    grant: &Grant,
    environment: &Environment,
) -> Result<(), Failure> {
    let rye = environment.rye()?;
    let known = rye.item_capabilities();
    let count = |primary: &str, kind: &str, noun: &str| {
        let lead = format!("rye.{primary}.{kind}.");
        let those = known.iter().filter(|it| it.as_str().starts_with(&lead) && grant.allows(it));
        crate::output::counted(those.count(), noun)
    };
    let project = rye.library().spaces().project().map(|project| project.display().to_string());
    let place = project.unwrap_or_else(|| "/PATH/TO/PROJECT".to_owned());
    eprintln!(
        "serving {place}: {} and {} to read, {} and {} to run",
        count("load", "directive", "directive"),
        count("load", "knowledge", "knowledge item"),
        count("execute", "directive", "directive"),
        count("execute", "tool", "tool"),
    );
    if arguments.http.is_none() {
        eprint!(
            "an MCP client starts this command by itself and speaks over standard input and output; its configuration is\n  \
             {{\"mcpServers\": {{\"rye\": {{\"command\": \"rye\", \"args\": [\"mcp\", \"--project\", \"{place}\"]}}}}}}\n\
             add the `--allow` options to `args`; Ctrl-C ends the server\n"
        );
    }
    Ok(())
}

/// The advice about a risk on the command line.
const ADVICE: &str = "say why with `--acknowledge RISK=REASON`, or allow less";

/// Refuses risks of the operator's additions, which are judged as a directive's grant is (SPEC
/// 9.6).
fn refuse_risks(
    added: &Grant,
    acknowledged: &[Acknowledged],
    environment: &Environment,
) -> Result<(), Failure> {
    // Also where nothing is added: a server whose trust is broken should not begin.
    let rye = environment.rye()?;
    let acknowledged: Vec<Acknowledgement> =
        acknowledged.iter().map(|acknowledged| acknowledged.0.clone()).collect();
    let risks = rye.risks(added, &acknowledged)?;
    let warned: Vec<String> = risks.warned.iter().map(|it| format!("{it}; {ADVICE}")).collect();
    crate::output::warnings(&warned);
    match risks.blocked.as_slice() {
        [] => Ok(()),
        blocked => Err(Failure::refused(format!(
            "what clients would be allowed is too dangerous: {}; {ADVICE}",
            blocked.join("; ")
        ))),
    }
}

/// A server whose threads could never be answered should not begin.
fn check_provider(name: Option<&str>, environment: &Environment) -> Result<(), Failure> {
    let Some(name) = name.filter(|name| *name != "steps") else { return Ok(()) };
    let known: Vec<String> = environment.rye()?.providers()?.into_iter().map(|it| it.0).collect();
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "no provider is called `{name}`; there are `steps`, `{}`",
        known.join("`, `")
    )))
}

fn check_token(token: Option<&str>, is_needed: bool) -> Result<(), Failure> {
    match token {
        None if is_needed => Err(Failure::usage(
            "over HTTP, `--allow` needs a token from clients; put one of at least 16 characters into RYE_MCP_TOKEN",
        )),
        Some(token) if token.len() < SHORTEST_TOKEN => {
            Err(Failure::usage("RYE_MCP_TOKEN is too short; use at least 16 characters"))
        }
        _ => Ok(()),
    }
}

fn host(grant: Grant, environment: &Environment) -> Result<ServerHost, Failure> {
    let setup = environment.setup()?;
    let around = environment.clone();
    Ok(ServerHost {
        setup,
        threads: None,
        replica: None,
        grant,
        provider: ProviderChoice::Directive,
        directives_as_tools: false,
        clock: Arc::new(SystemClock::new()),
        secrets: Arc::new(Variables),
        random: Arc::new(random),
        signing_key: Arc::new(move || {
            let key = signing_key_if_any(&around).map_err(|failure| failure.to_string())?;
            Ok(key.map(Arc::new))
        }),
        approvals: Approvals::Operator,
        notice: None,
        new_thread: Arc::new(|id: &ItemId| {
            ThreadId::new(id.as_str(), &uuid::Uuid::now_v7().to_string())
                .expect("because an item id and a UUID make a thread's id")
        }),
    })
}
