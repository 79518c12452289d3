//! Numbers and slices out of bytes that may be damaged.

/// A reader from the start of a slice. Every read past its end returns `None`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads a number of seven bits per byte, lowest first. Every byte but the last has its high bit set.
    pub(crate) fn number(&mut self) -> Option<u32> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        if first < 0x80 {
            return Some(u32::from(first));
        }
        let mut number = u32::from(first & 0x7f);
        for shift in [7, 14, 21, 28] {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads a number as a count or a length.
    pub(crate) fn length(&mut self) -> Option<usize> {
        self.number().and_then(|number| usize::try_from(number).ok())
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }
}

/// Writes what [`Reader::number`] reads.
pub(crate) fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Converts a count, which the size limit of files keeps small, to a number.
pub(crate) fn number(count: usize) -> u32 {
    u32::try_from(count).expect("because no text of an item has four thousand million bytes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_round_trip() {
        for expected in [0, 1, 127, 128, 16_383, 16_384, u32::MAX] {
            let mut bytes = Vec::new();
            push_number(&mut bytes, expected);
            let mut reader = Reader::new(&bytes);
            assert_eq!((reader.number(), reader.is_at_end()), (Some(expected), true));
        }
    }

    #[test]
    fn damage_is_none() {
        for bytes in [&[][..], &[0x80], &[0xff; 4], &[0xff; 8]] {
            assert_eq!(Reader::new(bytes).number(), None);
        }
        assert_eq!(Reader::new(&[1, 2]).take(3), None);
        assert_eq!(Reader::new(&[1, 2]).u64(), None);
    }
}
