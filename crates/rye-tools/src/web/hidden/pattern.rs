//! Where a text has any of some forms, however its characters are spelled, in a time that grows with its length alone.

use std::ops::Range;

use zeroize::Zeroizing;

use super::disguises::Form;
use super::spelling::{LONGEST, Spelled};

/// All forms at once, a bit for each of their bytes, in rows of whole words.
pub(super) struct Pattern {
    forms: Vec<Form>,
    /// For each byte that a text can have, the places in the forms where it may stand.
    places: Zeroizing<Vec<u64>>,
    first: Vec<u64>,
    last: Vec<u64>,
}

impl Pattern {
    pub(super) fn new(forms: Vec<Form>) -> Self {
        let length: usize = forms.iter().map(|form| form.len()).sum();
        let words = length.div_ceil(64);
        let mut places = Zeroizing::new(vec![0; words * 256]);
        let (mut first, mut last) = (vec![0; words], vec![0; words]);
        let mut at = 0;
        for form in &forms {
            set(&mut first, at);
            for class in form.iter() {
                for byte in (0..=u8::MAX).filter(|byte| class.has(*byte)) {
                    set(&mut places, usize::from(byte) * words * 64 + at);
                }
                at += 1;
            }
            set(&mut last, at - 1);
        }
        Self { forms, places, first, last }
    }

    /// The pieces of the text to take out, in order; what overlaps is one.
    pub(super) fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut text = Spelled::new(text);
        let (mut starts, mut ranges) = (self.starts(&mut text), Vec::new());
        while let Some(start) = starts.pop() {
            let mut range = start..self.end(&mut text, start);
            // Of those that begin within it, the last reaches farthest; to ask each would take too long where a secret repeats itself.
            while let Some(inner) = last_before(range.end, &mut starts) {
                range.end = range.end.max(self.end(&mut text, inner));
            }
            ranges.push(range);
        }
        ranges
    }

    /// Where a form begins, from the end of the text to its beginning.
    ///
    /// For each place, a bit says whether the text reads on from there as a form does from a certain byte to its end. It follows
    /// from the bits of the places behind, of which none is farther than a spelling is long.
    fn starts(&self, text: &mut Spelled<'_>) -> Vec<usize> {
        let words = self.first.len();
        let mut ring = Zeroizing::new(vec![0_u64; words * RING]);
        let mut row = Zeroizing::new(vec![0_u64; words]);
        let (mut starts, mut readings) = (Vec::new(), Vec::new());
        for at in (0..text.length()).rev() {
            row.fill(0);
            text.readings(at, &mut readings);
            for (byte, end) in &readings {
                let behind =
                    if *end == text.length() { &[] } else { part(&ring, end % RING, words) };
                self.add(&mut row, *byte, behind);
            }
            let begins = row.iter().zip(&self.first).any(|(row, first)| row & first != 0);
            if begins {
                starts.push(at);
            }
            let place = at % RING * words;
            if let Some(place) = ring.get_mut(place..place + words) {
                place.copy_from_slice(&row);
            }
        }
        starts
    }

    /// Adds what a byte makes of the row behind it: at each of its places, the form ends or goes on there.
    fn add(&self, row: &mut [u64], byte: u8, behind: &[u64]) {
        let places = part(&self.places, usize::from(byte), self.first.len());
        let mut rows = behind.iter().copied().chain(std::iter::repeat(0));
        let mut here = rows.next().unwrap_or_default();
        for ((row, places), last) in row.iter_mut().zip(places).zip(&self.last) {
            let next = rows.next().unwrap_or_default();
            *row |= places & (here >> 1 | next << 63 | last);
            here = next;
        }
    }

    /// The farthest end of a form that begins there.
    fn end(&self, text: &mut Spelled<'_>, start: usize) -> usize {
        let ends = self.forms.iter().filter_map(|form| end(form, text, start));
        ends.max().unwrap_or(start)
    }
}

/// A power of two, so that finding a place takes no time, and more than the longest spelling.
const RING: usize = LONGEST * 2;

/// Takes all up to that place from the end, where the smallest are.
fn last_before(end: usize, starts: &mut Vec<usize>) -> Option<usize> {
    let mut last = None;
    while let Some(start) = starts.pop_if(|start| *start < end) {
        last = Some(start);
    }
    last
}

fn set(bits: &mut [u64], at: usize) {
    if let Some(word) = bits.get_mut(at / 64) {
        *word |= 1 << (at % 64);
    }
}

fn part(rows: &[u64], row: usize, words: usize) -> &[u64] {
    rows.get(row * words..(row + 1) * words).unwrap_or_default()
}

fn end(form: &Form, text: &mut Spelled<'_>, start: usize) -> Option<usize> {
    let (mut here, mut next, mut readings) = (vec![start], Vec::new(), Vec::new());
    for class in form.iter() {
        for at in here.drain(..) {
            text.readings(at, &mut readings);
            let fitting = readings.iter().filter(|(byte, _)| class.has(*byte));
            next.extend(fitting.map(|(_, end)| *end));
        }
        next.sort_unstable();
        next.dedup();
        std::mem::swap(&mut here, &mut next);
    }
    here.last().copied()
}
