//! The spellings of a character in JSON, URLs and HTML, and in combinations of them.

use self::digits::Digits;
use self::names::Begun;

mod digits;
mod names;

/// The largest number of nested spellings, for example a character of a URL in HTML in JSON.
const LAYERS: usize = 3;

/// The length of the longest spelling of a character, in bytes. Three layers of `&#x2b;` have six times six
/// times six.
pub(super) const LONGEST: usize = 256;

/// The number of places whose readings are kept: a power of two, and more than a reading looks ahead, which
/// is one spelling for each layer but the first.
const WINDOW: usize = LONGEST * 4;

/// A byte that the text may mean at a place, and the place after its spelling.
pub(super) type Reading = (u8, usize);

/// A text that may contain spellings.
pub(super) struct Spelled<'a> {
    text: &'a [u8],
    /// The readings of each layer. They are kept because a text can have very many ways of reading it, and
    /// each place is read once.
    known: [Vec<Known>; LAYERS],
    #[cfg(test)]
    pub(super) asked: usize,
}

#[derive(Debug, Clone, Default)]
struct Known {
    at: Option<usize>,
    readings: Vec<Reading>,
}

impl<'a> Spelled<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            known: Default::default(),
            #[cfg(test)]
            asked: 0,
        }
    }

    pub(super) const fn length(&self) -> usize {
        self.text.len()
    }

    /// Finds each byte that the text may mean at a place, with the place after it, once.
    pub(super) fn readings(&mut self, at: usize, found: &mut Vec<Reading>) {
        found.clear();
        self.each(at, LAYERS, |reading| found.push(reading));
    }

    fn each(&mut self, at: usize, layers: usize, mut each: impl FnMut(Reading)) {
        let Some(&byte) = self.text.get(at) else { return };
        let Some(within) = layers.checked_sub(1).filter(|_| begins(byte)) else {
            return each((byte, at + 1));
        };
        if let Some(known) = self.find_known(at, within) {
            return known.readings.iter().copied().for_each(each);
        }
        let readings = self.read(at, within);
        readings.iter().copied().for_each(each);
        self.keep(within, Known { at: Some(at), readings });
    }

    fn find_known(&self, at: usize, layer: usize) -> Option<&Known> {
        let known = self.known.get(layer)?.get(at % WINDOW)?;
        Some(known).filter(|known| known.at == Some(at))
    }

    fn keep(&mut self, layer: usize, read: Known) {
        let Some((kept, at)) = self.known.get_mut(layer).zip(read.at) else { return };
        if kept.is_empty() {
            kept.resize(self.text.len().min(WINDOW), Known::default());
        }
        if let Some(known) = kept.get_mut(at % WINDOW) {
            *known = read;
        }
    }

    /// Returns the readings of a spelling with `within` layers inside of it.
    fn read(&mut self, at: usize, within: usize) -> Vec<Reading> {
        let mut reader = Reader { text: self, within, limit: at + LONGEST, found: Vec::new() };
        let here = reader.step(&[((), at)], |(), byte| Some(byte));
        reader.read_escape(&behind(&here, |byte| byte == b'\\'));
        reader.numbers(&behind(&here, |byte| byte == b'%'), Digits::hex(2));
        reader.entities(&behind(&here, |byte| byte == b'&'));
        let spaces = behind(&here, |byte| byte == b'+');
        reader.found.extend(spaces.iter().map(|((), end)| (b' ', *end)));
        let mut found = reader.found;
        found.extend(here);
        sort(found)
    }
}

/// A layer of the text that is read up to a limit.
struct Reader<'r, 'a> {
    text: &'r mut Spelled<'a>,
    within: usize,
    limit: usize,
    found: Vec<Reading>,
}

impl Reader<'_, '_> {
    /// Returns the next states for each state and the bytes that the text may mean at its place.
    fn step<S: Copy, T: Ord>(
        &mut self,
        states: &[(S, usize)],
        with: impl Fn(S, u8) -> Option<T>,
    ) -> Vec<(T, usize)> {
        let mut next = Vec::new();
        let limit = self.limit;
        for (state, at) in states {
            #[cfg(test)]
            let mut asked = 0;
            self.text.each(*at, self.within, |(byte, end)| {
                #[cfg(test)]
                (asked += 1);
                next.extend(with(*state, byte).filter(|_| end <= limit).map(|state| (state, end)));
            });
            #[cfg(test)]
            (self.text.asked += asked);
        }
        sort(next)
    }

    /// Reads the spelling after a backslash.
    fn read_escape(&mut self, at: &[((), usize)]) {
        let kinds = self.step(at, |(), byte| Some(byte));
        let long = behind(&kinds, |kind| kind == b'u');
        self.numbers(&long, Digits::hex(4));
        let open = self.step(&long, |(), byte| (byte == b'{').then_some(()));
        self.numbers(&open, Digits::up_to(16, 6, b'}'));
        self.numbers(&behind(&kinds, |kind| kind == b'x'), Digits::hex(2));
        self.found.extend(kinds.iter().filter_map(|(kind, end)| Some((unescape(*kind)?, *end))));
    }

    /// Reads the spelling after an ampersand. The semicolon may be missing, because browsers allow that for
    /// many names.
    fn entities(&mut self, at: &[((), usize)]) {
        let number = self.step(at, |(), byte| (byte == b'#').then_some(()));
        self.numbers(&number, Digits::up_to(10, 8, b';'));
        let hex = self.step(&number, |(), byte| matches!(byte, b'x' | b'X').then_some(()));
        self.numbers(&hex, Digits::up_to(16, 7, b';'));
        let begun = at.iter().map(|((), at)| (Begun::default(), *at)).collect();
        self.read_spelling(begun, Begun::with, Begun::character, |_, byte| byte == b';');
    }

    fn numbers(&mut self, at: &[((), usize)], digits: Digits) {
        let begun = at.iter().map(|((), at)| (digits, *at)).collect();
        self.read_spelling(begun, Digits::with, Digits::character, Digits::closes);
    }

    /// Reads byte by byte while a spelling is possible, and handles its end mark.
    fn read_spelling<S: Copy + Ord>(
        &mut self,
        mut begun: Vec<(S, usize)>,
        with: impl Fn(S, u8) -> Option<S>,
        meant: impl Fn(S) -> Option<u8>,
        closes: impl Fn(S, u8) -> bool,
    ) {
        while !begun.is_empty() {
            self.found.extend(begun.iter().filter_map(|(state, at)| Some((meant(*state)?, *at))));
            let closed = |state, byte| meant(state).filter(|_| closes(state, byte));
            let closed = self.step(&begun, closed);
            self.found.extend(closed);
            begun = self.step(&begun, &with);
        }
    }
}

/// Returns the byte for a single character after a backslash.
const fn unescape(kind: u8) -> Option<u8> {
    match kind {
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        kind if kind.is_ascii_punctuation() => Some(kind),
        _ => None,
    }
}

/// Returns the places after bytes that fit.
fn behind(readings: &[Reading], fits: impl Fn(u8) -> bool) -> Vec<((), usize)> {
    readings.iter().filter(|(byte, _)| fits(*byte)).map(|(_, end)| ((), *end)).collect()
}

fn sort<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns `true` if a spelling can begin with the byte.
const fn begins(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&' | b'+')
}
