//! The part of a long thread that one page shows.

use std::mem;
use std::ops::Range;

use rye_transcript::Record;
use serde_json::Value;

use super::{Entry, Section, Thread};

/// The number of records after which a page ends, with the turn or the piece of a turn that holds them.
const RECORDS: usize = 500;

/// The bytes of payloads after which a page ends.
const BYTES: usize = 2 * 1024 * 1024;

/// The most bytes of one payload that count: a page cuts each text.
const BYTES_OF_ONE: usize = 128 * 1024;

/// The number of pages at the end of a thread that are shown together, and followed while it runs.
const NEWEST: usize = 2;

/// The most entries that a search shows.
const MOST_FOUND: usize = 200;

/// The longest text that is searched for, in characters.
const LONGEST_TEXT: usize = 200;

/// The part of a thread that an address asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Part {
    /// The newest records of a thread that may change, and the first ones of another.
    #[default]
    Usual,
    /// The newest records, of an ended thread, too.
    Newest,
    /// The page that holds a record.
    Record(u64),
    /// The entries that hold a text, in small letters.
    Found(String),
}

impl Part {
    /// A search for a text; the part without a search if there is none.
    pub(crate) fn search(text: &str) -> Self {
        let words: String = text.trim().chars().take(LONGEST_TEXT).collect();
        if words.is_empty() { Self::Usual } else { Self::Found(words.to_lowercase()) }
    }
}

/// Some turns of a thread that are shown together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Page {
    /// The places of its turns among the sections.
    pub(crate) sections: Range<usize>,
    /// The places of its records.
    pub(crate) records: Range<usize>,
}

/// The entries that hold a text.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) text: String,
    /// The number of all entries that hold it.
    pub(crate) count: usize,
    shown: usize,
    /// The places of the records of the entries that are shown.
    records: Vec<usize>,
}

impl Found {
    /// Returns `true` if not all of them are shown.
    pub(crate) fn is_cut(&self) -> bool {
        self.shown < self.count
    }
}

/// The records that a page shows of a thread that does not fit on one.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) pages: Vec<Page>,
    /// The pages that are shown.
    pub(crate) shown: Range<usize>,
    pub(crate) found: Option<Found>,
}

impl Window {
    /// The places of the records on the pages that are shown.
    pub(crate) fn records(&self) -> Range<usize> {
        self.join(|page| &page.records)
    }

    fn join(&self, range: impl Fn(&Page) -> &Range<usize>) -> Range<usize> {
        let pages = self.pages.get(self.shown.clone()).unwrap_or_default();
        let ends = (pages.first(), pages.last());
        let (Some(first), Some(last)) = ends else { return 0..0 };
        range(first).start..range(last).end
    }

    fn holds(&self, index: usize) -> bool {
        match &self.found {
            Some(found) => found.records.binary_search(&index).is_ok(),
            None => self.records().contains(&index),
        }
    }

    /// Returns `true` if new records appear in it as they are written.
    pub(crate) fn is_newest(&self) -> bool {
        self.found.is_none() && self.shown.end == self.pages.len()
    }
}

impl<'a> Thread<'a> {
    /// The same thread for a page that shows a part of it.
    pub(crate) fn with_part(mut self, part: &Part) -> Self {
        self.sections = split(mem::take(&mut self.sections), self.records());
        let pages = pages(&self.sections, self.records());
        let last = pages.len().saturating_sub(1);
        let newest = pages.len().saturating_sub(NEWEST)..pages.len();
        let at = match part {
            Part::Record(seq) => page_of(&pages, *seq),
            Part::Newest => last,
            _ if self.source.may_change() => last,
            _ => 0,
        };
        let is_followed = *part == Part::Newest || self.source.may_change();
        let shown = match is_followed && newest.contains(&at) {
            true => newest,
            false => at..at + 1,
        };
        let found = match part {
            Part::Found(text) => Some(self.narrow(text)),
            _ => None,
        };
        self.window = Some(Window { pages, shown, found });
        self
    }

    /// Leaves the entries that hold a text.
    fn narrow(&mut self, text: &str) -> Found {
        let all = self.records();
        let mut found = Found { text: text.to_owned(), count: 0, shown: 0, records: Vec::new() };
        let mut size = Size::default();
        for section in &mut self.sections {
            section.entries.retain(|entry| {
                let mut own = entry.records().filter_map(|index| all.get(index));
                let is_found = own.any(|record| holds_text(record, text));
                found.count += usize::from(is_found);
                let is_shown = is_found && found.shown < MOST_FOUND && !size.is_full();
                if is_shown {
                    found.shown += 1;
                    found.records.extend(entry.records());
                    entry.records().for_each(|index| size.add(all.get(index)));
                }
                is_shown
            });
        }
        self.sections.retain(|section| !section.entries.is_empty());
        found.records.sort_unstable();
        found
    }

    /// The turns that the page shows.
    pub(crate) fn shown_sections(&self) -> &[Section] {
        let range = match &self.window {
            Some(window) if window.found.is_none() => window.join(|page| &page.sections),
            _ => 0..self.sections.len(),
        };
        self.sections.get(range).unwrap_or_default()
    }

