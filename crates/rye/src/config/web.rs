//! `config/agent/web.yaml`: which hosts tools may reach (SPEC 5.5, 4.3).

use std::str::FromStr;

use rye_resolve::{Config, Item, Space};
use rye_tools::{HostPattern, Origin, RuleError, WebRules};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, read};

pub(crate) const WEB: &str = "web";

/// The configuration that says it.
pub(crate) const FILE: &str = "agent/web";

/// Which hosts tools may reach.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "web")]
pub(crate) struct WebFile {
    /// The hosts that may be reached: `example.org`, `*.example.org` for all below it, `*` for all. Without a list, every
    /// public host. A project's list can only leave out more.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    hosts: Option<Vec<String>>,
    /// Ports that may be reached beside 80 and 443. Not for projects.
    #[schemars(with = "Vec<u16>", inner(range(min = 1)))]
    #[serde(default)]
    ports: Option<Vec<u16>>,
    /// Hosts that may be reached although they are on this machine or in a private network, each with its port, as in
    /// `localhost:8080`. Where there are lists of `hosts`, they have to have it too. Not for projects.
    #[schemars(with = "Vec<String>")]
    #[serde(default)]
    private: Option<Vec<String>>,
}

/// What the layers of `agent/web` say together: of the operator's, the nearer one decides; a project's can leave out hosts,
/// and nothing else.
///
/// # Errors
///
/// When a layer breaks the schema or has something in it that names no hosts, or a project's allows something.
pub(crate) fn web_rules(config: Option<&Config>) -> Result<WebRules, ConfigError> {
    let mut rules = WebRules::default();
    let mut of_operator: Option<Vec<HostPattern>> = None;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: WebFile = read(WEB, layer)?;
        let hosts: Option<Vec<HostPattern>> = parsed(layer, file.hosts)?;
        let private: Option<Vec<Origin>> = parsed(layer, file.private)?;
        if layer.location.space == Space::Project {
            if file.ports.is_some() || private.is_some() {
                let problem = "a project may not allow ports or private hosts; `ports` and `private` are for the user space";
                return Err(error(layer, vec![problem.to_owned()]));
            }
            rules.hosts.extend(hosts);
            continue;
        }
        of_operator = hosts.or(of_operator);
        rules.ports = file.ports.map_or(rules.ports, |ports| ports.into_iter().collect());
        rules.private = private.map_or(rules.private, |private| private.into_iter().collect());
    }
    rules.hosts.extend(of_operator);
    Ok(rules)
}

fn parsed<T: FromStr<Err = RuleError>>(
    layer: &Item<Value>,
    texts: Option<Vec<String>>,
) -> Result<Option<Vec<T>>, ConfigError> {
    let Some(texts) = texts else { return Ok(None) };
    let (mut all, mut problems) = (Vec::new(), Vec::<String>::new());
    for text in &texts {
        match text.parse::<T>() {
            Ok(one) => all.push(one),
            Err(error) => problems.push(error.to_string()),
        }
    }
    if problems.is_empty() { Ok(Some(all)) } else { Err(error(layer, problems)) }
}

fn error(layer: &Item<Value>, problems: Vec<String>) -> ConfigError {
    ConfigError { location: layer.location.to_string(), schema: WEB, problems }
}
