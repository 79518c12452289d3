//! The choice of a model from a config.

use rye_parse::{did_you_mean, nearest_name, quoted};
use rye_thread::ProviderInfo;
use rye_types::Prices;

use crate::ProviderConfig;
use crate::config::{MaxTokensField, Model, TIERS};

/// The model that a directive or the operator asks for: the attributes of `<model>`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the attributes of `<model>` that choose within one provider"
)]
pub struct ModelPreference<'a> {
    /// A tier of SPEC 11.1, such as `low` or `high`.
    pub tier: Option<&'a str>,
    /// The name of a model of the config. It overrides `tier`.
    pub id: Option<&'a str>,
    /// A tier or a model to use if the first is not available.
    pub fallback: Option<&'a str>,
}

/// A model with its limits and prices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelChoice {
    /// The provider's own name of the model.
    pub model: String,
    /// The largest number of tokens in a conversation.
    pub context_window: u64,
    /// The largest number of tokens in an answer.
    pub max_output: u64,
    /// Prices per million tokens, or `None` if the config has none.
    pub prices: Option<Prices>,
    /// The request member for `max_output`, which has two names in `openai_chat`.
    pub max_tokens_field: MaxTokensField,
    /// The model to start the thread with if the provider does not have this one or has no capacity for it.
    /// The driver gets it from [`Provider::fallback`](rye_thread::Provider::fallback).
    pub fallback: Option<Box<ModelChoice>>,
}

impl ModelChoice {
    /// A model without prices and without a fallback.
    pub fn new(model: &str, context_window: u64, max_output: u64) -> Self {
        Self {
            model: model.to_owned(),
            context_window,
            max_output,
            prices: None,
            max_tokens_field: MaxTokensField::default(),
            fallback: None,
        }
    }

    /// Returns the description of a provider named `provider` that runs this model.
    pub fn describe(&self, provider: &str) -> ProviderInfo {
        let Self { model, context_window, max_output, prices, .. } = self;
        let mut info = ProviderInfo::new(provider, model, *context_window, *max_output);
        info.prices = *prices;
        info
    }

    fn of(name: &str, model: &Model) -> Self {
        Self { prices: model.prices, ..Self::new(name, model.context_window, model.max_output) }
    }
}

/// The reason why no model could be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// The model is not in the config.
    #[error("the provider `{provider}` has no model `{model}`; it has {known}{suggestion}")]
    UnknownModel {
        /// The provider's name.
        provider: String,
        /// The model asked for.
        model: String,
        /// The end of the message, which suggests the nearest model.
        suggestion: String,
        /// The models of the config.
        known: String,
    },
    /// The tier does not exist, or the config has no model for it.
    #[error(
        "the provider `{provider}` has no model for the tier `{tier}`; it has {known}{suggestion}"
    )]
    UnknownTier {
        /// The provider's name.
        provider: String,
        /// The tier asked for.
        tier: String,
        /// The end of the message, which suggests the nearest tier.
        suggestion: String,
        /// The tiers of the config, or advice if it has none.
        known: String,
    },
    /// No model or tier was asked for, and the config has no default.
    #[error(
        "name a model or a tier: the provider `{provider}` has several models and no tier `standard`; it has {known}"
    )]
    Ambiguous {
        /// The provider's name.
        provider: String,
        /// The models of the config.
        known: String,
    },
}

impl ProviderConfig {
    /// Chooses a model for `wish`.
    ///
    /// If the config does not have the `id` or the `tier`, the fallback is chosen. If `wish` names neither,
    /// the first of the tiers `standard`, `general` and `balanced` is chosen, else the only model.
    ///
    /// # Errors
    ///
    /// [`ChoiceError`] if the config has neither the first choice nor the fallback, or has the first choice
    /// but not the named fallback.
    pub fn choose(&self, wish: &ModelPreference<'_>) -> Result<ModelChoice, ChoiceError> {
        let first = match (wish.id, wish.tier) {
            (Some(id), _) => self.by_id(id),
            (None, Some(tier)) => self.by_tier(tier),
            (None, None) => self.by_default(),
        };
        let Some(fallback) = wish.fallback else { return first };
        let fallback = self.by_name(fallback);
        match first {
            Ok(first) => Ok(ModelChoice { fallback: Some(Box::new(fallback?)), ..first }),
            Err(error) => fallback.map_err(|_| error),
        }
    }

    /// Returns the advice for a config without tiers.
    fn without_tiers(&self, tier: &str) -> String {
        let model = self.models().keys().next().map_or("MODEL", String::as_str);
        format!(
            "no tiers; name the model `{model}` instead, or add `tiers: {{ {tier}: {model} }}` to its file"
        )
    }

