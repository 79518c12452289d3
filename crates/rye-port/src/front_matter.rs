//! Markdown with metadata between `---` lines at its start.

use serde_json::{Map, Value};

/// A text of metadata and a body.
#[derive(Debug, Default)]
pub(crate) struct FrontMatter {
    pub(crate) fields: Map<String, Value>,
    pub(crate) body: String,
    /// The reason why the metadata is no YAML, and was read line by line.
    pub(crate) fault: Option<String>,
}

/// Splits a text. Without metadata, all of it is body.
pub(crate) fn split(text: &str) -> FrontMatter {
    let whole = || FrontMatter { body: text.to_owned(), ..FrontMatter::default() };
    let Some((metadata, body)) = parts(text) else { return whole() };
    if metadata.trim().is_empty() {
        return FrontMatter { body: body.to_owned(), ..FrontMatter::default() };
    }
    match rye_parse::config(metadata, "yaml") {
        Ok(Value::Object(fields)) => FrontMatter { fields, body: body.to_owned(), fault: None },
        Ok(_) => whole(),
        Err(error) => {
            // Many programs read only `key: value` lines, so that files of theirs have texts with colons and quotes in them.
            let fields = by_lines(metadata);
            if fields.is_empty() {
                return whole();
            }
            let fault = error.problems().first().map(|problem| problem.kind.to_string());
            FrontMatter { fields, body: body.to_owned(), fault }
        }
    }
}

/// Returns `true` if the text begins with metadata.
pub(crate) fn has(text: &str) -> bool {
    parts(text).is_some()
}

fn parts(text: &str) -> Option<(&str, &str)> {
    let rest = text.trim_start_matches('\n').strip_prefix("---")?;
    let (dashes, rest) = rest.split_once('\n')?;
    if !dashes.trim().is_empty() {
        return None;
    }
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        if line.trim_end() == "---" {
            let metadata = rest.get(..at)?;
            return Some((metadata, rest.get(at + line.len()..)?));
        }
        at += line.len();
    }
    None
}

/// The `key: value` lines of a text; empty if a line belongs to none, or if a key is there twice. Indented lines below a key belong to it.
fn by_lines(metadata: &str) -> Map<String, Value> {
    let mut fields: Map<String, Value> = Map::new();
    let mut last: Option<String> = None;
    for line in metadata.lines() {
        let is_key = |key: &str| {
            !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
        };
        let entry = line.split_once(':').filter(|(key, _)| is_key(key));
        if let Some((key, value)) = entry {
            let value = value.trim();
            let quoted = ['"', '\'']
                .into_iter()
                .find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
            let value = Value::String(quoted.unwrap_or(value).to_owned());
            if fields.insert(key.to_owned(), value).is_some() {
                return Map::new();
            }
            last = Some(key.to_owned());
            continue;
        }
        let words = line.trim();
        let belongs = line.starts_with([' ', '\t', '-']) || words.is_empty();
        match last.as_ref().and_then(|key| fields.get_mut(key)) {
            Some(Value::String(text)) if belongs => {
                if !words.is_empty() {
                    let gap = if text.is_empty() { "" } else { "\n" };
                    text.push_str(&format!("{gap}{words}"));
                }
            }
            _ if words.is_empty() => {}
            _ => return Map::new(),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split() {
        for (text, fields, body, is_faulty) in [
            ("---\nname: a\n---\n\nDo it.\n", r#"{"name":"a"}"#, "\nDo it.\n", false),
            ("Do it.", "{}", "Do it.", false),
            ("---\nno end\n", "{}", "---\nno end\n", false),
            ("---\n---\nDo it.", "{}", "Do it.", false),
            (
                "---\nname: a\ndescription: Use when: it is \"so\": yes\n---\nDo it.",
                r#"{"name":"a","description":"Use when: it is \"so\": yes"}"#,
                "Do it.",
                true,
            ),
            ("---\njust a rule\n---\nDo it.", "{}", "---\njust a rule\n---\nDo it.", false),
        ] {
            let split = split(text);
            assert_eq!(Value::Object(split.fields).to_string(), fields, "{text}");
            assert_eq!(split.body, body, "{text}");
            assert_eq!(split.fault.is_some(), is_faulty, "{text}");
        }
    }
}
