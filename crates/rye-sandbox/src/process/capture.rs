//! Bounded capture of a program's output.

use std::collections::VecDeque;

/// The first and the last bytes of an output, and its total size.
#[derive(Debug)]
pub struct Capture {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most: usize,
    total: u64,
}

impl Capture {
    /// Keeps at most `most` bytes of the start, and as many of the end.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), most, total: 0 }
    }

    /// Adds bytes to the end of the output.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total = self.total.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let room = self.most.saturating_sub(self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(room);
        self.head.extend_from_slice(head);
        let rest = rest.get(rest.len().saturating_sub(self.most)..).unwrap_or_default();
        let over = (self.tail.len() + rest.len()).saturating_sub(self.most);
        drop(self.tail.drain(..over));
        self.tail.extend(rest);
    }

    /// Returns the number of bytes left out between the start and the end.
    #[must_use]
    pub fn omitted_bytes(&self) -> u64 {
        let kept = u64::try_from(self.head.len() + self.tail.len()).unwrap_or(u64::MAX);
        self.total.saturating_sub(kept)
    }

    /// Returns the kept text, with a line for the bytes left out. Bytes that are not UTF-8 are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match self.omitted_bytes() {
            0 => String::from_utf8_lossy(&[self.head.as_slice(), &tail].concat()).into_owned(),
            n => format!(
                "{}\n[{n} bytes left out]\n{}",
                String::from_utf8_lossy(&self.head),
                String::from_utf8_lossy(&tail)
            ),
        }
    }

    /// Returns the end of the text, at most `most` bytes.
    #[must_use]
    pub fn end(&self, most: usize) -> String {
        self.end_of_changed(most, str::to_owned)
    }

    /// Returns the end of the text after `change`, such as the removal of secrets, which a cut would hide.
    #[must_use]
    pub fn end_of_changed(&self, most: usize, change: impl FnOnce(&str) -> String) -> String {
        let text = change(&self.text());
        let text = text.trim_end();
        let from = text.len().saturating_sub(most);
        let from = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.get(from..).unwrap_or_default().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Capture;

    #[track_caller]
    fn check(pieces: &[&str], expected: &str) {
        let mut captured = Capture::new(4);
        pieces.iter().for_each(|piece| captured.push(piece.as_bytes()));
        assert_eq!(captured.text(), expected, "{pieces:?}");
    }

    #[test]
    fn beginning_and_end_are_kept() {
        check(&[], "");
        check(&["abc"], "abc");
        check(&["abc", "defgh"], "abcdefgh");
        check(&["abcdefghi"], "abcd\n[1 bytes left out]\nfghi");
        check(&["abcdefgh", "i", "j", "k"], "abcd\n[3 bytes left out]\nhijk");
        check(&["ab", "cdefghijklmnop"], "abcd\n[8 bytes left out]\nmnop");
    }

    #[test]
    fn the_end_is_cut_between_characters() {
        let mut captured = Capture::new(40);
        captured.push("ab é é\n\n".as_bytes());
        assert_eq!(
            (captured.end(4), captured.end(3), captured.end(99)),
            (" é".to_owned(), " é".to_owned(), "ab é é".to_owned())
        );
    }

    proptest! {
        #[test]
        fn how_it_comes_in_pieces_makes_no_difference(text in "[a-z]{0,40}", cut in 0_usize..40) {
            let cut = cut.min(text.len());
            let mut whole = Capture::new(7);
            let mut pieces = Capture::new(7);
            whole.push(text.as_bytes());
            pieces.push(&text.as_bytes()[..cut]);
            pieces.push(&text.as_bytes()[cut..]);
            prop_assert_eq!(whole.text(), pieces.text());
            prop_assert_eq!(whole.omitted_bytes(), pieces.omitted_bytes());
            prop_assert_eq!(whole.omitted_bytes(), text.len().saturating_sub(14) as u64);
        }
    }
}
