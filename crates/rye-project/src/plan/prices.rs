//! Prices that a limit on money rests on (SPEC 10.6).

use std::collections::BTreeMap;

use rye_providers::ProviderConfig;
use rye_resolve::Library;
use rye_types::{ItemKind, Prices};

use crate::config::is_provider;

/// The configuration of a project's provider with prices that the operator knows.
///
/// A project that states a price of zero would lift every limit on the money that a key of the operator's pays. So its prices only
/// count where they are dearer than those that the provider configurations of the user space and the system have for the model.
/// A model that these do not name has no price, unless no key is sent with its requests.
pub(super) fn vouched_prices(library: &Library, config: ProviderConfig) -> ProviderConfig {
    let known = known_prices(library);
    let sends_key = config.auth().is_some();
    config.with_prices(|model, own| match (own, known.get(model)) {
        (Some(own), Some(known)) => Some(own.at_least(*known)),
        (None, Some(known)) => Some(*known),
        (own, None) => own.filter(|_| !sends_key),
    })
}

/// The dearest prices of each model. A configuration that cannot be used states none.
fn known_prices(library: &Library) -> BTreeMap<String, Prices> {
    let spaces = library.spaces().clone().without_project();
    let trust = library.trust().clone();
    let policy = library.policy().clone();
    let own = Library::new(spaces, trust, policy, library.now());
    let listed = own.survey(ItemKind::Tool).items.into_iter().filter(|it| is_provider(&it.id));
    let mut known: BTreeMap<String, Prices> = BTreeMap::new();
    for listed in listed {
        let Ok(item) = own.text(ItemKind::Tool, &listed.id) else { continue };
        let value = rye_parse::config(&item.source, item.location.extension()).ok();
        let config = value.and_then(|value| ProviderConfig::from_value(&value).ok());
        for (name, model) in config.iter().flat_map(|config| config.models()) {
            let Some(prices) = model.prices else { continue };
            let dearest = known.get(name).map_or(prices, |other| prices.at_least(*other));
            known.insert(name.clone(), dearest);
        }
    }
    known
}
