//! The cache's file: a header, the words, a row for each item, and the items' words.

use std::{cmp::Ordering, ops::Range};

use rye_sign::Digest;
use rye_types::ItemKind;

use crate::{
    listing::Winner,
    search::{
        bytes::{Reader, number, push_number},
        shard::{Document, Shard},
        vocabulary::Vocabulary,
    },
    stamp::Stamp,
};

/// The content of the cache file, none of which is trusted.
#[derive(Debug)]
pub(crate) struct CacheFile {
    /// Has all bytes of the file, and no documents until [`Kept::split`].
    shard: Shard,
    /// The offset in these bytes at which the items' words begin.
    streams_at: usize,
    rows: Vec<Row>,
    /// All ids, to which the rows refer.
    ids: String,
}

/// One item as it was when it was read.
#[derive(Debug)]
struct Row {
    kind: usize,
    root: usize,
    extension: usize,
    id: Range<usize>,
    stamp: Stamp,
    digest: [u8; 32],
    stream: Range<usize>,
}

impl CacheFile {
    /// Parses the bytes of a file; `None` for another version, another binding or any damage.
    pub(crate) fn from_bytes(bytes: Vec<u8>, binding: &Digest) -> Option<Self> {
        let mut reader = Reader::new(&bytes);
        let header = reader.take(MAGIC.len())? == MAGIC;
        let sum = reader.u64()?;
        let is_whole = header && sum == checksum(bytes.get(MAGIC.len() + 8..)?);
        if !is_whole || reader.array()? != *binding.as_bytes() {
            return None;
        }
        let vocabulary = vocabulary(&mut reader)?;
        let ids = text(&mut reader)?;
        let count = reader.length()?;
        let mut rows = Vec::new();
        let mut id = 0;
        let mut stream = 0;
        for _ in 0..count {
            let row = row(&mut reader, id, stream)?;
            (id, stream) = (row.id.end, row.stream.end);
            rows.push(row);
        }
        reader.take(stream)?;
        (reader.is_at_end() && id == ids.len()).then_some(())?;
        let streams_at = bytes.len() - stream;
        let shard = Shard { vocabulary, bytes, documents: Vec::new() };
        Some(Self { shard, rows, ids, streams_at })
    }

    /// Returns the kept items among `winners` that look unchanged, the indices of the other winners, and
    /// `true` if every kept item was used.
    ///
    /// Both are in the same order, so one pass finds the pairs. A file in another order only gives fewer
    /// pairs.
    pub(crate) fn split(mut self, winners: &[Winner]) -> (Shard, Vec<usize>, bool) {
        let mut rows = self.rows.iter().peekable();
        let mut others = Vec::new();
        for (place, winner) in winners.iter().enumerate() {
            let order = |row: &Row| row.order(&self.ids, winner);
            while rows.next_if(|row| order(row) == Ordering::Less).is_some() {}
            match rows.next_if(|row| order(row) == Ordering::Equal) {
                Some(row) if row.is_of(winner) => self.shard.documents.push(Document {
                    winner: place,
                    digest: row.digest,
                    stream: self.streams_at + row.stream.start..self.streams_at + row.stream.end,
                }),
                _ => others.push(place),
            }
        }
        let is_all_used = self.shard.documents.len() == self.rows.len();
        (self.shard, others, is_all_used)
    }
}

impl Row {
    fn order(&self, ids: &str, winner: &Winner) -> Ordering {
        let id = ids.get(self.id.clone()).unwrap_or_default();
        (self.kind, id).cmp(&(kind(winner.kind), winner.id.as_str()))
    }

    fn is_of(&self, winner: &Winner) -> bool {
        self.root == winner.root
            && Some(self.extension) == extension(winner)
            && self.stamp == winner.stamp
    }
}

/// The bytes of the file for a shard whose documents are in the order of `winners`.
pub(crate) fn to_bytes(shard: &Shard, winners: &[Winner], binding: &Digest) -> Vec<u8> {
    let mut content = binding.as_bytes().to_vec();
    push_number(&mut content, number(shard.vocabulary.len()));
    for word in shard.vocabulary.words() {
        push_number(&mut content, number(word.len()));
    }
    push_text(&mut content, shard.vocabulary.text());
    let rows: Vec<(&Winner, &Document)> = shard
        .documents
        .iter()
        .filter_map(|document| Some((winners.get(document.winner)?, document)))
        .collect();
    let ids: String = rows.iter().map(|(winner, _)| winner.id.as_str()).collect();
    push_text(&mut content, &ids);
    push_number(&mut content, number(rows.len()));
    for (winner, document) in &rows {
        push_row(&mut content, winner, document);
    }
    for (_, document) in &rows {
        content.extend_from_slice(shard.bytes.get(document.stream.clone()).unwrap_or_default());
    }
    let mut bytes = MAGIC.to_vec();
    bytes.extend(checksum(&content).to_le_bytes());
    bytes.append(&mut content);
    bytes
}

fn push_row(bytes: &mut Vec<u8>, winner: &Winner, document: &Document) {
    push_number(bytes, number(kind(winner.kind)));
    push_number(bytes, number(winner.root));
    push_number(bytes, number(extension(winner).unwrap_or_default()));
    push_number(bytes, number(winner.id.as_str().len()));
    let Stamp { size, modified, changed, inode } = winner.stamp;
    for value in [size, modified.cast_unsigned(), changed.cast_unsigned(), inode] {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(document.digest);
    push_number(bytes, number(document.stream.len()));
}

fn row(reader: &mut Reader<'_>, id: usize, stream: usize) -> Option<Row> {
    let kind = reader.length()?;
    let root = reader.length()?;
    let extension = reader.length()?;
    let id = id..id.checked_add(reader.length()?)?;
    let stamp = Stamp {
        size: reader.u64()?,
        modified: reader.u64()?.cast_signed(),
        changed: reader.u64()?.cast_signed(),
        inode: reader.u64()?,
    };
    let digest = reader.array()?;
    let stream = stream..stream.checked_add(reader.length()?)?;
    Some(Row { kind, root, extension, id, stamp, digest, stream })
}

fn vocabulary(reader: &mut Reader<'_>) -> Option<Vocabulary> {
    let count = reader.length()?;
    let mut lengths = Vec::new();
    for _ in 0..count {
        lengths.push(reader.length()?);
    }
    Vocabulary::from_parts(text(reader)?, lengths.into_iter())
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    let length = usize::try_from(reader.u64()?).ok()?;
    String::from_utf8(reader.take(length)?.to_vec()).ok()
}

fn push_text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

fn kind(kind: ItemKind) -> usize {
    ItemKind::ALL.iter().position(|other| *other == kind).unwrap_or_default()
}

/// The index of the extension, which with root, kind and id gives the path of the file.
fn extension(winner: &Winner) -> Option<usize> {
    let extension = winner.location.extension();
    winner.kind.extensions().iter().position(|other| *other == extension)
}

/// A checksum against accidental damage. It does not protect against forgery, which is harmless here.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut last = [0; 8];
    last.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.fold(bytes.len() as u64, |sum, word| (sum.rotate_left(5) ^ word).wrapping_mul(MULTIPLIER))
}

/// An odd number with ones and zeros well mixed: the golden ratio's fraction in 64 bits.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// Changes with the form of the file and with how text is cut into words.
pub(super) const MAGIC: &[u8; 8] = b"ryesrch1";
