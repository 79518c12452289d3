//! The provider that answers the thread's requests.

use rye_caps::{Capability, Kind, Primary};
use rye_parse::nearest_name;
use rye_providers::{
    ApiKey, ChoiceError, ModelChoice, ModelPreference, ProviderConfig, RandomBits, StepsProvider,
    connect,
};
use rye_resolve::{Config, Item, ItemId, Library, Space, StatedModel};
use rye_thread::{Provider, ProviderInfo};
use rye_types::{ItemKind, ReturnStyle};

use super::authority::of_signer;
use super::calling::one_call;
use super::error::PrepareError;
use super::prices::vouched_prices;
use super::prompting::Composed;
use super::request::{PlanRequest, ProviderChoice, STEPS};
use super::steps::{refuse_references, steps_provider};
use crate::config::{
    DEFAULT_PROVIDER_FILE, DefaultProvider, PROVIDERS, PROVIDERS_FILE, default_provider,
    provider_variables,
};

/// The provider before it has a key. Nothing in it needs the environment.
#[derive(Debug)]
#[expect(clippy::exhaustive_enums, reason = "a model or the steps answer, and nothing else")]
pub enum Answerer {
    /// A model.
    Model(Box<Model>),
    /// The directive's own steps (SPEC 10.13).
    Steps(StepsProvider),
}

/// A model, as its provider's configuration describes it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Model {
    /// The name of the provider.
    pub name: String,
    /// The file of the configuration.
    pub item: Item<String>,
    /// The configuration.
    pub config: ProviderConfig,
    /// The model, and how it is asked.
    pub choice: ModelChoice,
    /// `true` if neither the operator nor the directive names the provider.
    pub is_default: bool,
    /// The configuration that makes the provider the default, where it was asked.
    chosen_by: Option<Config>,
}

impl Answerer {
    /// Returns the name of the provider.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Model(model) => &model.name,
            Self::Steps(_) => STEPS,
        }
    }

    /// The file of the provider's configuration; none for the steps.
    pub(crate) fn item(&self) -> Option<&Item<String>> {
        match self {
            Self::Model(model) => Some(&model.item),
            Self::Steps(_) => None,
        }
    }

    /// Returns the name of the provider if neither the operator nor the directive names it.
    #[must_use]
    pub fn default_name(&self) -> Option<&str> {
        match self {
            Self::Model(model) if model.is_default => Some(&model.name),
            Self::Model(_) | Self::Steps(_) => None,
        }
    }

    /// The configuration that makes the provider the default, where it was asked.
    pub(crate) fn chosen_by(&self) -> Option<&Config> {
        match self {
            Self::Model(model) => model.chosen_by.as_ref(),
            Self::Steps(_) => None,
        }
    }

    pub(crate) fn returns(&self) -> Option<ReturnStyle> {
        match self {
            Self::Model(model) => model.config.returns(),
            Self::Steps(_) => None,
        }
    }

    pub(crate) fn system_template(&self) -> Option<&str> {
        match self {
            Self::Model(model) => model.config.system_template(),
            Self::Steps(_) => None,
        }
    }

    /// The sentence that tells where requests go, where a project says so (SPEC 11.1).
    #[must_use]
    pub fn destination(&self) -> Option<String> {
        let item = self.item().filter(|item| item.location.space == Space::Project)?;
        let Self::Model(model) = self else { return None };
        let unpriced = match (model.choice.prices, model.config.auth()) {
            (None, Some(_)) => format!(
                "; the project's prices do not count where your key pays: to accept them, copy the file with `rye load {} --to user`",
                item.id
            ),
            _ => String::new(),
        };
        Some(format!(
            "provider `{}` is the project's own: requests go to `{}`, says `{}`{unpriced}",
            model.name,
            model.config.base_url(),
            item.location
        ))
    }

    /// Returns the description of the model, with its prices.
    #[must_use]
    pub fn describe(&self) -> ProviderInfo {
        match self {
            Self::Model(model) => model.choice.describe(&model.name),
            Self::Steps(provider) => provider.describe(),
        }
    }

    /// Returns the provider, with the key that `key_of` returns for the name of its variable. Nothing is sent.
    ///
    /// # Errors
    ///
    /// The method fails if there is no such key, or if the configuration leads nowhere.
    pub fn connect(
        self,
        key_of: impl FnOnce(&str) -> Option<ApiKey>,
        random: RandomBits,
    ) -> Result<Box<dyn Provider>, PrepareError> {
        let Model { name: provider, config, choice, .. } = match self {
            Self::Model(model) => *model,
            Self::Steps(provider) => return Ok(Box::new(provider)),
        };
        let key = config.auth().and_then(|auth| key_of(&auth.env));
        connect(&config, &choice, key, random)
            .map_err(|source| PrepareError::Connect { provider, source: Box::new(source) })
    }
}

