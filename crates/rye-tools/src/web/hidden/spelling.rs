//! One character in each of the ways in which JSON, addresses and HTML spell it, and programs that write within programs.

/// How many spellings may be around each other, as of a character of an address within HTML within JSON.
const LAYERS: u8 = 3;

/// The longest spelling of one character, in bytes: six times six times six is what three layers of `&#x2b;` take.
pub(super) const LONGEST: usize = 256;

/// What takes a byte and the place behind its spelling.
type Each<'a> = &'a mut dyn FnMut(u8, usize);

/// A text that may have things spelled.
#[derive(Clone, Copy)]
pub(super) struct Spelled<'a>(pub(super) &'a [u8]);

impl Spelled<'_> {
    /// Puts each byte that the text may mean at a place, and the place behind it, once; first the byte that is there.
    pub(super) fn readings(self, at: usize, found: &mut Vec<(u8, usize)>) {
        found.clear();
        self.read(at, LAYERS, &mut |byte, end| {
            if end - at <= LONGEST && !found.contains(&(byte, end)) {
                found.push((byte, end));
            }
        });
    }

    fn read(self, at: usize, layers: u8, each: Each<'_>) {
        let Some(&byte) = self.0.get(at) else { return };
        let Some(within) = layers.checked_sub(1).filter(|_| begins(byte)) else {
            return each(byte, at + 1);
        };
        self.read(at, within, &mut |first, next| {
            each(first, next);
            match first {
                b'\\' => self.escape(next, within, each),
                b'%' => self.digits(next, within, Digits::hex(2), each),
                b'&' => self.entity(next, within, each),
                b'+' => each(b' ', next),
                _ => {}
            }
        });
    }

    /// What stands behind a backslash.
    fn escape(self, at: usize, layers: u8, each: Each<'_>) {
        self.read(at, layers, &mut |kind, next| match kind {
            b'u' => {
                self.digits(next, layers, Digits::hex(4), each);
                self.after(next, layers, b'{', &mut |open| {
                    self.digits(open, layers, Digits::up_to(16, 6, b'}'), each);
                });
            }
            b'x' => self.digits(next, layers, Digits::hex(2), each),
            kind if kind.is_ascii_punctuation() => each(kind, next),
            _ => {}
        });
    }

    /// What stands behind an ampersand; the semicolon may be missing, as browsers allow of many.
    fn entity(self, at: usize, layers: u8, each: Each<'_>) {
        self.read(at, layers, &mut |first, next| match first {
            b'#' => {
                self.digits(next, layers, Digits::up_to(10, 8, b';'), each);
                self.read(next, layers, &mut |x, behind| {
                    if matches!(x, b'x' | b'X') {
                        self.digits(behind, layers, Digits::up_to(16, 7, b';'), each);
                    }
                });
            }
            first if first.is_ascii_alphabetic() => {
                self.named(next, layers, &mut vec![first], each);
            }
            _ => {}
        });
    }

    fn named(self, at: usize, layers: u8, name: &mut Vec<u8>, each: Each<'_>) {
        if let Some(byte) = meant(name) {
            each(byte, at);
            self.after(at, layers, b';', &mut |end| each(byte, end));
        }
        if name.len() == LONGEST_NAME {
            return;
        }
        self.read(at, layers, &mut |letter, next| {
            if letter.is_ascii_alphabetic() {
                name.push(letter);
                self.named(next, layers, name, each);
                name.pop();
            }
        });
    }

    /// A number of digits; what they mean is one byte or nothing.
    fn digits(self, at: usize, layers: u8, digits: Digits, each: Each<'_>) {
        if let (true, Ok(byte)) = (digits.may_end(), u8::try_from(digits.value))
            && byte.is_ascii()
        {
            each(byte, at);
            if let Some(end) = digits.end {
                self.after(at, layers, end, &mut |end| each(byte, end));
            }
        }
        if digits.left == 0 {
            return;
        }
        self.read(at, layers, &mut |digit, next| {
            if let Some(more) = digits.with(digit) {
                self.digits(next, layers, more, each);
            }
        });
    }

    /// The places behind one certain byte.
    fn after(self, at: usize, layers: u8, expected: u8, each: &mut dyn FnMut(usize)) {
        self.read(at, layers, &mut |byte, next| {
            if byte == expected {
                each(next);
            }
        });
    }
}

/// Whether a spelling can begin with it.
const fn begins(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&' | b'+')
}

/// A number that is being read.
#[derive(Debug, Clone, Copy)]
struct Digits {
    radix: u32,
    value: u32,
    left: u8,
    /// What may stand behind a number of any length; none for one of a fixed length.
    end: Option<u8>,
    is_begun: bool,
}

impl Digits {
    const fn hex(count: u8) -> Self {
        Self { radix: 16, value: 0, left: count, end: None, is_begun: false }
    }

    const fn up_to(radix: u32, count: u8, end: u8) -> Self {
        Self { radix, value: 0, left: count, end: Some(end), is_begun: false }
    }

    const fn may_end(self) -> bool {
        self.is_begun && (self.left == 0 || self.end.is_some())
    }

    fn with(self, digit: u8) -> Option<Self> {
        let digit = char::from(digit).to_digit(self.radix)?;
        let value = self.value.checked_mul(self.radix)?.checked_add(digit)?;
        Some(Self { value, left: self.left - 1, is_begun: true, ..self })
    }
}

const LONGEST_NAME: usize = 16;

/// The character of ASCII that HTML calls so.
fn meant(name: &[u8]) -> Option<u8> {
    Some(match name {
        b"excl" => b'!',
        b"quot" | b"QUOT" => b'"',
        b"num" => b'#',
        b"dollar" => b'$',
        b"percnt" => b'%',
        b"amp" | b"AMP" => b'&',
        b"apos" => b'\'',
        b"lpar" => b'(',
        b"rpar" => b')',
        b"ast" | b"midast" => b'*',
        b"plus" => b'+',
        b"comma" => b',',
        b"period" => b'.',
        b"sol" => b'/',
        b"colon" => b':',
        b"semi" => b';',
        b"lt" | b"LT" => b'<',
        b"equals" => b'=',
        b"gt" | b"GT" => b'>',
        b"quest" => b'?',
        b"commat" => b'@',
        b"lsqb" | b"lbrack" => b'[',
        b"bsol" => b'\\',
        b"rsqb" | b"rbrack" => b']',
        b"Hat" => b'^',
        b"lowbar" | b"UnderBar" => b'_',
        b"grave" | b"DiacriticalGrave" => b'`',
        b"lcub" | b"lbrace" => b'{',
        b"verbar" | b"vert" | b"VerticalLine" => b'|',
        b"rcub" | b"rbrace" => b'}',
        _ => return None,
    })
}