    fn by_id(&self, id: &str) -> Result<ModelChoice, ChoiceError> {
        match self.models().get(id) {
            Some(model) => Ok(ModelChoice {
                max_tokens_field: self.max_tokens_field(),
                ..ModelChoice::of(id, model)
            }),
            None => Err(ChoiceError::UnknownModel {
                provider: self.name().to_owned(),
                model: id.to_owned(),
                suggestion: did_you_mean(nearest_name(
                    id,
                    self.models().keys().map(String::as_str),
                )),
                known: quoted(self.models().keys().map(String::as_str)),
            }),
        }
    }

    fn by_tier(&self, tier: &str) -> Result<ModelChoice, ChoiceError> {
        if let Some(id) = self.tiers().get(tier) {
            return self.by_id(id);
        }
        let known = quoted(self.tiers().keys().map(String::as_str));
        let is_tier = TIERS.contains(&tier);
        Err(ChoiceError::UnknownTier {
            provider: self.name().to_owned(),
            tier: tier.to_owned(),
            suggestion: if is_tier {
                String::new()
            } else {
                did_you_mean(nearest_name(tier, TIERS.iter().copied()))
            },
            known: if known.is_empty() { self.without_tiers(tier) } else { known },
        })
    }

    fn by_name(&self, name: &str) -> Result<ModelChoice, ChoiceError> {
        if TIERS.contains(&name) { self.by_tier(name) } else { self.by_id(name) }
    }

    fn by_default(&self) -> Result<ModelChoice, ChoiceError> {
        let tiers = ["standard", "general", "balanced"];
        if let Some(tier) = tiers.into_iter().find(|tier| self.tiers().contains_key(*tier)) {
            return self.by_tier(tier);
        }
        let mut models = self.models().keys();
        match (models.next(), models.next()) {
            (Some(only), None) => self.by_id(only),
            _ => Err(ChoiceError::Ambiguous {
                provider: self.name().to_owned(),
                known: quoted(self.models().keys().map(String::as_str)),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config() -> ProviderConfig {
        let model = json!({ "context_window": 200_000, "max_output": 8_000 });
        ProviderConfig::from_value(&json!({
            "protocol": "anthropic_messages",
            "base_url": "https://api.anthropic.com",
            "tiers": { "low": "small", "high": "large" },
            "models": { "small": model, "large": model },
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(
        tier: Option<&str>,
        id: Option<&str>,
        fallback: Option<&str>,
        expected: Result<(&str, Option<&str>), &str>,
    ) {
        let chosen = config()
            .choose(&ModelPreference { tier, id, fallback })
            .map_err(|error| error.to_string());
        let chosen =
            chosen.map(|choice| (choice.model, choice.fallback.map(|choice| choice.model)));
        let expected =
            expected.map(|(model, fallback)| (model.to_owned(), fallback.map(str::to_owned)));
        assert_eq!(chosen, expected.map_err(str::to_owned));
    }

    #[test]
    fn an_id_wins_over_a_tier() {
        check(Some("low"), None, None, Ok(("small", None)));
        check(Some("low"), Some("large"), None, Ok(("large", None)));
    }

    #[test]
    fn a_fallback_is_kept_or_taken() {
        check(Some("high"), None, Some("low"), Ok(("large", Some("small"))));
        check(None, Some("gone"), Some("large"), Ok(("large", None)));
        check(Some("opus"), None, Some("high"), Ok(("large", None)));
    }

    #[test]
    fn what_is_not_there_is_an_error_that_lists_what_is() {
        let message = "the provider `anthropic_messages` has no model `smal`; it has `large`, `small`; did you mean `small`?";
        check(None, Some("smal"), None, Err(message));
        let message = "the provider `anthropic_messages` has no model for the tier `opus`; it has `high`, `low`";
        check(Some("opus"), None, None, Err(message));
        check(Some("opus"), None, Some("max"), Err(message));
        let message = "the provider `anthropic_messages` has no model for the tier `hihg`; it has `high`, `low`; did you mean `high`?";
        check(Some("hihg"), None, None, Err(message));
        let message = "the provider `anthropic_messages` has no model for the tier `max`; it has `high`, `low`";
        check(Some("low"), None, Some("max"), Err(message));
        let message = "name a model or a tier: the provider `anthropic_messages` has several models and no tier `standard`; \
                       it has `large`, `small`";
        check(None, None, None, Err(message));
    }

    #[test]
    fn a_server_with_one_model_says_how_a_tier_means_it() {
        let model = json!({ "context_window": 32_768, "max_output": 4_096 });
        let config = ProviderConfig::from_value(&json!({
            "protocol": "openai_chat",
            "base_url": "http://localhost:8080",
            "models": { "own": model },
        }))
        .unwrap();
        let wish = ModelPreference { tier: Some("fast"), id: None, fallback: None };
        assert_eq!(
            config.choose(&wish).unwrap_err().to_string(),
            "the provider `openai_chat` has no model for the tier `fast`; it has no tiers; name the model `own` instead, or add \
             `tiers: { fast: own }` to its file"
        );
    }
}
