//! One character in each of the ways in which JSON, addresses and HTML spell it, and programs that write within programs.

use self::digits::Digits;
use self::names::Begun;

mod digits;
mod names;

/// How many spellings may be around each other, as of a character of an address within HTML within JSON.
const LAYERS: usize = 3;

/// The longest spelling of one character, in bytes: six times six times six is what three layers of `&#x2b;` take.
pub(super) const LONGEST: usize = 256;

/// Of so many places what they may mean is kept: a power of two, and more than one reading looks ahead, which is a spelling for
/// each layer but the first.
const WINDOW: usize = LONGEST * 4;

/// A byte that a text may mean at a place, and the place behind its spelling.
pub(super) type Reading = (u8, usize);

/// A text that may have things spelled.
pub(super) struct Spelled<'a> {
    text: &'a [u8],
    /// What was read in each layer, because a text can be read to the same end in very many ways: each is gone once.
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

    /// Puts each byte that the text may mean at a place, and the place behind it, once.
    pub(super) fn readings(&mut self, at: usize, found: &mut Vec<Reading>) {
        found.clear();
        self.each(at, LAYERS, |reading| found.push(reading));
    }

    fn each(&mut self, at: usize, layers: usize, mut each: impl FnMut(Reading)) {
        let Some(&byte) = self.text.get(at) else { return };
        let Some(within) = layers.checked_sub(1).filter(|_| begins(byte)) else {
            return each((byte, at + 1));
        };
        if let Some(known) = self.known(at, within) {
            return known.readings.iter().copied().for_each(each);
        }
        let readings = self.read(at, within);
        readings.iter().copied().for_each(each);
        self.keep(within, Known { at: Some(at), readings });
    }

    fn known(&self, at: usize, layer: usize) -> Option<&Known> {
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

    /// What a spelling around those of so many layers within may mean.
    fn read(&mut self, at: usize, within: usize) -> Vec<Reading> {
        let mut reader = Reader { text: self, within, limit: at + LONGEST, found: Vec::new() };
        let here = reader.step(&[((), at)], |(), byte| Some(byte));
        reader.escaped(&behind(&here, |byte| byte == b'\\'));
        reader.numbers(&behind(&here, |byte| byte == b'%'), Digits::hex(2));
        reader.entities(&behind(&here, |byte| byte == b'&'));
        let spaces = behind(&here, |byte| byte == b'+');
        reader.found.extend(spaces.iter().map(|((), end)| (b' ', *end)));
        let mut found = reader.found;
        found.extend(here);
        sorted(found)
    }
}

/// One layer of a text, as it reads up to some place.
struct Reader<'r, 'a> {
    text: &'r mut Spelled<'a>,
    within: usize,
    limit: usize,
    found: Vec<Reading>,
}

impl Reader<'_, '_> {
    /// What becomes of each state with the bytes that the text may mean at its place.
    fn step<S: Copy, T: Ord>(
        &mut self,
        states: &[(S, usize)],
        with: impl Fn(S, u8) -> Option<T>,
    ) -> Vec<(T, usize)> {
        let (mut next, limit) = (Vec::new(), self.limit);
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
        sorted(next)
    }

    /// What stands behind a backslash.
    fn escaped(&mut self, at: &[((), usize)]) {
        let kinds = self.step(at, |(), byte| Some(byte));
        let long = behind(&kinds, |kind| kind == b'u');
        self.numbers(&long, Digits::hex(4));
        let open = self.step(&long, |(), byte| (byte == b'{').then_some(()));
        self.numbers(&open, Digits::up_to(16, 6, b'}'));
        self.numbers(&behind(&kinds, |kind| kind == b'x'), Digits::hex(2));
        self.found.extend(kinds.iter().filter_map(|(kind, end)| Some((escaped(*kind)?, *end))));
    }

    /// What stands behind an ampersand; the semicolon may be missing, as browsers allow of many.
    fn entities(&mut self, at: &[((), usize)]) {
        let number = self.step(at, |(), byte| (byte == b'#').then_some(()));
        self.numbers(&number, Digits::up_to(10, 8, b';'));
        let hex = self.step(&number, |(), byte| matches!(byte, b'x' | b'X').then_some(()));
        self.numbers(&hex, Digits::up_to(16, 7, b';'));
        let begun = at.iter().map(|((), at)| (Begun::default(), *at)).collect();
        self.spelled(begun, Begun::with, Begun::meant, |_, byte| byte == b';');
    }

    fn numbers(&mut self, at: &[((), usize)], digits: Digits) {
        let begun = at.iter().map(|((), at)| (digits, *at)).collect();
        self.spelled(begun, Digits::with, Digits::meant, Digits::closes);
    }

    /// What is read byte by byte for as long as it can become something, and may have an end of its own.
    fn spelled<S: Copy + Ord>(
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

/// What a backslash makes of a character by itself.
const fn escaped(kind: u8) -> Option<u8> {
    match kind {
        b'n' => Some(b'\n'),
        b'r' => Some(b'\r'),
        kind if kind.is_ascii_punctuation() => Some(kind),
        _ => None,
    }
}

/// The places behind such bytes.
fn behind(readings: &[Reading], fits: impl Fn(u8) -> bool) -> Vec<((), usize)> {
    readings.iter().filter(|(byte, _)| fits(*byte)).map(|(_, end)| ((), *end)).collect()
}

fn sorted<T: Ord>(mut all: Vec<T>) -> Vec<T> {
    all.sort_unstable();
    all.dedup();
    all
}

/// Whether a spelling can begin with it.
const fn begins(byte: u8) -> bool {
    matches!(byte, b'\\' | b'%' | b'&' | b'+')
}
