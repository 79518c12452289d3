//! Search for several forms in a text, in all spellings of the characters, in linear time.

use std::ops::Range;

use zeroize::Zeroizing;

use super::encodings::Form;
use super::spelling::{LONGEST, Spelled};

/// All forms together, with a bit for each of their positions, in rows of whole words.
pub(super) struct Pattern {
    /// The start of each form.
    begins: Vec<usize>,
    /// For each byte, the positions in the forms where it may be.
    places: Zeroizing<Vec<u64>>,
    first: Vec<u64>,
    last: Vec<u64>,
    /// The positions that a line end may precede.
    breaks: Vec<u64>,
}

impl Pattern {
    pub(super) fn new(forms: &[Form]) -> Self {
        let length: usize = forms.iter().map(|form| form.len()).sum();
        let words = length.div_ceil(64);
        let mut places = Zeroizing::new(vec![0; words * 256]);
        let [mut first, mut last, mut breaks] = [(); 3].map(|()| vec![0; words]);
        let mut begins = Vec::new();
        let mut at = 0;
        for form in forms {
            set(&mut first, at);
            begins.push(at);
            for class in form.iter() {
                if class.is_after_break {
                    set(&mut breaks, at);
                }
                for byte in (0..=u8::MAX).filter(|byte| class.has(*byte)) {
                    set(&mut places, usize::from(byte) * words * 64 + at);
                }
                at += 1;
            }
            set(&mut last, at - 1);
        }
        Self { begins, places, first, last, breaks }
    }

