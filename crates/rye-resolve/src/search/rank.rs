//! Ranking of items for a query.

use super::{
    Index,
    bytes::Reader,
    matches::{Matches, Occurrences},
    parallel::in_parts,
    query::{Atom, SearchQuery},
    shard::{Document, FIELDS, Shard},
};
use crate::listing::Winner;

/// An item that matches, with its score.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ranked<'a> {
    pub(crate) shard: &'a Shard,
    pub(crate) document: &'a Document,
    pub(crate) winner: &'a Winner,
    /// In thousandths, so that the order does not depend on rounding errors of sums.
    pub(crate) score: u64,
}

/// All items that match, best first, with the misspelt atoms of the query.
#[derive(Debug)]
pub(crate) struct Ranking<'a> {
    pub(crate) ranked: Vec<Ranked<'a>>,
    /// `true` for each atom that no item has as it is written, so that words with typos match.
    pub(crate) misspelt: Vec<bool>,
}

/// The error for bytes that do not hold items; only a cache can have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Ranks the items of `index`.
///
/// Returns an error if the bytes of a shard are damaged.
///
/// The score is BM25 over weighted fields: an occurrence of a word counts less if the item has many of them,
/// and if many items have the word. The sum is multiplied by the square of the fraction of the query that the
/// item has. It is doubled if the id or its last segment equals the query. Equal scores are ordered by kind
/// and id, so that the results do not depend on the order of reading.
pub(crate) fn rank<'a>(index: &'a Index, query: &SearchQuery) -> Result<Ranking<'a>, Damaged> {
    let atoms = query.atoms();
    let mut misspelt = vec![false; atoms.len()];
    let mut scan = scan(index, query, &misspelt)?;
    let frequencies = frequencies(&scan, atoms);
    if frequencies.contains(&0) {
        misspelt = frequencies.iter().map(|frequency| *frequency == 0).collect();
        scan = self::scan(index, query, &misspelt)?;
    }
    let mut ranked = score_answers(index, query, &scan);
    ranked.sort_by(|left, right| {
        let place = |ranked: &Ranked<'a>| (ranked.winner.kind, &ranked.winner.id);
        right.score.cmp(&left.score).then_with(|| place(left).cmp(&place(right)))
    });
    Ok(Ranking { ranked, misspelt })
}

/// The items that pass the filters and match the query.
#[derive(Debug, Default)]
struct Scan<'a> {
    answers: Vec<Answer<'a>>,
    n_searched: usize,
}

/// The weighted occurrences of each atom in one item.
#[derive(Debug)]
struct Answer<'a> {
    shard: &'a Shard,
    document: &'a Document,
    found: Vec<f64>,
}

fn scan<'a>(index: &'a Index, query: &SearchQuery, misspelt: &[bool]) -> Result<Scan<'a>, Damaged> {
    let mut whole = Scan::default();
    for shard in &index.shards {
        let Some(labels) = labels(shard, query) else { continue };
        let matches = Matches::new(&shard.vocabulary, query.atoms(), misspelt);
        let scanner = Scanner { index, query, shard, matches: &matches, labels: &labels };
        for part in
            in_parts(&shard.documents, FEWEST_FOR_A_THREAD, |documents| scanner.scan(documents))
        {
            let part = part.ok_or(Damaged)?;
            whole.n_searched += part.n_searched;
            whole.answers.extend(part.answers);
        }
    }
    Ok(whole)
}

/// The numbers of the wanted tags, or `None` if no word of the shard is one of them.
fn labels(shard: &Shard, query: &SearchQuery) -> Option<Vec<u32>> {
    let number = |tag: &String| {
        shard.vocabulary.words().position(|word| word == tag).map(super::bytes::number)
    };
    query.tags().iter().map(number).collect()
}

struct Scanner<'a, 'q> {
    index: &'a Index,
    query: &'q SearchQuery,
    shard: &'a Shard,
    matches: &'q Matches,
    labels: &'q [u32],
}

impl<'a> Scanner<'a, '_> {
    fn scan(&self, documents: &'a [Document]) -> Option<Scan<'a>> {
        let mut scan = Scan::default();
        let mut occurrences = Occurrences::default();
        for document in documents {
            let winner = self.index.winners.get(document.winner)?;
            if !self.query.wants(winner.kind) {
                continue;
            }
            let mut reader = self.shard.stream(document)?;
            if !has_all(&mut reader, self.labels)? {
                continue;
            }
            scan.n_searched += 1;
            let found = self.found(&mut reader, &mut occurrences)?;
            scan.answers.extend(found.map(|found| Answer { shard: self.shard, document, found }));
        }
        Some(scan)
    }

    /// Returns the weighted occurrences of each atom in the item: `Some(None)` for an item without a match,
    /// `None` for damaged bytes.
    fn found(
        &self,
        reader: &mut Reader<'_>,
        occurrences: &mut Occurrences,
    ) -> Option<Option<Vec<f64>>> {
        let atoms = self.query.atoms();
        let mut found: Option<Vec<f64>> = None;
        for weight in &WEIGHTS {
            occurrences.clear();
            let length = reader.length()?;
            for position in 0..length {
                match self.matches.of(reader.number()?)? {
                    [] => {}
                    matches => occurrences.push(position, matches),
                }
            }
            if !occurrences.is_empty() {
                let mut in_field = vec![0.0; atoms.len()];
                occurrences.add_to(&mut in_field, atoms);
                let factor = weight.factor(length);
                let found = found.get_or_insert_with(|| vec![0.0; atoms.len()]);
                found.iter_mut().zip(in_field).for_each(|(sum, part)| *sum += part * factor);
            }
        }
        Some(found.filter(|found| found.iter().any(|found| *found > 0.0)))
    }
}

