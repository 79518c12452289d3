//! The client of an engine: its address, its token, and the rules for connections.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Url, blocking, redirect};
use rustls_platform_verifier::BuilderVerifierExt as _;
use rye::{EngineAddress, PrepareError, WorkerLabel, engine_audience};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;

/// The time within which the engine answers.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);

/// An engine, by the address of its ingress.
pub(crate) struct Engine {
    /// The address or name on the command line, for commands that are shown.
    pub(super) named: String,
    pub(super) address: Url,
    /// The label of the workers that run the threads.
    pub(super) label: Option<WorkerLabel>,
    /// The engine for which requests are signed, so that they count on no other one.
    pub(super) audience: String,
    pub(super) token: Option<String>,
    /// The variable of the token.
    pub(super) token_variable: String,
    pub(super) client: blocking::Client,
    /// The engine has answered this program. The program waits for it when it does not do so again.
    pub(super) has_answered: Cell<bool>,
}

impl Engine {
    /// Opens the engine with this address or name. Its bearer token is in the variable that the configuration names, if that is set.
    pub(crate) fn open(
        engine: &str,
        label: Option<WorkerLabel>,
        environment: &Environment,
    ) -> Result<Self, Failure> {
        if let Some(option) = environment.option_of_this_machine() {
            return Err(refuse_option(option));
        }
        let named = match engine.contains("://") {
            true => None,
            false => Some(find_engine(engine, environment)?),
        };
        let shown = label.as_ref().map(|label| format!("{engine} --label {label}"));
        let shown = shown.unwrap_or_else(|| engine.to_owned());
        let label = label.or(named.as_ref().map(named_label).transpose()?.flatten());
        let url = named.as_ref().map_or(engine, |named| &named.url);
        let address = parse_address(url)?;
        let token_variable =
            named.as_ref().map_or("RYE_ENGINE_TOKEN", |named| &named.token_variable).to_owned();
        let client = connect(&address)?;
        let token = Environment::variable(&token_variable);
        let audience = named.as_ref().and_then(|named| named.audience.as_deref());
        // An address has one form, in which it is signed.
        let audience = audience.map_or(address.to_string(), |name| {
            name.parse::<Url>().map_or(name.to_owned(), |address| address.to_string())
        });
        let audience = engine_audience(&audience);
        let has_answered = Cell::new(false);
        Ok(Self {
            named: shown,
            address,
            label,
            audience,
            token,
            token_variable,
            client,
            has_answered,
        })
    }
}

/// Parses an address to which places are added. The last part of its path would be replaced otherwise.
fn parse_address(url: &str) -> Result<Url, Failure> {
    let mut address: Url = url
        .parse()
        .map_err(|error| Failure::usage(format!("`{url}` is no address of an engine: {error}")))?;
    let has_more = address.query().is_some() || address.fragment().is_some();
    if has_more || !address.username().is_empty() || address.password().is_some() {
        return Err(Failure::usage(
            "the address of an engine has no name, password, query or fragment".to_owned(),
        ));
    }
    if !address.path().ends_with('/') {
        address.set_path(&format!("{}/", address.path()));
    }
    Ok(address)
}

/// Makes the client for an address, which has to be on this machine or to begin with `https:`.
fn connect(address: &Url) -> Result<blocking::Client, Failure> {
    let is_local = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    if address.scheme() != "https" && !is_local {
        return Err(Failure::usage(format!(
            "`{address}` is another machine, so that the address of the engine has to begin with `https:`"
        )));
    }
    let failed = |error: &dyn std::error::Error| Failure::of(error, Exit::Failed);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_platform_verifier())
        .map_err(|error| failed(&error))?;
    let client = blocking::Client::builder()
        .tls_backend_preconfigured(tls.with_no_client_auth())
        // A redirect would send the token elsewhere.
        .redirect(redirect::Policy::none())
        // Each request has its own.
        .timeout(None);
    // A proxy of the environment would get the token and the records without TLS.
    let client = if is_local { client.no_proxy() } else { client };
    client.build().map_err(|error| failed(&error))
}

/// Returns the label that the operator's configuration gives an engine.
fn named_label(named: &EngineAddress) -> Result<Option<WorkerLabel>, Failure> {
    let label = named.label.as_deref().map(str::parse::<WorkerLabel>).transpose();
    label.map_err(|error| Failure::usage(error.to_string()))
}

pub(crate) fn refuse_option(option: &str) -> Failure {
    Failure::usage(format!(
        "`{option}` does nothing to a thread of an engine; its workers have options of their own"
    ))
}

/// Returns the engine of this name in the operator's configuration.
fn find_engine(name: &str, environment: &Environment) -> Result<EngineAddress, Failure> {
    let mut engines = environment.rye()?.engines().map_err(|problems| refuse(&problems))?;
    engines.remove(name).ok_or_else(|| {
        let known = engines.into_keys().collect::<Vec<_>>().join("`, `");
        let known = if known.is_empty() { String::new() } else { format!(", which has `{known}`") };
        Failure::usage(format!(
            "no engine `{name}` in your `config/agent/engines.yaml`{known}; an address begins with `https://`"
        ))
    })
}

fn refuse(problems: &[PrepareError]) -> Failure {
    let problems = problems.iter().map(ToString::to_string).collect::<Vec<_>>();
    Failure::refused(problems.join("; "))
}
