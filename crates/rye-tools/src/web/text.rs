//! What sort of text a body is, and its characters.

use encoding_rs::{Encoding, UTF_8};

/// A media type, as far as it matters here; in small letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    /// Empty when none was told.
    essence: String,
    charset: Option<String>,
}

impl Media {
    /// Reads a `Content-Type` in small letters.
    pub(super) fn read(header: &str) -> Self {
        let (essence, parameters) = header.split_once(';').unwrap_or((header, ""));
        let charset = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            (name.trim() == "charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        let shown = |char: &char| char.is_ascii_graphic() && *char != '`';
        Self { essence: essence.chars().filter(shown).take(100).collect(), charset }
    }

    pub(super) fn essence(&self) -> &str {
        &self.essence
    }

    pub(super) fn is_html(&self) -> bool {
        self.essence == "text/html" || self.is_xhtml()
    }

    /// Whether it is a page that is written as XML.
    pub(super) fn is_xhtml(&self) -> bool {
        self.essence == "application/xhtml+xml"
    }

    pub(super) fn is_json(&self) -> bool {
        self.essence == "application/json" || self.essence.ends_with("+json")
    }

    /// Whether it says that it is text; what says nothing has to look like it.
    pub(super) fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        let suffix = ["+json", "+xml", "+yaml"].iter().any(|suffix| essence.ends_with(suffix));
        // A drawing is text to its author alone.
        let drawing = essence == "image/svg+xml";
        essence.is_empty()
            || essence.starts_with("text/")
            || (suffix && !drawing)
            || APPLICATIONS.iter().any(|name| essence.strip_prefix("application/") == Some(name))
    }

    /// The characters, or `None` where there is a byte that is in no text. Of what was cut, a last character that is not
    /// whole is left out.
    pub(super) fn decode(&self, bytes: &[u8], is_cut: bool) -> Option<String> {
        let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((self.encoding(bytes), 0));
        let bytes = bytes.get(mark..).unwrap_or_default();
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
        let _whole = decoder.decode_to_string(bytes, &mut text, !is_cut);
        (!text.contains('\0')).then_some(text)
    }

    /// What the header says, else what a page says of itself, else UTF-8.
    fn encoding(&self, bytes: &[u8]) -> &'static Encoding {
        let told = self.charset.as_deref().map(str::as_bytes).and_then(Encoding::for_label);
        let own = || if self.is_html() { of_page(bytes) } else { None };
        told.or_else(own).unwrap_or(UTF_8)
    }
}

/// Types of `application/` that are text.
const APPLICATIONS: &[&str] = &[
    "ecmascript",
    "graphql",
    "javascript",
    "json",
    "json5",
    "rtf",
    "sql",
    "toml",
    "x-javascript",
    "x-ndjson",
    "x-sh",
    "x-yaml",
    "xml",
    "yaml",
];

/// What a page says in `<meta charset=…>`, or in the older form with `content`, within the bytes where it has to be.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..1024).unwrap_or(bytes).to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start);
    start.split("<meta").skip(1).find_map(|tag| {
        let tag = tag.split('>').next()?;
        let value = tag.split_once("charset")?.1.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let label = value.split(['"', '\'', ' ', ';', '/']).next()?;
        let encoding = Encoding::for_label(label.as_bytes())?;
        // Who could read this tag byte by byte does not read it in pairs.
        let wide = encoding == encoding_rs::UTF_16BE || encoding == encoding_rs::UTF_16LE;
        Some(if wide { UTF_8 } else { encoding })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &str, bytes: &[u8], expected: Option<&str>) {
        let media = Media::read(content_type);
        let text = media.is_text().then(|| media.decode(bytes, false)).flatten();
        assert_eq!(text.as_deref(), expected, "{content_type}");
    }

    #[test]
    fn characters_are_read_as_the_server_or_the_page_says() {
        check("text/plain", "Grüße".as_bytes(), Some("Grüße"));
        check("", b"plain", Some("plain"));
        check("text/plain; charset=iso-8859-1", b"Gr\xfc\xdfe", Some("Grüße"));
        check("text/plain; charset=\"shift_jis\"", b"\x93\xfa\x96{", Some("日本"));
        check(
            "text/html",
            b"<meta charset=windows-1252>\x80",
            Some("<meta charset=windows-1252>€"),
        );
        let old = b"<META http-equiv=x content='text/html; charset=koi8-r'>\xc1";
        check("text/html", old, Some("<META http-equiv=x content='text/html; charset=koi8-r'>а"));
        check(
            "text/html; charset=utf-8",
            b"<meta charset=koi8-r>\xc1",
            Some("<meta charset=koi8-r>\u{fffd}"),
        );
        check("text/html", b"<meta charset=utf-16>a", Some("<meta charset=utf-16>a"));
        check("text/plain", b"\xff\xfeh\0i\0", Some("hi"));
        check("text/plain; charset=koi8-r", b"\xef\xbb\xbfa", Some("a"));
        check("text/plain; charset=nonsense", b"a", Some("a"));
        check("application/problem+json", b"{}", Some("{}"));
        check("application/xhtml+xml", b"<p>", Some("<p>"));
    }

    #[test]
    fn what_is_no_text_is_none() {
        for content_type in [
            "image/png",
            "application/octet-stream",
            "application/pdf",
            "image/svg+xml",
            "video/mp4",
            "application/zip",
            "x",
        ] {
            check(content_type, b"a", None);
        }
        check("text/plain", b"a\0b", None);
        check("", b"\x7fELF\0", None);
    }

    #[test]
    fn what_is_cut_ends_with_a_whole_character() {
        let media = Media::read("text/plain");
        assert_eq!(media.decode("aü".as_bytes().get(..2).unwrap(), true).as_deref(), Some("a"));
        assert_eq!(
            media.decode("aü".as_bytes().get(..2).unwrap(), false).as_deref(),
            Some("a\u{fffd}")
        );
    }
}
