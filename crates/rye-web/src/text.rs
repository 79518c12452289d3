//! Media types and character encodings of bodies.

use encoding_rs::{Encoding, UTF_8};

/// The relevant parts of a media type, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Media {
    /// The type, or an empty text if there was no header.
    essence: String,
    charset: Option<String>,
}

impl Media {
    /// Parses a `Content-Type` header in lower case.
    pub(crate) fn read(header: &str) -> Self {
        let (essence, parameters) = header.split_once(';').unwrap_or((header, ""));
        let charset = parameters.split(';').find_map(|parameter| {
            let (name, value) = parameter.split_once('=')?;
            (name.trim() == "charset").then(|| value.trim().trim_matches(['"', '\'']).to_owned())
        });
        let shown = |char: &char| char.is_ascii_graphic() && *char != '`';
        Self { essence: essence.chars().filter(shown).take(100).collect(), charset }
    }

    pub(crate) fn essence(&self) -> &str {
        &self.essence
    }

    pub(crate) fn is_html(&self) -> bool {
        self.essence == "text/html" || self.is_xhtml()
    }

    /// Returns `true` for a page in XML syntax.
    pub(crate) fn is_xhtml(&self) -> bool {
        self.essence == "application/xhtml+xml"
    }

    pub(crate) fn is_json(&self) -> bool {
        self.essence == "application/json" || self.essence.ends_with("+json")
    }

    /// Returns `true` for types of text. A missing type counts as text, and then the content is checked.
    pub(crate) fn is_text(&self) -> bool {
        let essence = self.essence.as_str();
        let suffix = ["+json", "+xml", "+yaml"].iter().any(|suffix| essence.ends_with(suffix));
        // An SVG image is not text for a reader.
        let drawing = essence == "image/svg+xml";
        essence.is_empty()
            || essence.starts_with("text/")
            || (suffix && !drawing)
            || APPLICATIONS.iter().any(|name| essence.strip_prefix("application/") == Some(name))
    }

    /// Decodes the bytes, or returns `None` if they are not text. If the body was cut, an incomplete last
    /// character is left out.
    pub(crate) fn decode(&self, bytes: &[u8], is_cut: bool) -> Option<String> {
        let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((self.encoding(bytes), 0));
        let bytes = bytes.get(mark..).unwrap_or_default();
        let mut decoder = encoding.new_decoder_without_bom_handling();
        let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
        let _whole = decoder.decode_to_string(bytes, &mut text, !is_cut);
        (!text.contains('\0')).then_some(text)
    }

    /// Returns the encoding in the header, or else the one in the page, or else UTF-8.
    fn encoding(&self, bytes: &[u8]) -> &'static Encoding {
        let told = self.charset.as_deref().map(str::as_bytes).and_then(Encoding::for_label);
        let own = || if self.is_html() { of_page(bytes) } else { None };
        told.or_else(own).unwrap_or(UTF_8)
    }
}

/// The types below `application/` that are text.
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

/// Returns the encoding in `<meta charset=…>`, or in the older form with `content`, within the bytes where
/// the standard allows it.
fn of_page(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = bytes.get(..1024).unwrap_or(bytes).to_ascii_lowercase();
    let start = String::from_utf8_lossy(&start);
    start.split("<meta").skip(1).find_map(|tag| {
        let tag = tag.split('>').next()?;
        let value = tag.split_once("charset")?.1.trim_start().strip_prefix('=')?;
        let value = value.trim_start().trim_start_matches(['"', '\'']);
        let label = value.split(['"', '\'', ' ', ';', '/']).next()?;
        let encoding = Encoding::for_label(label.as_bytes())?;
        // A tag that can be read byte by byte is not in UTF-16.
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
