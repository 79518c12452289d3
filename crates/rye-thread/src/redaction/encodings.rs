//! The forms in which a receiver may write a secret.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// The smallest length of a part or a notation that is searched for. Shorter ones occur by chance.
const LEAST: usize = 6;

/// The ways in which formats write the characters of a text.
pub(super) const FORMATS: [fn(&str) -> String; 13] = [
    json,
    |text| json(text).replace('/', r"\/"),
    json_for_html,
    json_in_ascii,
    |text| address(text, "-._~"),
    |text| address(text, "-._~!*'()"),
    |text| address(text, "-._~/"),
    |text| address(text, "-._~!*'();,/?:@&=+$#"),
    |text| address(text, "-._* ").replace(' ', "+"),
    |text| html(text, "&quot;", "&#39;"),
    |text| html(text, "&#34;", "&#39;"),
    |text| html(text, "&quot;", "&#x27;"),
    html_of_templates,
];

/// Returns the secret, its parts, and both in the usual notations of bytes, as they are and in up to two formats around each other.
pub(super) fn of(secret: &str) -> BTreeSet<String> {
    let mut forms: BTreeSet<String> =
        parts(secret).iter().flat_map(|part| notations(part)).collect();
    for _ in 0..2 {
        let within = |form: &String| FORMATS.map(|format| format(form));
        let formatted: Vec<String> = forms.iter().flat_map(within).collect();
        forms.extend(formatted);
    }
    forms
}

/// Returns the secret and its parts: the text after a scheme, as in `Basic …`; the pair that this text encodes in base64; and the
/// password of the pair. The name in the pair is no secret and often a common word.
fn parts(secret: &str) -> Vec<String> {
    let bare = secret.rsplit(' ').next().unwrap_or_default();
    let mut parts = vec![bare.to_owned()];
    if let Some(pair) = pair_in(bare) {
        parts.extend(pair.split_once(':').map(|(_, password)| password.to_owned()));
        parts.push(pair);
    }
    parts.retain(|part| LEAST <= part.len());
    parts.extend(Some(secret.to_owned()).filter(|secret| !secret.is_empty()));
    parts
}

/// Returns the pair of a name and a password that a text encodes in base64.
fn pair_in(text: &str) -> Option<String> {
    let standard = text.trim_end_matches('=').replace('-', "+").replace('_', "/");
    let pair = String::from_utf8(STANDARD_NO_PAD.decode(standard).ok()?).ok()?;
    let is_visible = pair.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    (is_visible && pair.contains(':')).then_some(pair)
}

/// Returns a text as it is, and if it is not short in base64 and in hexadecimal digits.
fn notations(text: &str) -> Vec<String> {
    let mut notations = vec![text.to_owned()];
    if LEAST <= text.len() {
        notations.push(text.bytes().map(|byte| format!("{byte:02x}")).collect());
        let alphabets = [STANDARD_NO_PAD, URL_SAFE_NO_PAD];
        notations
            .extend(alphabets.iter().flat_map(|engine| (0..3).map(|at| base64(text, at, engine))));
    }
    notations
}

/// Returns the base64 digits that depend on the text alone, if `before` other bytes precede it and any follow.
fn base64(text: &str, before: usize, engine: &GeneralPurpose) -> String {
    let bytes = [&[0; 2][..before], text.as_bytes()].concat();
    let mut digits = engine.encode(&bytes);
    digits.truncate(bytes.len() * 8 / 6);
    digits.split_off((before * 8).div_ceil(6))
}

fn json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned()
}

/// Writes JSON that may stand in a page, as several libraries do by default.
fn json_for_html(text: &str) -> String {
    let is_plain = |char: char| !matches!(char, '&' | '\'' | '+' | '<' | '>' | '`');
    spell(&json(text).replace(r#"\""#, r"\u0022"), is_plain, unicode_escape)
}

fn json_in_ascii(text: &str) -> String {
    spell(&json(text), |char| char.is_ascii(), unicode_escape)
}

fn unicode_escape(char: char) -> String {
    char.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

/// Writes a part of an address, in which letters, digits and `plain` stay.
fn address(text: &str, plain: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || plain.contains(char);
    let percent = |char: char| {
        let mut bytes = [0; 4];
        char.encode_utf8(&mut bytes).bytes().map(|byte| format!("%{byte:02x}")).collect()
    };
    spell(text, is_plain, percent)
}

fn html(text: &str, quote: &str, apostrophe: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    text.replace('"', quote).replace('\'', apostrophe)
}

/// Writes HTML as Mustache does.
fn html_of_templates(text: &str) -> String {
    let text = html(text, "&quot;", "&#39;").replace('/', "&#x2f;");
    text.replace('`', "&#x60;").replace('=', "&#x3d;")
}

fn spell(text: &str, is_plain: impl Fn(char) -> bool, spelled: impl Fn(char) -> String) -> String {
    text.chars().map(|char| if is_plain(char) { char.to_string() } else { spelled(char) }).collect()
}