pub(crate) fn answerer(
    library: &Library,
    composed: &Composed,
    request: &PlanRequest,
) -> Result<Answerer, PrepareError> {
    let chosen = request.provider();
    if carries_out_steps(composed, &chosen) {
        let steps = match &request.tool {
            Some(tool) => {
                refuse_references(&composed.chain.leaf().id, &composed.inputs)?;
                one_call(tool, composed)
            }
            None => steps_provider(library, composed, &request.inputs)?,
        };
        return Ok(Answerer::Steps(steps));
    }
    let named = match chosen.as_ref() {
        ProviderChoice::Named(name) => Some(name.as_str()),
        ProviderChoice::Directive | ProviderChoice::Steps => named_provider(composed),
    };
    let (name, is_default) = match (named, &request.default_provider) {
        (Some(name), _) => (name.to_owned(), false),
        (None, Some(name)) => (name.clone(), true),
        (None, None) => (configured_default(library)?, true),
    };
    let is_configured = is_default && request.default_provider.is_none();
    let chosen_by =
        is_configured.then(|| library.config(DEFAULT_PROVIDER_FILE)).transpose()?.flatten();
    let name = name.as_str();
    let (item, config) = provider_config(library, name).map_err(|error| match is_default {
        true => of_default(library, error),
        false => error,
    })?;
    let choice = choose(&config, composed, request).map_err(|source| PrepareError::Model {
        id: composed.chain.leaf().id.clone(),
        provider: name.to_owned(),
        source: Box::new(source),
    })?;
    let name = name.to_owned();
    Ok(Answerer::Model(Box::new(Model { name, item, config, choice, is_default, chosen_by })))
}

/// The provider where nothing names one, no configuration either.
pub const DEFAULT_PROVIDER: &str = "anthropic_messages";

/// Names the file that makes the provider the default, if one does.
fn of_default(library: &Library, error: PrepareError) -> PrepareError {
    match chosen_default(library) {
        Ok(Some(DefaultProvider { location, .. })) => PrepareError::NoDefaultProvider {
            location: location.to_string(),
            source: Box::new(without_steps(error)),
        },
        _ => error,
    }
}

/// Suggests no `steps` for a default, which no file may make it.
fn without_steps(error: PrepareError) -> PrepareError {
    match error {
        PrepareError::UnknownProvider { provider, suggestion, known, .. } => {
            let suggestion = suggestion.filter(|name| name != STEPS);
            PrepareError::UnknownProvider { provider, suggestion, known, is_default: true }
        }
        error => error,
    }
}

/// The provider that the configuration names for runs that name none.
fn configured_default(library: &Library) -> Result<String, PrepareError> {
    let chosen = chosen_default(library)?;
    Ok(chosen.map_or_else(|| DEFAULT_PROVIDER.to_owned(), |chosen| chosen.name))
}

/// The default that a configuration file sets, if one does. A project's file names a provider that the operator has without
/// the project, because it decides where prompts go (SPEC 4.3).
pub(crate) fn chosen_default(library: &Library) -> Result<Option<DefaultProvider>, PrepareError> {
    let config = library.config(DEFAULT_PROVIDER_FILE)?;
    let Some(chosen) = default_provider(config.as_ref())? else { return Ok(None) };
    if chosen.is_of_project() {
        let (item, _) = provider_config(library, &chosen.name)?;
        if item.location.space == Space::Project {
            let DefaultProvider { name, location } = chosen;
            return Err(PrepareError::DefaultProvider { name, location: location.to_string() });
        }
    }
    Ok(Some(chosen))
}

/// Returns `true` if no model answers: the operator or `<model>` names `steps` (SPEC 10.13).
pub(crate) fn carries_out_steps(composed: &Composed, choice: &ProviderChoice) -> bool {
    match choice {
        ProviderChoice::Steps => true,
        ProviderChoice::Named(_) => false,
        ProviderChoice::Directive => names_steps(composed.chain.model().as_ref()),
    }
}

/// Returns `true` if the `<model>` of a chain says that no model answers.
pub(crate) fn names_steps(stated: Option<&StatedModel<'_>>) -> bool {
    let provider = stated.and_then(|stated| stated.model.value.provider.as_ref());
    provider.is_some_and(|provider| provider.value == STEPS)
}

/// The provider that the `<model>` of the chain names.
fn named_provider(composed: &Composed) -> Option<&str> {
    let model = composed.chain.model()?.model;
    Some(model.value.provider.as_ref()?.value.as_str())
}