    /// The records that the page shows.
    pub(crate) fn shown_records(&self) -> impl Iterator<Item = &'a Record> {
        let all = self.records().iter().enumerate();
        all.filter(|(index, _)| self.shows(*index)).map(|(_, record)| record)
    }

    /// Returns `true` if the page changes while the thread does. One that a search made does not.
    pub(crate) fn is_followed(&self) -> bool {
        let is_found = |window: &Window| window.found.is_some();
        self.source.may_change() && !self.window.as_ref().is_none_or(is_found)
    }

    fn shows(&self, index: usize) -> bool {
        self.window.as_ref().is_none_or(|window| window.holds(index))
    }

    /// The address of an element that belongs to a record: on this page, or on the one that holds the record.
    pub(crate) fn address(&self, seq: u64, element: &str) -> String {
        match usize::try_from(seq) {
            Ok(index) if !self.shows(index) => format!("?record={seq}#{element}"),
            _ => format!("#{element}"),
        }
    }

    /// The address of a record in the conversation.
    pub(crate) fn record_address(&self, seq: u64) -> String {
        self.address(seq, &self.record_id(seq))
    }

    /// The address of the line, the hash and the checkpoint of a record.
    pub(crate) fn panel_address(&self, seq: u64) -> String {
        self.address(seq, &self.panel_id(seq))
    }
}

impl Entry {
    /// The places of the records that it is made of.
    pub(crate) fn records(&self) -> impl Iterator<Item = usize> {
        let own = [Some(self.index), self.result].into_iter().flatten();
        own.chain(self.children.iter().copied()).chain(self.ends.iter().copied())
    }
}

/// The size of a page so far.
#[derive(Default)]
struct Size {
    records: usize,
    bytes: usize,
}

impl Size {
    fn add(&mut self, record: Option<&Record>) {
        self.records += 1;
        let bytes = record.map_or(0, |record| record.payload.get().len());
        self.bytes = self.bytes.saturating_add(bytes.min(BYTES_OF_ONE));
    }

    const fn is_full(&self) -> bool {
        RECORDS <= self.records || BYTES <= self.bytes
    }
}

/// Divides turns that do not fit on a page into pieces, each of which begins at an entry.
fn split(sections: Vec<Section>, all: &[Record]) -> Vec<Section> {
    let mut pieces: Vec<Section> = Vec::new();
    let mut sections = sections.into_iter().peekable();
    while let Some(mut section) = sections.next() {
        let end = sections.peek().map_or(all.len(), |next| next.first);
        let turn = section.turn;
        let entries = mem::take(&mut section.entries);
        let starts: Vec<usize> = entries.iter().map(|entry| entry.index).collect();
        let mut size = Size::default();
        let mut piece = section;
        for (place, entry) in entries.into_iter().enumerate() {
            if size.is_full() {
                let number = piece.piece + 1;
                pieces.push(piece);
                piece = Section { turn, piece: number, first: entry.index, ..Section::default() };
                size = Size::default();
            }
            let next = starts.get(place + 1).copied().unwrap_or(end);
            (entry.index..next).for_each(|index| size.add(all.get(index)));
            piece.entries.push(entry);
        }
        pieces.push(piece);
    }
    pieces
}

/// Divides turns and their pieces into pages.
fn pages(sections: &[Section], all: &[Record]) -> Vec<Page> {
    let mut pages: Vec<Page> = Vec::new();
    let mut size = Size::default();
    for (place, section) in sections.iter().enumerate() {
        let end = sections.get(place + 1).map_or(all.len(), |next| next.first);
        match pages.last_mut() {
            Some(page) if !size.is_full() => {
                page.sections.end = place + 1;
                page.records.end = end;
            }
            _ => {
                size = Size::default();
                pages.push(Page { sections: place..place + 1, records: section.first..end });
            }
        }
        (section.first..end).for_each(|index| size.add(all.get(index)));
    }
    pages
}

/// The place of the page that holds a record; the last one if none does.
fn page_of(pages: &[Page], seq: u64) -> usize {
    let index = usize::try_from(seq).unwrap_or(usize::MAX);
    let after = pages.partition_point(|page| page.records.end <= index);
    after.min(pages.len().saturating_sub(1))
}

fn holds_text(record: &Record, text: &str) -> bool {
    let payload = || serde_json::from_str(record.payload.get()).unwrap_or_default();
    record.name().contains(text) || value_holds(&payload(), text)
}

/// Looks in the texts of a value, and not in the way in which JSON writes them.
fn value_holds(value: &Value, text: &str) -> bool {
    match value {
        Value::String(found) => found.to_lowercase().contains(text),
        Value::Array(values) => values.iter().any(|value| value_holds(value, text)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.to_lowercase().contains(text) || value_holds(value, text)),
        Value::Number(number) => number.to_string().contains(text),
        Value::Bool(_) | Value::Null => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_found_on_its_page() {
        let page = |records: Range<usize>| Page { sections: 0..0, records };
        let pages = [page(0..600), page(600..1_200), page(1_200..1_300)];
        for (seq, page) in [(0, 0), (599, 0), (600, 1), (1_199, 1), (1_200, 2), (u64::MAX, 2)] {
            assert_eq!(page_of(&pages, seq), page, "{seq}");
        }
    }

    #[test]
    fn a_search_looks_at_texts_as_they_are_shown() {
        let value = serde_json::json!({ "Path": "a \"quoted\"\nÜber", "list": [1, { "x": 42 }], "no": null });
        for (text, is_found) in
            [("\"quoted\"\n", true), ("über", true), ("path", true), ("42", true), ("null", false)]
        {
            assert_eq!(value_holds(&value, text), is_found, "{text}");
        }
    }
}
