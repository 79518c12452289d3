//! The model and the limits of a directive, which it states itself or inherits (SPEC D19).

use std::collections::BTreeMap;

use rye_parse::{Directive, Limits, Model, Spanned};
use rye_types::SpendLimit;

use crate::ItemId;

/// The `<model>` of a directive, with the directive of its chain that states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatedModel<'c> {
    /// The directive that states it.
    pub by: &'c ItemId,
    /// The element, whose places are in the file of that directive.
    pub model: &'c Spanned<Model>,
}

/// The limits of a directive, with the directives of its chain that state them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatedLimits<'c> {
    /// The limits. The places of each are in the file of the directive that states it.
    pub limits: Limits,
    /// The directive that states a limit, by the limit's name in `<limits>`.
    pub by: BTreeMap<&'static str, &'c ItemId>,
}

impl<'c> StatedModel<'c> {
    /// Returns the `<model>` of the nearest directive that has one. The first of `links` is the leaf of a chain.
    pub fn nearest(links: impl IntoIterator<Item = (&'c ItemId, &'c Directive)>) -> Option<Self> {
        let stated = |(by, link): (&'c ItemId, &'c Directive)| {
            Some(Self { by, model: link.model.as_ref()? })
        };
        links.into_iter().find_map(stated)
    }
}

impl<'c> StatedLimits<'c> {
    /// Returns each limit from the nearest directive that sets it. The first of `links` is the leaf of a chain.
    ///
    /// A `spend` of `unlimited` counts for the leaf alone. If the nearest directive that sets `spend` is another one and says
    /// so, `spend` is not set. The currency comes from the directive that sets `spend`.
    pub fn nearest(links: impl IntoIterator<Item = (&'c ItemId, &'c Directive)>) -> Self {
        let mut stated = Self::default();
        let mut is_spend_decided = false;
        for (place, (by, link)) in links.into_iter().enumerate() {
            let own = &link.limits;
            let counts = [
                ("turns", &own.turns, &mut stated.limits.turns),
                ("tokens", &own.tokens, &mut stated.limits.tokens),
                ("duration_seconds", &own.duration_seconds, &mut stated.limits.duration_seconds),
                ("spawns", &own.spawns, &mut stated.limits.spawns),
                ("depth", &own.depth, &mut stated.limits.depth),
            ];
            for (name, own, limit) in counts {
                if own.is_some() && limit.is_none() {
                    limit.clone_from(own);
                    stated.by.insert(name, by);
                }
            }
            let Some(spend) = own.spend.as_ref().filter(|_| !is_spend_decided) else { continue };
            is_spend_decided = true;
            if place == 0 || spend.value != SpendLimit::Unlimited {
                stated.limits.spend = Some(spend.clone());
                stated.limits.spend_currency.clone_from(&own.spend_currency);
                stated.by.insert("spend", by);
            }
        }
        stated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Composes a chain of directives with these contents of `<metadata>`, the leaf first, whose ids are `d0`, `d1` and so on.
    fn decide(links: &[&str]) -> String {
        let directive = |metadata: &&str| {
            let text = format!(
                "```xml\n<directive name=\"d\"><metadata>{metadata}</metadata></directive>\n```\n"
            );
            rye_parse::directive(&text).unwrap()
        };
        let directives: Vec<Directive> = links.iter().map(directive).collect();
        let ids: Vec<ItemId> =
            (0..links.len()).map(|place| format!("d{place}").parse().unwrap()).collect();
        let chain = || ids.iter().zip(&directives);
        let model = StatedModel::nearest(chain())
            .map(|it| format!("{} {:?}", it.by, it.model.value.tier.as_ref().map(|it| &it.value)));
        let StatedLimits { limits, by } = StatedLimits::nearest(chain());
        let value = |name: &str| match name {
            "turns" => format!("{:?}", limits.turns.as_ref().map(|it| it.value)),
            "spend" => format!("{:?}", limits.spend.as_ref().map(|it| it.value)),
            "depth" => format!("{:?}", limits.depth.as_ref().map(|it| it.value)),
            _ => "?".to_owned(),
        };
        let mut rows: Vec<String> = model.into_iter().collect();
        rows.extend(by.iter().map(|(name, by)| format!("{name} {} by {by}", value(name))));
        rows.extend(limits.spend_currency.as_ref().map(|it| it.value.clone()));
        rows.join("; ")
    }

    #[test]
    fn the_nearest_directive_decides_on_each() {
        let rows: &[(&str, &[&str], &str)] = &[
            ("nothing is stated", &["", ""], ""),
            (
                "all is inherited",
                &["", "<model tier=\"fast\"/><limits turns=\"3\" spend=\"0.10\"/>"],
                "d1 Some(\"fast\"); spend Some(AtMost(Nanos(100000000))) by d1; turns Some(3) by d1",
            ),
            (
                "each limit by itself",
                &[
                    "<limits turns=\"2\"/>",
                    "<limits depth=\"1\"/>",
                    "<limits turns=\"9\" depth=\"4\"/>",
                ],
                "depth Some(1) by d1; turns Some(2) by d0",
            ),
            ("a model as a whole", &["", "<model id=\"m\"/>", "<model tier=\"fast\"/>"], "d1 None"),
            ("no bound is inherited", &["", "<limits spend=\"unlimited\"/>"], ""),
            (
                "nor the bound behind it",
                &["", "<limits spend=\"unlimited\"/>", "<limits spend=\"5\"/>"],
                "",
            ),
            (
                "the leaf may state it",
                &["<limits spend=\"unlimited\"/>", "<limits spend=\"5\"/>"],
                "spend Some(Unlimited) by d0",
            ),
            (
                "the currency goes with the amount",
                &[
                    "<limits spend_currency=\"USD\"/>",
                    "<limits spend=\"5\" spend_currency=\"EUR\"/>",
                ],
                "spend Some(AtMost(Nanos(5000000000))) by d1; EUR",
            ),
        ];
        for (name, links, expected) in rows {
            assert_eq!(decide(links), *expected, "{name}");
        }
    }
}
