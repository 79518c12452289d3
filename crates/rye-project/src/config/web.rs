//! `config/agent/web.yaml`: which hosts tools may reach (SPEC 5.5, 4.3).

use std::collections::BTreeMap;
use std::str::FromStr;

use rye_resolve::{Config, Item, Space};
use rye_web::{Credential, HostPattern, Origin, RuleError, WebRules};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::read::{ConfigError, ConfigFile, ConfigProblem, forbidden, read, refuse};

/// The configuration that says it.
pub(crate) const FILE: &str = "agent/web";

/// Hosts that tools may reach.
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
    /// Secrets that are sent along with the requests of tools whose manifests name them under `credential`. Not for projects.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, CredentialFile>", extend("propertyNames" = { "pattern": NAME }))]
    credentials: Option<BTreeMap<String, CredentialFile>>,
}

impl ConfigFile for WebFile {
    const FILE: &'static str = FILE;
    const SCHEMA: &'static str = "web";
    const IS_SECRETIVE: bool = true;

    /// The keys choose hosts of this machine and receivers of secrets.
    fn problems_of_project(value: &Value) -> Vec<ConfigProblem> {
        const ASKED: &str = "a project may not allow ports or private hosts; `ports` and `private` are for the user space";
        const TOLD: &str =
            "a project may not say who gets a secret; `credentials` is for the user space";
        let mut problems =
            forbidden(value, &[("ports", ASKED), ("private", ASKED), ("credentials", TOLD)]);
        problems.dedup_by(|second, first| second.message == first.message);
        problems
    }

    /// Returns texts that are no host, and secrets that no origin can be sent.
    fn problems_of_meaning(value: &Value) -> Vec<ConfigProblem> {
        let Ok(file) = serde_json::from_value::<Self>(value.clone()) else { return Vec::new() };
        let unread = |key: &str,
                      is_read: &dyn Fn(&str) -> bool,
                      texts: Option<Vec<String>>,
                      help: &str| {
            let texts = texts.into_iter().flatten().enumerate();
            let unread = texts.filter(|(_, text)| !is_read(text));
            unread
                .map(|(place, _)| ConfigProblem::new(&format!("/{key}/{place}"), help.to_owned()))
                .collect::<Vec<_>>()
        };
        let mut problems = unread(
            "hosts",
            &|text| text.parse::<HostPattern>().is_ok(),
            file.hosts,
            "no host; write `example.org`, `*.example.org` for all below it, or `*`",
        );
        problems.extend(unread(
            "private",
            &|text| text.parse::<Origin>().is_ok(),
            file.private,
            "no host with a port; write it like `localhost:8080`",
        ));
        let credentials = file.credentials.into_iter().flatten();
        problems.extend(credentials.filter(|(name, one)| one.read(name).is_err()).map(|(name, _)| {
            let message = "no credential; it names a variable under `env`, and under `origins` who gets it, such as \
                       `https://api.example.org`, in clear text on this machine alone";
            ConfigProblem::new(&format!("/credentials/{name}"), message.to_owned())
        }));
        problems
    }
}

/// The form of a credential's name, which is a part of the capability of sending it.
const NAME: &str = "^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$";

/// One secret: its place and its receivers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct CredentialFile {
    // No pattern, because the error of a pattern quotes the text, which might be the secret.
    /// The variable of the environment that Rye runs in which holds the secret; never the secret itself.
    env: String,
    /// The header that carries it; default `Authorization`.
    #[serde(default)]
    #[schemars(with = "String")]
    header: Option<String>,
    /// The word before it in the header; default `Bearer` in `Authorization`, and none in every other. An empty one is none.
    #[serde(default)]
    #[schemars(with = "String")]
    scheme: Option<String>,
    /// The receivers, as in `https://api.example.org`; `http://` on this machine alone, as in
    /// `http://localhost:8080`.
    #[schemars(length(min = 1))]
    origins: Vec<String>,
}

impl CredentialFile {
    fn read(&self, name: &str) -> Result<Credential, String> {
        let header = self.header.as_deref().unwrap_or("Authorization");
        let usual = header.eq_ignore_ascii_case("Authorization").then_some("Bearer");
        let scheme = self.scheme.as_deref().or(usual).filter(|scheme| !scheme.is_empty());
        Credential::new(&self.env, header, scheme, &self.origins)
            .map_err(|error| format!("credential `{name}`: {error}"))
    }
}

/// Merges the layers of `agent/web`. Of the operator's layers, the nearer one decides. A project's layer can
/// leave out hosts, and nothing else.
///
/// # Errors
///
/// The function fails if a layer breaks the schema, or if a text in it names no hosts or no secret. It fails
/// too if a project's layer allows something.
pub(crate) fn web_rules(config: Option<&Config>) -> Result<WebRules, ConfigError> {
    let mut rules = WebRules::default();
    let mut of_operator: Option<Vec<HostPattern>> = None;
    for layer in config.map_or(&[][..], Config::layers).iter().rev() {
        let file: WebFile = read(layer)?;
        let hosts: Option<Vec<HostPattern>> = parse_all(layer, file.hosts.as_deref())?;
        let private: Option<Vec<Origin>> = parse_all(layer, file.private.as_deref())?;
        if layer.location.space == Space::Project {
            rules.hosts.extend(hosts);
            continue;
        }
        rules.credentials.extend(credentials(layer, &file)?);
        of_operator = hosts.or(of_operator);
        rules.ports = file.ports.map_or(rules.ports, |ports| ports.into_iter().collect());
        rules.private = private.map_or(rules.private, |private| private.into_iter().collect());
    }
    rules.hosts.extend(of_operator);
    Ok(rules)
}

/// The secrets of one layer; a nearer layer decides about each by its name.
fn credentials(
    layer: &Item<Value>,
    file: &WebFile,
) -> Result<BTreeMap<String, Credential>, ConfigError> {
    let mut all = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, one) in file.credentials.iter().flatten() {
        match one.read(name) {
            Ok(credential) => drop(all.insert(name.clone(), credential)),
            Err(problem) => problems.push(problem),
        }
    }
    refuse::<WebFile>(layer, problems).map(|()| all)
}

fn parse_all<T: FromStr<Err = RuleError>>(
    layer: &Item<Value>,
    texts: Option<&[String]>,
) -> Result<Option<Vec<T>>, ConfigError> {
    let Some(texts) = texts else { return Ok(None) };
    let mut all = Vec::new();
    let mut problems = Vec::<String>::new();
    for text in texts {
        match text.parse::<T>() {
            Ok(one) => all.push(one),
            Err(error) => problems.push(error.to_string()),
        }
    }
    refuse::<WebFile>(layer, problems).map(|()| Some(all))
}
