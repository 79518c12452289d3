//! The blocks of a result's content: texts, links, and what no model reads.

use serde_json::{Value, json};

use crate::mcp::secrets::Secrets;

/// The largest number of notes, and of links, that are listed.
const NAMED: usize = 20;

/// The length of the longest name, kind and address that are shown, in characters.
const NAME: usize = 200;
const KIND: usize = 40;
const ADDRESS: usize = 2000;

/// The content of a result.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The texts as the server wrote them.
    pub(super) texts: Vec<String>,
    /// The links to resources, each with a name and an address.
    pub(super) links: Vec<Value>,
    /// A note on each part that is left out.
    pub(super) left_out: Vec<String>,
}

impl Content {
    /// Reads the content. The texts are not redacted yet; everything else is.
    pub(super) fn read(content: Option<&Value>, secrets: &Secrets) -> Self {
        let mut read = Self::default();
        match content {
            None | Some(Value::Null) => {}
            Some(Value::Array(blocks)) => blocks.iter().for_each(|block| read.push(block, secrets)),
            Some(block) => read.push(block, secrets),
        }
        let links = read.links.len();
        if links > NAMED {
            read.links.truncate(NAMED);
            read.left_out.insert(0, format!("{} more links", links - NAMED));
        }
        let more = read.left_out.len().saturating_sub(NAMED);
        read.left_out.truncate(NAMED);
        if more > 0 {
            read.left_out.push(format!("{more} more"));
        }
        read
    }

    fn push(&mut self, block: &Value, secrets: &Secrets) {
        let member = |name: &str| block.get(name).and_then(Value::as_str);
        let clean = |text: &str, most: usize| clean(&secrets.text(text), most);
        let note = match (block, member("type")) {
            (Value::String(text), _) => return self.texts.push(text.clone()),
            (_, Some("text")) => match member("text") {
                Some(text) => return self.texts.push(text.to_owned()),
                None => "a text that is no text".to_owned(),
            },
            (_, Some("resource")) => {
                match block.pointer("/resource/text").and_then(Value::as_str) {
                    Some(text) => return self.texts.push(text.to_owned()),
                    None => "a resource that is no text".to_owned(),
                }
            }
            (_, Some("resource_link")) => match member("uri") {
                Some(address) => {
                    let name = clean(member("name").unwrap_or_default(), NAME);
                    let address = clean(address, ADDRESS);
                    return self.links.push(json!({ "name": name, "address": address }));
                }
                None => "a link to a resource without an address".to_owned(),
            },
            (_, Some(kind @ ("image" | "audio"))) => {
                let what = if kind == "image" { "an image" } else { "audio" };
                let kind = clean(member("mimeType").unwrap_or_default(), KIND);
                format!("{what} ({kind}, {} bytes)", member("data").map_or(0, str::len) / 4 * 3)
            }
            (_, Some(kind)) => {
                format!(
                    "content of the kind `{}`, which this version does not know",
                    clean(kind, KIND)
                )
            }
            (_, None) => "content without a kind".to_owned(),
        };
        self.left_out.push(note);
    }
}

/// Returns a text of a server on one line, without hidden characters, and cut.
fn clean(text: &str, most: usize) -> String {
    let shown = text.chars().flat_map(|c| {
        // Quotes and backslashes are visible as they are.
        let is_plain = matches!(c, '"' | '\'' | '\\');
        let plain = is_plain.then_some(c).into_iter();
        plain.chain(c.escape_debug().filter(move |_| !is_plain))
    });
    let mut shown = shown.take(most + 1).collect::<String>();
    if let Some((at, _)) = shown.char_indices().nth(most) {
        shown.truncate(at);
        shown.push('…');
    }
    shown
}
