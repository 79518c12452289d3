//! Everything before the loop: each arrow a function, none of which sends anything.

use std::path::PathBuf;
use std::sync::Arc;

use rye_caps::Authority;
use rye_caps::risk::{Acknowledgement, Verdict};
use rye_prompt::{SystemFacts, system};
use rye_resolve::{Config, ExtendsChain};
use rye_sign::SigningKey;
use rye_sign::token::{Claims, Token};
use rye_thread::transcript::Injected;
use rye_thread::{Opening, OutputContract, Palette, Provider, ThreadRecord};
use rye_tools::fs::Root;

use super::authority::authority;
use super::contract::contract;
use super::error::PrepareError;
use super::facts::{Vouched, facts, injected, warnings};
use super::limits::limits;
use super::prompting::{Composed, composed, leaf, opened};
use super::provider::{Connected, connected};
use super::request::{Host, RunRequest};
use super::tools::offer;
use crate::Rye;
use crate::config::risk_table;

/// A run that can begin.
pub(crate) struct Prepared {
    pub(crate) threads: PathBuf,
    pub(crate) record: ThreadRecord,
    pub(crate) authority: Authority,
    pub(crate) palette: Palette,
    pub(crate) contract: OutputContract,
    pub(crate) opening: Opening,
    pub(crate) provider: Box<dyn Provider>,
    pub(crate) injected: Vec<Injected>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn prepare(
    rye: &Rye,
    request: &RunRequest,
    host: &Host<'_>,
    key: &Arc<SigningKey>,
) -> Result<Prepared, PrepareError> {
    let (library, threads) = (&rye.library, rye.threads().ok_or(PrepareError::NoProject)?);
    let composed = composed(library, &request.directive, &request.inputs)?;
    let chain = &composed.chain;
    refuse_hooks(chain)?;
    let contract = contract(chain)?;
    let authority = authority(chain, &composed.knowledge, &contract)?;
    let risk = library.config("agent/capability_risk")?;
    let mut notices = assess(risk.as_ref(), chain)?;
    let root = Root::open(library.spaces().project().ok_or(PrepareError::NoProject)?)
        .map_err(PrepareError::Project)?;
    let offer = offer(library, &authority, &root)?;
    notices.extend(offer.withheld);
    let resilience = library.config("agent/resilience")?;
    let limits = limits(resilience.as_ref(), chain, &request.limits)?;
    let connected = connected(library, &composed, request, host)?;
    let opening = opening(&composed, &connected, request, &offer.palette, &contract)?;
    let now = host.clock.now();
    let mut record = ThreadRecord::new(&request.thread, request.directive.as_str(), &limits, now);
    let token = token(chain, &authority, &record, key);
    let configs = [rye.trust_config.as_ref(), risk.as_ref(), resilience.as_ref()];
    let vouched: Vec<Vouched> = [offer.vouched, connected.vouched.into_iter().collect()]
        .into_iter()
        .flatten()
        .chain(configs.into_iter().flatten().flat_map(Vouched::of_layers))
        .collect();
    notices.extend(warnings(&composed, &vouched, rye));
    record.facts =
        facts(rye, &composed, &vouched, &token, key, host.signing_key.is_some(), &notices);
    let injected = injected(&composed);
    let (palette, provider) = (offer.palette, connected.provider);
    Ok(Prepared {
        threads,
        record,
        authority,
        palette,
        contract,
        opening,
        provider,
        injected,
        warnings: notices,
    })
}

/// Hooks can change what a run does, so a version that cannot run them does not pass over them.
fn refuse_hooks(chain: &ExtendsChain) -> Result<(), PrepareError> {
    let hooked = chain.root_first().find(|link| !link.content.value().hooks.is_empty());
    hooked.map_or(Ok(()), |link| Err(PrepareError::Hooks { id: link.id.clone() }))
}

/// Holds the declared grant against the risk table: warnings, or a refusal (SPEC 9.6).
fn assess(config: Option<&Config>, chain: &ExtendsChain) -> Result<Vec<String>, PrepareError> {
    let Some(declaring) = chain.declaring() else { return Ok(Vec::new()) };
    let table = risk_table(config)?;
    let declared =
        declaring.content.value().permissions.iter().flat_map(|block| &block.value.acknowledged);
    let acknowledged = declared
        .map(|acknowledge| Acknowledgement::new(&acknowledge.value.risk, &acknowledge.value.reason))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|source| PrepareError::Acknowledgement {
            id: declaring.id.clone(),
            source: Box::new(source),
        })?;
    let findings = table.assess(&chain.grant()?, &acknowledged);
    let (blocked, other): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(|finding| finding.verdict == Verdict::Block);
    if !blocked.is_empty() {
        return Err(PrepareError::Risk { id: declaring.id.clone(), findings: blocked });
    }
    Ok(other
        .iter()
        .filter(|finding| finding.verdict == Verdict::Warn)
        .map(ToString::to_string)
        .collect())
}

fn opening(
    composed: &Composed,
    connected: &Connected,
    request: &RunRequest,
    palette: &Palette,
    contract: &OutputContract,
) -> Result<Opening, PrepareError> {
    let style = request.returns.or(connected.returns).unwrap_or_default();
    let names: Vec<String> = palette.specs(contract).into_iter().map(|spec| spec.name).collect();
    let template = connected.system_template.as_deref().map(|template| {
        let facts = SystemFacts {
            leaf: leaf(&composed.chain),
            inputs: &composed.inputs,
            tool_names: &names,
        };
        system(template, &facts).map_err(|source| PrepareError::Template {
            provider: connected.name.clone(),
            source: Box::new(source),
        })
    });
    let (_, opening) = opened(composed, style, template.transpose()?.as_deref())?;
    Ok(Opening { system: opening.system, first_user_message: opening.first_user_message })
}

/// The capability token of the thread, which holds for as long as the thread may last (SPEC 9.5).
fn token(
    chain: &ExtendsChain,
    authority: &Authority,
    record: &ThreadRecord,
    key: &SigningKey,
) -> Token {
    let leaf = chain.leaf();
    let issued = record.created.timestamp();
    let seconds = i64::try_from(record.limits.duration_seconds).unwrap_or(i64::MAX).max(1);
    let claims = Claims {
        token_id: format!("{}-token", record.thread),
        thread_id: record.thread.to_string(),
        directive_id: leaf.id.to_string(),
        directive_hash: rye_sign::Digest::of(leaf.source.as_bytes()),
        capabilities: declared(authority),
        issued,
        expires: rye_sign::Timestamp::from_unix(issued.as_unix().saturating_add(seconds)),
    };
    Token::mint(claims, key)
        .expect("because ids are one line of text and a thread lasts at least a second")
}

/// The patterns of the innermost layer, which is the directive's own.
fn declared(authority: &Authority) -> Vec<String> {
    let innermost = authority.layers().last();
    innermost
        .map(|layer| layer.grant().patterns().iter().map(ToString::to_string).collect())
        .unwrap_or_default()
}
