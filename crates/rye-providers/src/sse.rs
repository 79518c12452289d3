//! Server-sent events: the data of one event after the other.
//!
//! This parser replaces the available crates, because they use unbounded buffers and a stream abstraction. It
//! ignores the names, ids and retry times of events, because every protocol has the type of an event in the
//! data.

use crate::wire::DecodeError;

/// A parser of events from bytes that may be split anywhere.
#[derive(Debug)]
pub(crate) struct EventReader {
    line: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    /// `true` after a carriage return: a line feed that follows belongs to it.
    skips_line_feed: bool,
    is_first_line: bool,
    maximum: usize,
}

impl EventReader {
    /// Makes a reader of events of at most `maximum` bytes.
    pub(crate) fn new(maximum: usize) -> Self {
        let line = Vec::new();
        let data = Vec::new();
        Self { line, data, has_data: false, skips_line_feed: false, is_first_line: true, maximum }
    }

    /// The number of bytes held of the current event.
    pub(crate) fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// Reads up to the end of the next event. Returns the unread bytes, and the data of the event if it is
    /// complete.
    ///
    /// Text after the last blank line is not an event yet (WHATWG HTML 9.2.6).
    pub(crate) fn feed<'b>(
        &mut self,
        mut bytes: &'b [u8],
    ) -> Result<(&'b [u8], Option<Vec<u8>>), DecodeError> {
        loop {
            if std::mem::take(&mut self.skips_line_feed) {
                if bytes.is_empty() {
                    self.skips_line_feed = true;
                }
                bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            }
            let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                self.keep(bytes)?;
                return Ok((&[], None));
            };
            let (line, rest) = bytes.split_at(end);
            self.keep(line)?;
            self.skips_line_feed = rest.first() == Some(&b'\r');
            bytes = rest.get(1..).unwrap_or_default();
            if let Some(data) = self.end_line() {
                return Ok((bytes, Some(data)));
            }
        }
    }

    /// Returns the data of the last event if the bytes end without the blank line behind it.
    pub(crate) fn end(&mut self) -> Option<Vec<u8>> {
        if !self.line.is_empty() {
            self.end_line();
        }
        std::mem::take(&mut self.has_data).then(|| std::mem::take(&mut self.data))
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), DecodeError> {
        if self.line.len() + self.data.len() + bytes.len() > self.maximum {
            return Err(DecodeError::TooLarge { maximum: self.maximum });
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Ends a line, and returns the data of the event if the line is blank.
    fn end_line(&mut self) -> Option<Vec<u8>> {
        let whole = std::mem::take(&mut self.line);
        let mut line = whole.as_slice();
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return std::mem::take(&mut self.has_data).then_some(data);
        }
        // llama.cpp writes an error in a field of its own.
        if let Some(error) = value(line, b"error").filter(|error| error.starts_with(b"{")) {
            self.data = [b"{\"error\":", error, b"}"].concat();
            self.has_data = true;
        } else if let Some(value) = value(line, b"data") {
            if std::mem::replace(&mut self.has_data, true) {
                self.data.push(b'\n');
            }
            self.data.extend_from_slice(value);
        }
        None
    }
}

/// Returns the value of the field `name`, if the line is one.
fn value<'l>(line: &'l [u8], name: &[u8]) -> Option<&'l [u8]> {
    match line.strip_prefix(name)? {
        [] => line.get(..0),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(pieces: &[&[u8]], maximum: usize) -> Result<Vec<String>, String> {
        let mut reader = EventReader::new(maximum);
        let mut events = Vec::new();
        for mut bytes in pieces.iter().copied() {
            while !bytes.is_empty() {
                let (rest, data) = reader.feed(bytes).map_err(|error| error.to_string())?;
                events.extend(data.map(|data| String::from_utf8_lossy(&data).into_owned()));
                bytes = rest;
            }
        }
        Ok(events)
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            events(&[text.as_bytes()], 100),
            Ok(expected.iter().map(ToString::to_string).collect())
        );
    }

    #[test]
    fn data_is_cut_at_blank_lines() {
        check("data: a\n\ndata: b\n\n", &["a", "b"]);
        check("data: a\r\n\r\ndata: b\r\rdata:c\n\n", &["a", "b", "c"]);
        check("data: a\ndata:  b\ndata\n\n", &["a\n b\n"]);
        check("\u{feff}data: a\n\n", &["a"]);
        check("data:\n\n", &[""]);
        check("data: \u{feff}é😀\n\n", &["\u{feff}é😀"]);
    }

    #[test]
    fn what_is_no_data_is_passed_over() {
        check(": note\nevent: x\nid: 1\nretry: 2\n\ndata: a\n\n", &["a"]);
        check("datax: a\nDATA: b\n data: c\n\n", &[]);
        check("<html>\n\n</html>\n\n", &[]);
        check("event: x\n\n\n\n", &[]);
        check("data: not ended\n", &[]);
        check("error: x\n\n", &[]);
    }

    #[test]
    fn a_last_event_needs_no_blank_line() {
        for text in ["data: a\n\ndata: b", "data: a\n\ndata: b\n", "data: a\n\ndata: b\r"] {
            let mut reader = EventReader::new(100);
            let (rest, first) = reader.feed(text.as_bytes()).unwrap();
            assert_eq!(first.as_deref(), Some(b"a".as_slice()));
            assert_eq!(reader.feed(rest).unwrap(), (b"".as_slice(), None));
            assert_eq!((reader.end(), reader.end()), (Some(b"b".to_vec()), None), "{text}");
        }
    }

    #[test]
    fn an_error_in_a_field_of_its_own_is_data() {
        check("error: {\"code\":400}\n\ndata: a\n\n", &[r#"{"error":{"code":400}}"#, "a"]);
    }

    #[test]
    fn an_event_that_is_too_long_is_not_kept() {
        let error = Err("the stream has more than 8 bytes, which are not read".to_owned());
        assert_eq!(events(&[b"data: 12\n\ndata: 12\n\n"], 8), Ok(vec!["12".to_owned(); 2]));
        assert_eq!(events(&[b"data: 123\n\n"], 8), error);
        assert_eq!(events(&[b"data", b": 1", b"234"], 8), error);
        assert_eq!(events(&[b"data: 1\ndata: 1\ndata: 1\n"], 8), error);
    }

    proptest! {
        /// The events do not depend on the pieces in which the bytes arrive.
        #[test]
        fn pieces_do_not_matter(
            text in "(data: [a-cé]{0,3}|: x|\r|\n|\r\n){0,30}",
            cuts in proptest::collection::vec(0_usize..60, 0..6),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut from = 0;
            let pieces: Vec<&[u8]> = cuts.iter().map(|&cut| { let piece = &bytes[from..cut]; from = cut; piece }).collect();
            prop_assert_eq!(events(&pieces, 1_000), events(&[bytes], 1_000));
        }
    }
}
