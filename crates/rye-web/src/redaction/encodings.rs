//! Encodings of a secret, without the spellings of their characters.

use zeroize::Zeroizing;

/// A class of bytes.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Class {
    bytes: [u64; 4],
    /// `true` if a line end may precede it.
    pub(super) is_after_break: bool,
}

impl Class {
    /// Returns the class of a byte in upper and lower case.
    fn of(byte: u8) -> Self {
        let mut class = Self::default();
        class.add(byte);
        class
    }

    fn add(&mut self, byte: u8) {
        for byte in [byte.to_ascii_lowercase(), byte.to_ascii_uppercase()] {
            if let Some(word) = self.bytes.get_mut(usize::from(byte / 64)) {
                *word |= 1 << (byte % 64);
            }
        }
    }

    pub(super) fn has(&self, byte: u8) -> bool {
        self.bytes.get(usize::from(byte / 64)).is_some_and(|word| word >> (byte % 64) & 1 == 1)
    }
}

/// A sequence of classes to search for. It is never empty.
pub(super) type Form = Zeroizing<Vec<Class>>;

impl zeroize::DefaultIsZeroes for Class {}

/// The smallest length of a part or an encoding that is searched for. Shorter ones occur by chance.
const LEAST: usize = 6;

/// Returns the secret, its parts, and both in the usual encodings of bytes.
pub(super) fn of(secret: &str) -> Vec<Form> {
    let mut forms = Vec::new();
    for text in parts(secret) {
        let bytes = text.as_bytes();
        if !bytes.is_empty() {
            forms.push(Zeroizing::new(bytes.iter().map(|byte| Class::of(*byte)).collect()));
        }
        if bytes.len() >= LEAST {
            forms.push(hex(bytes));
            forms.extend((0..3).map(|before| base64(bytes, before)));
        }
    }
    forms
}

/// Returns the secret and its parts: the text after a scheme, as in `Basic …`; the pair that this text
/// encodes in base64; and the password of the pair. The name in the pair is no secret and often a common
/// word.
fn parts(secret: &str) -> Vec<Zeroizing<String>> {
    let mut parts = vec![Zeroizing::new(secret.to_owned())];
    let bare = secret.rsplit(' ').next().unwrap_or_default();
    let mut more = vec![Zeroizing::new(bare.to_owned())];
    if let Some(pair) = decode_base64(bare).filter(|pair| pair.contains(':')) {
        more.extend(pair.split_once(':').map(|(_, word)| Zeroizing::new(word.to_owned())));
        more.push(pair);
    }
    more.retain(|part| part.len() >= LEAST && part.as_str() != secret);
    parts.extend(more);
    parts
}

fn hex(bytes: &[u8]) -> Form {
    let digit = |value: u8| char::from_digit(value.into(), 16).map_or(b'0', |char| char as u8);
    let both = |byte: &u8| [byte >> 4, byte & 15].map(|half| Class::of(digit(half)));
    Zeroizing::new(bytes.iter().flat_map(both).collect())
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the base64 digits that depend on the bytes, if `before` other bytes precede them and any follow.
/// Both alphabets match, and line breaks as in mails.
fn base64(bytes: &[u8], before: usize) -> Form {
    let mut known: Vec<Option<bool>> = vec![None; before * 8];
    known.extend(
        bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| Some(byte >> at & 1 == 1))),
    );
    let groups = known.chunks(6).filter(|group| group.iter().any(Option::is_some));
    let mut digits: Vec<Class> = groups.map(digit).collect();
    digits.iter_mut().skip(1).for_each(|digit| digit.is_after_break = true);
    Zeroizing::new(digits)
}

/// Returns the class of the base64 digits with these bits.
fn digit(bits: &[Option<bool>]) -> Class {
    let mut class = Class::default();
    for (value, byte) in (0_u8..).zip(ALPHABET) {
        let mut pairs = bits.iter().zip((0..6).rev());
        if pairs.all(|(bit, at)| bit.is_none_or(|bit| (value >> at & 1 == 1) == bit)) {
            class.add(*byte);
            match byte {
                b'+' => class.add(b'-'),
                b'/' => class.add(b'_'),
                _ => {}
            }
        }
    }
    class
}

/// Decodes base64 to visible text.
fn decode_base64(text: &str) -> Option<Zeroizing<String>> {
    let mut bytes = Zeroizing::new(String::new());
    let mut held = 0_u32;
    let mut count = 0_u8;
    for byte in text.trim_end_matches('=').bytes() {
        let byte = if byte == b'-' {
            b'+'
        } else if byte == b'_' {
            b'/'
        } else {
            byte
        };
        let value = (0_u32..).zip(ALPHABET).find(|(_, one)| **one == byte)?.0;
        held = held << 6 | value;
        count += 6;
        if count >= 8 {
            count -= 8;
            let byte = u8::try_from(held >> count & 0xff).ok()?;
            bytes.push(Some(char::from(byte)).filter(|char| matches!(char, ' '..='~'))?);
        }
    }
    Some(bytes)
}
