//! `rye-worker`: drives threads of Rye for a Restate server.

mod activity;
mod admission;
mod cache;
#[cfg(test)]
mod conformance;
mod dispatch;
mod drivers;
mod engine;
mod entry;
mod ingress;
mod listing;
mod object;
mod orders;
mod progress;
mod project;
mod queue;
mod records;
mod requests;
mod tree_files;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use clap::Parser;
use restate_sdk::prelude::{Endpoint, HttpServer};
use rye::{WorkerLabel, engine_audience};

use self::cache::Cache;
use self::engine::Engine;
use self::ingress::{Ingress, Object};
use self::listing::RyeThreads;
use self::object::RyeThread;
use self::orders::RyeOrders;
use self::project::Project;
use self::requests::Authority;

/// Drive threads of Rye for a Restate server
///
/// The worker drives the threads of one project with the operator's key, its trust and its providers. Register it with
/// `restate deployments register http://ADDRESS`.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    /// The address to listen on, which has to be on this machine; a proxy with TLS leads there from others
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9080")]
    listen: SocketAddr,
    /// The project whose directives run; its files are those that tools see. With more than one, a thread runs in the first
    /// whose directives, tools, knowledge and configuration are those that the thread began with
    #[arg(long, value_name = "DIR", required = true)]
    project: Vec<PathBuf>,
    /// The operator's folder with keys, trust and configuration
    #[arg(long, value_name = "DIR", env = "USER_SPACE")]
    user_space: PathBuf,
    /// A trust document that counts for this worker
    #[arg(long, value_name = "FILE")]
    trust: Vec<PathBuf>,
    /// The worker's own folder for files of threads; by default one below `.ai/cache/engine` of the user space
    #[arg(long, value_name = "DIR")]
    cache: Option<PathBuf>,
    /// The engine for which requests have to be signed: its address as operators give it, or its `audience` in their
    /// `engines.yaml`; default: the address of the ingress
    #[arg(long, value_name = "NAME")]
    audience: Option<String>,
    /// The address of the server's ingress, from which earlier records are read
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080/")]
    ingress: String,
    /// The variable with the bearer token of the ingress
    #[arg(long, value_name = "NAME", default_value = "RYE_ENGINE_TOKEN")]
    token_variable: String,
    /// The label of the threads that the worker runs, which are those without a label otherwise
    #[arg(long, value_name = "LABEL")]
    label: Option<WorkerLabel>,
    /// A public key of the server, without whose signature no request is answered
    #[arg(long, value_name = "KEY")]
    identity_key: Vec<String>,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    // First of all: this program is also the launcher that confines and supervises the programs of tools.
    if let Some(code) = rye::sandbox::launch(&words) {
        return code;
    }
    match serve(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(arguments: Arguments) -> anyhow::Result<()> {
    if !arguments.listen.ip().is_loopback() {
        anyhow::bail!(
            "`{}` is reachable by other machines without TLS; listen on 127.0.0.1, behind a proxy with TLS",
            arguments.listen
        );
    }
    let token = std::env::var(&arguments.token_variable).ok().filter(|token| !token.is_empty());
    let ingress = Ingress::new(&arguments.ingress, token, arguments.label.clone())?;
    let cache = match &arguments.cache {
        Some(folder) => Cache::open(folder)?,
        None => Cache::in_user_space(&arguments.user_space)?,
    };
    let open = |folder: &PathBuf| {
        Project::open(folder, &arguments.user_space, &arguments.trust, cache.folder())
    };
    let projects = arguments.project.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let operator = projects.first().context("a worker needs a project")?.public_key();
    let name = arguments.audience.unwrap_or_else(|| ingress.address().to_owned());
    // An address has one form, in which it was signed.
    let name = name.parse::<reqwest::Url>().map_or(name, |address| address.to_string());
    let audience = engine_audience(&name);
    let authority = Authority { operator, audience, label: arguments.label };
    let engine = Arc::new(Engine::new(projects, authority, ingress));
    let name = |object| engine.ingress.name(object);
    let endpoint = Endpoint::builder().bind(RyeThreads.define(&name(Object::Threads)));
    let endpoint = endpoint.bind(RyeOrders.define(&name(Object::Orders)));
    let mut endpoint = endpoint.bind(RyeThread(engine).define());
    for key in &arguments.identity_key {
        endpoint = endpoint.identity_key(key).context("the identity key cannot be used")?;
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(arguments.listen).await?;
        println!("{}", listener.local_addr()?);
        HttpServer::new(endpoint.build()).serve(listener).await;
        anyhow::Ok(())
    })
}
