//! Search for items by their text.

mod bytes;
mod cache;
mod content;
mod gather;
mod matches;
mod parallel;
mod preview;
mod query;
mod rank;
mod shard;
mod slot;
mod vocabulary;
mod words;

pub use preview::Preview;
pub use query::{SearchQuery, SearchQueryError};

use rye_types::ItemKind;

use self::{
    cache::Cache,
    content::Content,
    gather::{digest, gather, read},
    parallel::in_parts,
    preview::preview,
    rank::{Ranked, Ranking, rank},
    shard::Shard,
};
use crate::{
    Item, Library, Listed, ResolveError,
    listing::{self, Winner},
    root::Root,
    walk::walk,
};

/// The results of a search, with the items that it could not read.
#[non_exhaustive]
#[derive(Debug, Default)]
pub struct SearchResults {
    /// The best results, best first.
    pub hits: Vec<SearchHit>,
    /// The number of items that match the query. Those beyond the limit that come from a cache are not
    /// verified again.
    pub n_matched: usize,
    /// The problems of all that was not searched: items that are not verified or cannot be parsed, ambiguous
    /// ids, unreadable folders.
    pub refused: Vec<ResolveError>,
    /// The reason why the cache could not be written. The results do not depend on it.
    pub cache_problem: Option<ResolveError>,
}

/// One result.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The item, verified during this search.
    pub item: Item<Excerpt>,
    /// The score: above 0, with three decimals, comparable only within one search.
    pub score: f64,
}

/// The part of an item that a result shows.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The summary of the item.
    pub summary: Summary,
    /// A line that shows why the item was found.
    pub preview: Preview,
}

/// The title, description and tags of an item, as it declares them.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// The title, as written.
    pub title: Option<String>,
    /// The description, as written.
    pub description: Option<String>,
    /// The tags; only knowledge has them.
    pub tags: Vec<String>,
}

/// An item with its summary, or with the reason why it is refused.
#[non_exhaustive]
#[derive(Debug)]
pub struct Described {
    /// The item, whether or not it is verified.
    pub listed: Listed,
    /// The verified summary, or the reason why the item is refused.
    pub summary: Result<Item<Summary>, ResolveError>,
}

/// All searched items, in the order of kind and id, and the words of each.
#[derive(Debug)]
pub(crate) struct Index {
    winners: Vec<Winner>,
    shards: Vec<Shard>,
}

impl Library {
    /// The items of all spaces that answer `query`, best first (SPEC 1.6).
    ///
    /// Shadowed items are not results. Every result is verified during the search. Items that are refused are
    /// reported in [`SearchResults::refused`] whether or not they match, because their content is not
    /// trusted. Equal files, trust and query give equal results, with a cache or without.
    pub fn search(&self, query: &SearchQuery) -> SearchResults {
        let roots = self.spaces().roots();
        let cache = Cache::of(self, &roots);
        for round in 1.. {
            let searcher = Searcher { library: self, query, roots: &roots, cache: cache.as_ref() };
            let (results, is_settled) = searcher.search(round);
            if is_settled || round == MOST_ROUNDS {
                return results;
            }
        }
        SearchResults::default()
    }

    /// Every item of `kind` with its summary, and every problem that keeps an item from being listed. All
    /// items are read and verified.
    pub fn describe(&self, kind: ItemKind) -> (Vec<Described>, Vec<ResolveError>) {
        let roots = self.spaces().roots();
        let (winners, problems) = survey(&roots, kind);
        let described = in_parts(&winners, FEWEST_FOR_A_THREAD, |winners| {
            let described = winners.iter().map(|winner| {
                let id = winner.id.clone();
                let location = winner.location.clone();
                let item = read(self, &roots, winner);
                Described { listed: Listed { id, location }, summary: item.map(summarize) }
            });
            described.collect::<Vec<_>>()
        });
        (described.into_iter().flatten().collect(), problems)
    }
}

fn survey(roots: &[Root], kind: ItemKind) -> (Vec<Winner>, Vec<ResolveError>) {
    listing::winners(kind, roots.iter().map(|root| walk(root, kind)).collect())
}

fn summarize(item: Item<Content>) -> Item<Summary> {
    item.map(summary)
}

fn summary(content: Content) -> Summary {
    let Content { title, description, tags, .. } = content;
    Summary { title, description, tags }
}

/// One attempt to answer a query.
struct Searcher<'a> {
    library: &'a Library,
    query: &'a SearchQuery,
    roots: &'a [Root],
    cache: Option<&'a Cache>,
}

