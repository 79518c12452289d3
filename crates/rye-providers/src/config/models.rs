//! The models of a config, their prices, and the tiers that name them.

use std::collections::BTreeMap;

use rye_parse::{did_you_mean, nearest_name, quoted};
use rye_types::{Nanos, Prices};

use super::Section;
use crate::money::dollars;

/// The entry of a model in a config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The largest number of tokens in a conversation.
    pub context_window: u64,
    /// The largest number of tokens in an answer.
    pub max_output: u64,
    /// Prices per million tokens. `None` means unknown, not free.
    pub prices: Option<Prices>,
}

/// The tiers of SPEC 11.1.
pub(crate) const TIERS: &[&str] = &[
    "balanced",
    "fast",
    "general",
    "haiku",
    "high",
    "low",
    "max",
    "opus",
    "orchestrator",
    "sonnet",
    "standard",
];

pub(super) fn read(root: &Section<'_>) -> BTreeMap<String, Model> {
    root.require("models");
    let Some(section) = root.section("models") else { return BTreeMap::new() };
    if section.keys().next().is_none() {
        root.problem("models", "is empty; name at least one model");
    }
    let model = |name: &str| Some((name.to_owned(), model(&section.section(name)?)?));
    section.keys().filter_map(model).collect()
}

fn model(section: &Section<'_>) -> Option<Model> {
    section.only(&["context_window", "max_output", "prices"]);
    for key in ["context_window", "max_output"] {
        section.require(key);
    }
    let context_window = section.count("context_window", MAX_TOKENS);
    let max_output = section.count("max_output", MAX_TOKENS);
    let prices = section.section("prices").and_then(|section| prices(&section));
    Some(Model { context_window: context_window?, max_output: max_output?, prices })
}

const MAX_TOKENS: u64 = 1_000_000_000;

/// Reads prices. If a price for cached input is missing, the price of plain input is used.
fn prices(section: &Section<'_>) -> Option<Prices> {
    section.only(&["cache_read", "cache_write", "input", "output"]);
    for key in ["input", "output"] {
        section.require(key);
    }
    let [input, output, read, write] =
        ["input", "output", "cache_read", "cache_write"].map(|key| price(section, key));
    let mut prices = Prices::new(input?, output?);
    prices.cache_read = read.unwrap_or(prices.cache_read);
    prices.cache_write = write.unwrap_or(prices.cache_write);
    Some(prices)
}

fn price(section: &Section<'_>, key: &str) -> Option<Nanos> {
    let price = dollars(section.value(key)?);
    price.map_err(|error| section.problem(key, &error.to_string())).ok()
}

/// Reads the tiers. A name that is not under `models` is reported, but not the name of a model that has
/// problems itself.
pub(super) fn tiers(
    root: &Section<'_>,
    models: &BTreeMap<String, Model>,
) -> BTreeMap<String, String> {
    let Some(section) = root.section("tiers") else { return BTreeMap::new() };
    let mut tiers = BTreeMap::new();
    for tier in section.keys() {
        if !TIERS.contains(&tier) {
            let meant = did_you_mean(nearest_name(tier, TIERS.iter().copied()));
            section.problem(
                tier,
                &format!("is not a tier; valid: {}{meant}", quoted(TIERS.iter().copied())),
            );
        }
        let Some(model) = section.text(tier) else { continue };
        if !is_named(root, &model) {
            let meant = did_you_mean(nearest_name(&model, models.keys().map(String::as_str)));
            section.problem(
                tier,
                &format!("names the model `{model}`, which is not under `models`{meant}"),
            );
        }
        tiers.insert(tier.to_owned(), model);
    }
    tiers
}

fn is_named(root: &Section<'_>, model: &str) -> bool {
    root.value("models").is_some_and(|models| models.get(model).is_some())
}
