//! Finds items by what they say.

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
    Item, ItemKind, Library, Listed, ResolveError,
    listing::{self, Winner},
    root::Root,
    walk::walk,
};

/// What a search found, and what it could not look into.
#[non_exhaustive]
#[derive(Debug, Default)]
pub struct SearchResults {
    /// The best results, best first.
    pub hits: Vec<SearchHit>,
    /// How many items answer the query; those beyond its limit are not verified again, as far as a cache knows them.
    pub n_matched: usize,
    /// What was not searched, and why: items that are not verified or cannot be parsed, ids that are ambiguous, folders
    /// that cannot be read.
    pub refused: Vec<ResolveError>,
    /// Why the cache could not be written; the results are the same without it.
    pub cache_problem: Option<ResolveError>,
}

/// One result.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The item, verified during this search.
    pub item: Item<Excerpt>,
    /// How well it answers: above 0, comparable within one search, with three decimals.
    pub score: f64,
}

/// What of an item is shown in a result.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// What the item says that it is.
    pub summary: Summary,
    /// A line that shows why it was found.
    pub preview: Preview,
}

/// What an item says that it is.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Its title, as written.
    pub title: Option<String>,
    /// What it is about, as written.
    pub description: Option<String>,
    /// Words to find it by; only knowledge has them.
    pub tags: Vec<String>,
}

/// An item that can be asked for, with what it says that it is or why it is refused.
#[non_exhaustive]
#[derive(Debug)]
pub struct Described {
    /// The item, whether or not it is verified.
    pub listed: Listed,
    /// Its verified summary.
    pub summary: Result<Item<Summary>, ResolveError>,
}

/// All items that are searched, in the order of kind and id, and the words of each.
#[derive(Debug)]
pub(crate) struct Index {
    winners: Vec<Winner>,
    shards: Vec<Shard>,
}

/// Searches the spaces of `library` as they are now.
pub(crate) fn search(library: &Library, query: &SearchQuery) -> SearchResults {
    let roots = library.spaces().roots();
    let cache = Cache::of(library, &roots);
    for round in 1.. {
        let searcher = Searcher { library, query, roots: &roots, cache: cache.as_ref() };
        let (results, is_settled) = searcher.search(round);
        if is_settled || round == MOST_ROUNDS {
            return results;
        }
    }
    SearchResults::default()
}

/// Describes every item of `kind`, next to all that cannot be listed.
pub(crate) fn describe(library: &Library, kind: ItemKind) -> (Vec<Described>, Vec<ResolveError>) {
    let roots = library.spaces().roots();
    let (winners, problems) = survey(&roots, kind);
    let described = in_parts(&winners, FEWEST_FOR_A_THREAD, |winners| {
        let described = winners.iter().map(|winner| {
            let (id, location) = (winner.id.clone(), winner.location.clone());
            let item = read(library, &roots, winner);
            Described { listed: Listed { id, location }, summary: item.map(summarized) }
        });
        described.collect::<Vec<_>>()
    });
    (described.into_iter().flatten().collect(), problems)
}

fn survey(roots: &[Root], kind: ItemKind) -> (Vec<Winner>, Vec<ResolveError>) {
    listing::winners(kind, roots.iter().map(|root| walk(root, kind)).collect())
}

fn summarized(item: Item<Content>) -> Item<Summary> {
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

/// An index, and what its making told.
struct Indexed {
    index: Index,
    refused: Vec<ResolveError>,
    /// Whether the cache lacks something of it, or has more.
    is_news: bool,
}

impl Searcher<'_> {
    /// The results, and whether every one of them is what the index says: a cache that disagrees with the files, or a
    /// file that changes meanwhile, calls for another round, which reads everything.
    fn search(&self, round: usize) -> (SearchResults, bool) {
        let cache = self.cache.filter(|_| round == 1);
        let Indexed { index, mut refused, is_news } = self.index(cache);
        let Ok(ranking) = rank(&index, self.query) else {
            return (SearchResults::default(), false);
        };
        let n_matched = ranking.ranked.len();
        let (mut hits, mut doubts) = (Vec::new(), Vec::new());
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
        let (mut winners, mut refused) = (Vec::new(), Vec::new());
        for kind in ItemKind::ALL.into_iter().filter(|kind| self.reads(*kind)) {
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

    /// Whether something was read that the cache would keep.
    fn has_news(&self, shards: &[Shard], winners: &[Winner]) -> bool {
        let settled = |winner: &Winner| winner.stamp.has_settled(self.library.now());
        let mut read = shards.iter().flat_map(|shard| &shard.documents);
        read.any(|document| winners.get(document.winner).is_some_and(settled))
    }

    /// With a cache, all that it would keep is read, so that queries for different kinds share one.
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

/// The first may be led by a cache that is wrong; a file that changes during the second may rest during the third.
const MOST_ROUNDS: usize = 3;

const FEWEST_FOR_A_THREAD: usize = 8;