/// Reads the tags of an item and returns `true` if all of `labels` are among them, or `None` for damaged
/// bytes.
fn has_all(reader: &mut Reader<'_>, labels: &[u32]) -> Option<bool> {
    let mut missing = labels.to_vec();
    for _ in 0..reader.number()? {
        let label = reader.number()?;
        missing.retain(|wanted| *wanted != label);
    }
    Some(missing.is_empty())
}

/// Counts the items that have each atom.
fn frequencies(scan: &Scan<'_>, atoms: &[Atom]) -> Vec<usize> {
    let mut frequencies = vec![0; atoms.len()];
    for answer in &scan.answers {
        let found = frequencies.iter_mut().zip(&answer.found);
        found.for_each(|(frequency, found)| *frequency += usize::from(*found > 0.0));
    }
    frequencies
}

fn score_answers<'a>(index: &'a Index, query: &SearchQuery, scan: &Scan<'a>) -> Vec<Ranked<'a>> {
    let atoms = query.atoms();
    let rarities: Vec<f64> = frequencies(scan, atoms)
        .into_iter()
        .map(|frequency| rarity(scan.n_searched as f64, frequency as f64))
        .collect();
    let ranked = scan.answers.iter().filter_map(|Answer { shard, document, found }| {
        let has_required = |(atom, found): (&Atom, &f64)| !atom.is_required || *found > 0.0;
        if !atoms.iter().zip(found).all(has_required) {
            return None;
        }
        let winner = index.winners.get(document.winner)?;
        let score = score(found, &rarities) * name_boost(query, winner);
        Some(Ranked { shard, document, winner, score: (score * 1000.0).round() as u64 })
    });
    ranked.collect()
}

/// Returns the weight of a word that `frequency` of `count` items have.
fn rarity(count: f64, frequency: f64) -> f64 {
    (1.0 + (count - frequency + 0.5) / (frequency + 0.5)).ln()
}

fn score(found: &[f64], rarities: &[f64]) -> f64 {
    let had = found.iter().filter(|found| **found > 0.0).count() as f64;
    let coverage = had / found.len() as f64;
    let parts = found.iter().zip(rarities);
    let sum: f64 = parts.map(|(found, rarity)| rarity * found / (SATURATION + found)).sum();
    sum * (SATURATION + 1.0) * coverage * coverage
}

fn name_boost(query: &SearchQuery, winner: &Winner) -> f64 {
    let is_query = |text: &str| text.eq_ignore_ascii_case(query.text());
    if is_query(winner.id.as_str()) || is_query(winner.id.name()) { 2.0 } else { 1.0 }
}

/// The weight of a word in a field, which is smaller in a long field.
#[derive(Clone, Copy, Debug)]
struct Weight {
    boost: f64,
    /// The number of words above which the field is long.
    usual: f64,
    /// From 0, where the length does not matter, to 1, where the weight is divided by it.
    slope: f64,
}

impl Weight {
    /// Returns the weight in a field of `length` words.
    ///
    /// It uses a fixed usual length, not the average of all items, so that the weight does not depend on
    /// other items.
    fn factor(self, length: usize) -> f64 {
        self.boost / (1.0 - self.slope + self.slope * length as f64 / self.usual)
    }
}

/// In the order of the fields: id, title, description, tags, body.
const WEIGHTS: [Weight; FIELDS] = [
    Weight { boost: 5.0, usual: 3.0, slope: 0.3 },
    Weight { boost: 5.0, usual: 5.0, slope: 0.3 },
    Weight { boost: 2.5, usual: 15.0, slope: 0.3 },
    Weight { boost: 3.0, usual: 4.0, slope: 0.2 },
    Weight { boost: 1.0, usual: 250.0, slope: 0.5 },
];

/// The parameter `k1` of BM25: the smaller it is, the sooner a further occurrence adds nothing.
const SATURATION: f64 = 1.2;

/// The least number of items for which a thread saves time.
const FEWEST_FOR_A_THREAD: usize = 2000;
