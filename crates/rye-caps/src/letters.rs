//! Sets of the bytes that occur in capabilities, as bit masks.

/// A set of ASCII bytes: bit `n` stands for the byte `n`.
pub(crate) type Letters = u128;

/// The bytes that may begin an item id, a segment of it, or a name.
pub(crate) const WORD: Letters =
    range(b'a', b'z') | range(b'A', b'Z') | range(b'0', b'9') | one(b'_');

/// The bytes that occur in a capability. `/` is not one of them, because it is written `.`.
pub(crate) const SUBJECT: Letters = WORD | one(b'-') | one(b'.');

/// The set of one byte; empty if the byte is not ASCII.
pub(crate) const fn one(byte: u8) -> Letters {
    if byte < 128 { 1 << byte } else { 0 }
}

/// The set of the bytes from `first` to `last`, which are ASCII; empty if the range is reversed.
pub(crate) const fn range(first: u8, last: u8) -> Letters {
    let mut letters = 0;
    let mut byte = first;
    while byte <= last {
        letters |= one(byte);
        byte += 1;
    }
    letters
}

/// Returns `true` if all of `bytes` are in `letters`.
pub(crate) fn holds(letters: Letters, bytes: impl IntoIterator<Item = u8>) -> bool {
    bytes.into_iter().all(|byte| letters & one(byte) != 0)
}