/// Reads a provider's configuration, verified like any item (SPEC 4.3).
pub(crate) fn provider_config(
    library: &Library,
    name: &str,
) -> Result<(Item<String>, ProviderConfig), PrepareError> {
    let id: ItemId = format!("{PROVIDERS}{name}").parse().map_err(|source| {
        let kind = ItemKind::Tool;
        let text = name.to_owned();
        PrepareError::Resolve(rye_resolve::ResolveError::InvalidId { kind, text, source })
    })?;
    let item = match library.text(ItemKind::Tool, &id) {
        Err(rye_resolve::ResolveError::NotFound { .. }) => return Err(unknown(library, name)?),
        item => item?,
    };
    vouch(&item, name)?;
    let location = item.location.clone();
    let value = rye_parse::config(&item.source, location.extension()).map_err(|source| {
        rye_resolve::ResolveError::Unparseable {
            location: location.clone(),
            text: item.source.clone(),
            source,
        }
        .without_text()
    })?;
    let config = ProviderConfig::from_value(&value)
        .map_err(|source| PrepareError::Provider { location: location.to_string(), source })?;
    allow_variable(library, &item, &config)?;
    let is_own = item.location.space == Space::Project;
    let config = if is_own { vouched_prices(library, config) } else { config };
    Ok((item, config.or_called(name)))
}

/// A project chooses where requests go, so the operator chooses which of the environment's secrets may go there (SPEC 11.1).
fn allow_variable(
    library: &Library,
    item: &Item<String>,
    config: &ProviderConfig,
) -> Result<(), PrepareError> {
    let Some(auth) = config.auth().filter(|_| item.location.space == Space::Project) else {
        return Ok(());
    };
    let allowed = provider_variables(library.config(PROVIDERS_FILE)?.as_ref())?;
    if allowed.contains(&auth.env) {
        return Ok(());
    }
    let location = item.location.to_string();
    let variable = auth.env.clone();
    Err(PrepareError::ProviderVariable { location, variable })
}

/// Says which names there are instead of this one.
fn unknown(library: &Library, name: &str) -> Result<PrepareError, PrepareError> {
    let listed = library.list(ItemKind::Tool)?.into_iter();
    let names = listed.filter_map(|it| it.id.as_str().strip_prefix(PROVIDERS).map(str::to_owned));
    let known: Vec<String> = names.collect();
    let all = known.iter().map(String::as_str).chain([STEPS]);
    let suggestion = nearest_name(name, all).map(str::to_owned);
    Ok(PrepareError::UnknownProvider {
        provider: name.to_owned(),
        suggestion,
        known,
        is_default: false,
    })
}

/// Checks the limit on the key that signed a provider's configuration. Its signer chooses where
/// prompts and keys of the environment go, so that limit has to allow it.
fn vouch(item: &Item<String>, name: &str) -> Result<(), PrepareError> {
    let capability = Capability::new(Primary::Execute, Kind::Tool, item.id.as_str())
        .expect("because every item id is one of a capability");
    // The operator's policy bounds threads; who answers them is the operator's choice already.
    let permitted = of_signer(&[], item.content.provenance())?.permit(&capability.into()).map(drop);
    permitted.map_err(|source| PrepareError::ProviderSigner {
        provider: name.to_owned(),
        source: Box::new(source),
    })
}

/// Chooses the model of the thread. A thread that is resumed keeps its own, also where its directive would choose another one by
/// now. If the configuration lacks that one, it is not what it was, and the comparison with the record says so.
fn choose(
    config: &ProviderConfig,
    composed: &Composed,
    request: &PlanRequest,
) -> Result<ModelChoice, ChoiceError> {
    let wish = wish(composed, request);
    let Some(recorded) = &request.recorded else { return config.choose(&wish) };
    let fallback = recorded.fallback.as_deref().or(wish.fallback);
    let kept =
        ModelPreference { id: Some(&recorded.model), fallback, ..ModelPreference::default() };
    let alone = ModelPreference { fallback: None, ..kept };
    let chosen = config.choose(&kept).ok().filter(|choice| choice.model == recorded.model);
    chosen.map_or_else(|| config.choose(&alone).or_else(|_| config.choose(&wish)), Ok)
}

/// The model that the operator names, else the one that the directive asks for.
fn wish<'a>(composed: &'a Composed, request: &'a PlanRequest) -> ModelPreference<'a> {
    if let Some(model) = &request.model {
        return ModelPreference { id: Some(model), ..ModelPreference::default() };
    }
    let Some(StatedModel { model, .. }) = composed.chain.model() else {
        return ModelPreference::default();
    };
    preference(&model.value)
}

/// The model that the attributes of `<model>` ask for.
fn preference(model: &rye_parse::Model) -> ModelPreference<'_> {
    let rye_parse::Model { tier, id, fallback, .. } = model;
    let [tier, id, fallback] =
        [tier, id, fallback].map(|text| text.as_ref().map(|text| text.value.as_str()));
    ModelPreference { tier, id, fallback }
}

/// Returns the name of the provider that a run of a directive with this `<model>` asks; `None` where no model is asked or none is
/// configured.
pub(crate) fn provider_of(library: &Library, model: &rye_parse::Model) -> Option<String> {
    match &model.provider {
        Some(named) if named.value == STEPS => None,
        Some(named) => Some(named.value.clone()),
        None => configured_default(library).ok(),
    }
}

/// Returns the reason why a provider has no model for what `<model>` states.
pub(crate) fn choice_problem(
    config: &ProviderConfig,
    model: &rye_parse::Model,
) -> Option<ChoiceError> {
    config.choose(&preference(model)).err()
}