/// An index, and the problems found while it was made.
struct Indexed {
    index: Index,
    refused: Vec<ResolveError>,
    /// `true` if the cache should be written, because it differs from the index.
    is_news: bool,
}

impl Searcher<'_> {
    /// Returns the results, and `true` if all of them agree with the index.
    ///
    /// If the cache disagrees with the files, or a file changes during the search, another round is needed,
    /// which reads everything.
    fn search(&self, round: usize) -> (SearchResults, bool) {
        let cache = self.cache.filter(|_| round == 1);
        let Indexed { index, mut refused, is_news } = self.index(cache);
        let Ok(ranking) = rank(&index, self.query) else {
            return (SearchResults::default(), false);
        };
        let n_matched = ranking.ranked.len();
        let mut hits = Vec::new();
        let mut doubts = Vec::new();
        for confirmed in self.confirm(&ranking) {
            match confirmed {
                Ok(hit) => hits.push(hit),
                Err(doubt) => doubts.push(doubt),
            }
        }
        let is_settled = doubts.is_empty();
        refused.extend(doubts);
        let save = |cache: &Cache| cache.save(self.library, &index).err();
        let cache_problem = self.cache.filter(|_| is_settled && is_news).and_then(save);
        (SearchResults { hits, n_matched, refused, cache_problem }, is_settled)
    }

    fn index(&self, cache: Option<&Cache>) -> Indexed {
        let mut winners = Vec::new();
        let mut refused = Vec::new();
        for kind in ItemKind::ALL.iter().copied().filter(|kind| self.reads(*kind)) {
            let (found, problems) = survey(self.roots, kind);
            winners.extend(found);
            refused.extend(problems.into_iter().filter(|_| self.query.wants(kind)));
        }
        let kept = cache.and_then(Cache::load);
        let (kept, others, is_all_used) = match kept {
            Some(kept) => kept.split(&winners),
            None => (Shard::default(), (0..winners.len()).collect(), true),
        };
        let gathered = gather(self.library, self.roots, &winners, &others);
        let is_news = !is_all_used || self.has_news(&gathered.shards, &winners);
        let mut shards = gathered.shards;
        shards.push(kept);
        for (place, error) in gathered.refused {
            let is_wanted = |winner: &Winner| self.query.wants(winner.kind);
            refused.extend(winners.get(place).is_some_and(is_wanted).then_some(error));
        }
        Indexed { index: Index { winners, shards }, refused, is_news }
    }

    /// Returns `true` if an item was read that the cache should keep.
    fn has_news(&self, shards: &[Shard], winners: &[Winner]) -> bool {
        let settled = |winner: &Winner| winner.stamp.has_settled(self.library.now());
        let mut read = shards.iter().flat_map(|shard| &shard.documents);
        read.any(|document| winners.get(document.winner).is_some_and(settled))
    }

    /// Returns `true` if items of `kind` are read. With a cache, all kinds that it keeps are read, so that
    /// queries for different kinds share it.
    fn reads(&self, kind: ItemKind) -> bool {
        self.query.wants(kind) || (self.cache.is_some() && kind != ItemKind::Config)
    }

    /// Reads and verifies the best results again, whether their words come from a cache or were read just now.
    fn confirm(&self, ranking: &Ranking<'_>) -> Vec<Result<SearchHit, ResolveError>> {
        let best = ranking.ranked.get(..self.query.limit()).unwrap_or(&ranking.ranked);
        let parts = in_parts(best, FEWEST_FOR_A_THREAD, |best| {
            let hits = best.iter().map(|ranked| self.hit(ranked, &ranking.misspelt));
            hits.collect::<Vec<_>>()
        });
        parts.into_iter().flatten().collect()
    }

    fn hit(&self, ranked: &Ranked<'_>, misspelt: &[bool]) -> Result<SearchHit, ResolveError> {
        let item = read(self.library, self.roots, ranked.winner)?;
        let is_the_same = digest(&item) == ranked.document.digest
            && ranked.shard.says(ranked.document, &item.id, item.content.value());
        if !is_the_same {
            return Err(ResolveError::Changing { location: item.location });
        }
        let source = item.source.clone();
        let item = item.map(|content| {
            let preview = preview(&content, &source, self.query.atoms(), misspelt);
            Excerpt { summary: summary(content), preview }
        });
        Ok(SearchHit { item, score: ranked.score as f64 / 1000.0 })
    }
}

/// The first round may use a wrong cache. A file that changes during the second may be stable during the
/// third.
const MOST_ROUNDS: usize = 3;

const FEWEST_FOR_A_THREAD: usize = 8;
