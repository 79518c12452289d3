//! Guesses at the name under which a moved item was signed, for error messages and files outside an `.ai` folder.

use crate::item_name::{ItemName, KINDS};

/// Returns names to try when a bound signature does not fit. Their ids are the given one and the name that the text
/// declares, alone, in the same folder and in the declared category. Each id is tried as every kind.
/// [`Unverified::verify`](crate::Unverified::verify) never accepts a text under them.
pub(crate) fn candidates(text: &str, kind: &str, id: Option<&str>) -> Vec<ItemName> {
    let mut ids: Vec<String> = id.map(str::to_owned).into_iter().collect();
    let folder = id.and_then(|id| id.rsplit_once('/')).map(|(folder, _)| folder.to_owned());
    let category = find_value(text, "<category>", "category:");
    if let Some(name) = find_value(text, " name=", "name:") {
        for folder in [folder, category].into_iter().flatten() {
            ids.push(format!("{folder}/{name}"));
        }
        ids.push(name);
    }
    let other_kinds = KINDS.into_iter().filter(|other| *other != kind);
    let kinds: Vec<&str> = [kind].into_iter().chain(other_kinds).collect();
    let names = |id: &String| {
        kinds.iter().filter_map(|kind| ItemName::new(kind, id).ok()).collect::<Vec<_>>()
    };
    ids.iter().flat_map(names).collect()
}

/// Returns the first value after either marker, up to the next quote, tag or line end.
fn find_value(text: &str, tag: &str, key: &str) -> Option<String> {
    let (_, after) = text.split_once(tag).or_else(|| text.split_once(key))?;
    let value = after.trim_start_matches([' ', '"', '\'']);
    let value = value.split(['"', '\'', '<', '>', '\n', '\r']).next()?.trim();
    (!value.is_empty() && value.len() <= 256).then(|| value.to_owned())
}