    /// Returns the ranges to redact, in order. Overlapping matches become one range.
    pub(super) fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut text = Spelled::new(text);
        let mut starts = self.starts(&mut text);
        let mut ranges = Vec::new();
        let mut ring = Zeroizing::new(vec![0_u64; self.first.len() * RING]);
        while let Some(first) = starts.pop() {
            let mut range = first.at..self.farthest(&mut text, &[first], &mut ring);
            // All matches that begin within the range are followed together. Following each alone would take
            // too long for a repetitive secret.
            let mut inner = before(range.end, &mut starts);
            while !inner.is_empty() {
                range.end = range.end.max(self.farthest(&mut text, &inner, &mut ring));
                inner = before(range.end, &mut starts);
            }
            ranges.push(range);
        }
        ranges
    }

    /// Returns the places where forms begin, from the end of the text to its start.
    ///
    /// For each place, a bit says that the text from there on matches a form from a certain position to its
    /// end. The bits follow from those of the later places, at most one spelling away.
    fn starts(&self, text: &mut Spelled<'_>) -> Vec<Start> {
        let words = self.first.len();
        let mut ring = Zeroizing::new(vec![0_u64; words * RING]);
        let mut row = Zeroizing::new(vec![0_u64; words]);
        let mut starts = Vec::new();
        let mut readings = Vec::new();
        for at in (0..text.length()).rev() {
            row.fill(0);
            text.readings(at, &mut readings);
            for (byte, end) in &readings {
                let behind =
                    if *end == text.length() { &[] } else { part(&ring, end % RING, words) };
                self.add(&mut row, *byte, behind);
            }
            if row.iter().zip(&self.first).any(|(row, first)| row & first != 0) {
                starts.push(Start { at, forms: self.forms_at_start(&row) });
            }
            let place = at % RING * words;
            if let Some(place) = ring.get_mut(place..place + words) {
                place.copy_from_slice(&row);
            }
        }
        starts
    }

    /// Adds the effect of a byte to a row. At each of its positions, the form ends here or continues in the
    /// row after it.
    fn add(&self, row: &mut [u64], byte: u8, behind: &[u64]) {
        let places = part(&self.places, usize::from(byte), self.first.len());
        let mut rows = behind.iter().copied().chain(std::iter::repeat(0));
        let mut here = rows.next().unwrap_or_default();
        let ends = self.last.iter().zip(self.break_positions(byte));
        for ((row, places), (last, passed)) in row.iter_mut().zip(places).zip(ends) {
            let next = rows.next().unwrap_or_default();
            *row |= places & (here >> 1 | next << 63 | last) | here & passed;
            here = next;
        }
    }

    /// Returns the positions that stay the same over this byte, because a line end may precede them.
    fn break_positions(&self, byte: u8) -> impl Iterator<Item = u64> {
        let all = if matches!(byte, b'\r' | b'\n') { u64::MAX } else { 0 };
        self.breaks.iter().map(move |breaks| breaks & all)
    }

    /// Returns the forms that begin in this row, as bits.
    fn forms_at_start(&self, row: &[u64]) -> u64 {
        let begun = self.begins.iter().zip(0_u32..).filter(|(at, _)| has(row, **at));
        begun.fold(0, |forms, (_, form)| forms | 1 << form)
    }

    /// Returns the farthest end of the forms that begin at these places, which are sorted. The ring is empty
    /// before and after.
    fn farthest(&self, text: &mut Spelled<'_>, starts: &[Start], ring: &mut [u64]) -> usize {
        let words = self.first.len();
        let mut readings = Vec::new();
        let mut farthest = 0;
        let mut starts = starts.iter().peekable();
        let mut row = Zeroizing::new(vec![0_u64; words]);
        let mut at = starts.peek().map_or(0, |start| start.at);
        let mut until = at;
        while at <= until {
            take(ring, at % RING, &mut row);
            while let Some(start) = starts.next_if(|start| start.at == at) {
                self.begin(&mut row, start.forms);
            }
            until = until.max(starts.peek().map_or(0, |start| start.at));
            text.readings(at, &mut readings);
            for (byte, end) in &readings {
                let (is_whole, goes_on) =
                    self.follow(&row, *byte, part_mut(ring, end % RING, words));
                farthest = if is_whole { farthest.max(*end) } else { farthest };
                until = if goes_on { until.max(*end) } else { until };
            }
            at += 1;
        }
        farthest
    }

    fn begin(&self, row: &mut [u64], forms: u64) {
        let begun = self.begins.iter().zip(0_u32..).filter(|(_, form)| forms >> form & 1 == 1);
        begun.for_each(|(at, _)| set(row, *at));
    }

    /// Adds the effect of a byte on `row` to the row after it. Returns whether a form ends there, and whether
    /// one continues.
    fn follow(&self, row: &[u64], byte: u8, behind: &mut [u64]) -> (bool, bool) {
        let places = part(&self.places, usize::from(byte), self.first.len());
        let mut whole = 0;
        let mut on = 0;
        let mut carry = 0;
        let ends = self.last.iter().zip(self.break_positions(byte));
        for (((row, places), (last, passed)), behind) in
            row.iter().zip(places).zip(ends).zip(behind)
        {
            let here = row & places;
            whole |= here & last;
            let next = (here & !last) << 1 | carry | row & passed;
            carry = (here & !last) >> 63;
            on |= next;
            *behind |= next;
        }
        (whole != 0, on != 0)
    }
}

/// A place where forms begin.
#[derive(Clone, Copy)]
struct Start {
    at: usize,
    forms: u64,
}

/// The length of the ring: more than the longest spelling, and a power of two for fast indexing.
const RING: usize = LONGEST * 2;

/// Removes and returns the places before `end`.
fn before(end: usize, starts: &mut Vec<Start>) -> Vec<Start> {
    std::iter::from_fn(|| starts.pop_if(|start| start.at < end)).collect()
}

fn set(bits: &mut [u64], at: usize) {
    if let Some(word) = bits.get_mut(at / 64) {
        *word |= 1 << (at % 64);
    }
}

fn part(rows: &[u64], row: usize, words: usize) -> &[u64] {
    rows.get(row * words..(row + 1) * words).unwrap_or_default()
}

fn part_mut(rows: &mut [u64], row: usize, words: usize) -> &mut [u64] {
    rows.get_mut(row * words..(row + 1) * words).unwrap_or_default()
}

/// Moves a row out of the ring.
fn take(ring: &mut [u64], at: usize, row: &mut [u64]) {
    let kept = part_mut(ring, at, row.len());
    row.copy_from_slice(kept);
    kept.fill(0);
}

fn has(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
}
