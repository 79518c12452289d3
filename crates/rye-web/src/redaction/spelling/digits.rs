//! Numbers of characters.

/// A number that is being read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Digits {
    radix: u32,
    value: u32,
    left: u8,
    /// The end mark of a number of any length. `None` for a fixed length.
    end: Option<u8>,
    is_begun: bool,
}

impl Digits {
    pub(super) const fn hex(count: u8) -> Self {
        Self { radix: 16, value: 0, left: count, end: None, is_begun: false }
    }

    pub(super) const fn up_to(radix: u32, count: u8, end: u8) -> Self {
        Self { radix, value: 0, left: count, end: Some(end), is_begun: false }
    }

    /// Returns the character, if the number may end here.
    pub(super) fn character(self) -> Option<u8> {
        let may_end = self.is_begun && (self.left == 0 || self.end.is_some());
        u8::try_from(self.value).ok().filter(|_| may_end)
    }

    pub(super) fn closes(self, byte: u8) -> bool {
        self.end == Some(byte)
    }

    /// Adds a digit, while the number can be an ASCII character.
    pub(super) fn with(self, digit: u8) -> Option<Self> {
        let left = self.left.checked_sub(1)?;
        let value = self.value * self.radix + char::from(digit).to_digit(self.radix)?;
        Some(Self { value, left, is_begun: true, ..self }).filter(|it| it.value < 0x80)
    }
}
