//! What else a secret may look like, before its characters are spelled in one way or another.

use zeroize::Zeroizing;

/// Which bytes may stand at a place.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Class {
    bytes: [u64; 4],
    /// Whether a line may end before it.
    pub(super) is_after_break: bool,
}

impl Class {
    /// This byte, in large or small letters.
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

/// One thing to look for, byte by byte; never empty.
pub(super) type Form = Zeroizing<Vec<Class>>;

impl zeroize::DefaultIsZeroes for Class {}

/// So many bytes have to be there for a part or another notation of a secret to be nobody else's.
const LEAST: usize = 6;

/// The secret, what it is made of, and both in the notations that are common for bytes.
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

/// The secret; what stands behind the word that says how it is used, as in `Basic …`; and the pair which that is in base64, with
/// its password by itself. Its name is no secret, and often a word that every text of the server has.
fn parts(secret: &str) -> Vec<Zeroizing<String>> {
    let mut parts = vec![Zeroizing::new(secret.to_owned())];
    let bare = secret.rsplit(' ').next().unwrap_or_default();
    let mut more = vec![Zeroizing::new(bare.to_owned())];
    if let Some(pair) = decoded(bare).filter(|pair| pair.contains(':')) {
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

/// What of base64 depends on the bytes, where so many others stand before them and any behind them; in both alphabets,
/// and in lines, as those break it that write it for mails.
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

/// Which digits of base64 have those bits.
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

/// The visible text that this is in base64.
fn decoded(text: &str) -> Option<Zeroizing<String>> {
    let (mut bytes, mut held, mut count) = (Zeroizing::new(String::new()), 0_u32, 0_u8);
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
