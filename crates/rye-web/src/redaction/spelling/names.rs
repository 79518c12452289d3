//! The names of ASCII characters in HTML.

/// The names with their characters.
const NAMES: &[(&[u8], u8)] = &[
    (b"excl", b'!'),
    (b"quot", b'"'),
    (b"QUOT", b'"'),
    (b"num", b'#'),
    (b"dollar", b'$'),
    (b"percnt", b'%'),
    (b"amp", b'&'),
    (b"AMP", b'&'),
    (b"apos", b'\''),
    (b"lpar", b'('),
    (b"rpar", b')'),
    (b"ast", b'*'),
    (b"midast", b'*'),
    (b"plus", b'+'),
    (b"comma", b','),
    (b"period", b'.'),
    (b"sol", b'/'),
    (b"colon", b':'),
    (b"semi", b';'),
    (b"lt", b'<'),
    (b"LT", b'<'),
    (b"equals", b'='),
    (b"gt", b'>'),
    (b"GT", b'>'),
    (b"quest", b'?'),
    (b"commat", b'@'),
    (b"lsqb", b'['),
    (b"lbrack", b'['),
    (b"bsol", b'\\'),
    (b"rsqb", b']'),
    (b"rbrack", b']'),
    (b"Hat", b'^'),
    (b"lowbar", b'_'),
    (b"UnderBar", b'_'),
    (b"grave", b'`'),
    (b"DiacriticalGrave", b'`'),
    (b"lcub", b'{'),
    (b"lbrace", b'{'),
    (b"verbar", b'|'),
    (b"vert", b'|'),
    (b"VerticalLine", b'|'),
    (b"rcub", b'}'),
    (b"rbrace", b'}'),
];

/// The start of a name, as the index of the first name with that start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Begun {
    name: usize,
    length: usize,
}

impl Begun {
    /// Adds a letter, if a name continues with it.
    pub(super) fn with(self, letter: u8) -> Option<Self> {
        let fits = |(name, _): &(&[u8], u8)| {
            name.strip_prefix(self.letters()).is_some_and(|rest| rest.first() == Some(&letter))
        };
        Some(Self { name: NAMES.iter().position(fits)?, length: self.length + 1 })
    }

    /// Returns the character, if the name is complete.
    pub(super) fn character(self) -> Option<u8> {
        NAMES.iter().find(|(name, _)| *name == self.letters()).map(|(_, byte)| *byte)
    }

    fn letters(self) -> &'static [u8] {
        NAMES.get(self.name).and_then(|(name, _)| name.get(..self.length)).unwrap_or_default()
    }
}
