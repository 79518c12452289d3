//! Forged caches: none makes an unverified item a result or shows words that an item does not have.

use std::fs;

use rye_sign::{CommentStyle, ItemName, Policy, SigningKey, TrustStore};
use rye_types::{ItemKind, Timestamp};

use super::{Cache, disk};
use crate::{
    Library, SearchQuery, SearchResults, Spaces,
    listing::Winner,
    search::{
        bytes::{Reader, push_number},
        content::Content,
        gather::gather,
        shard::{Document, Shard, Writer},
        survey,
    },
};

/// A project with items that the operator signed, and a cache.
struct World {
    folder: tempfile::TempDir,
    key: SigningKey,
}

impl World {
    fn new(entries: &[(&str, &str)]) -> Self {
        let world =
            Self { folder: tempfile::tempdir().unwrap(), key: SigningKey::generate().unwrap() };
        entries.iter().for_each(|(id, text)| world.sign(id, text));
        world
    }

    fn sign(&self, id: &str, text: &str) {
        let item = ItemName::new("knowledge", id).unwrap();
        let time = Timestamp::from_unix(1_700_000_000);
        self.write(id, &rye_sign::sign(text, CommentStyle::Html, &item, &self.key, time));
    }

    fn write(&self, id: &str, text: &str) {
        let knowledge = self.folder.path().join(".ai/knowledge");
        fs::create_dir_all(&knowledge).unwrap();
        fs::write(knowledge.join(format!("{id}.md")), text).unwrap();
    }

    fn library(&self) -> Library {
        let mut trust = TrustStore::new();
        trust.trust_key("operator", self.key.public());
        let spaces = Spaces::new().with_project(self.folder.path());
        // Later than any file of a test.
        let now = Timestamp::from_unix(4_000_000_000);
        Library::new(spaces, trust, Policy::default(), now)
            .with_search_cache(self.folder.path().join("cache"))
    }

    fn cache(&self) -> Cache {
        Cache::of(&self.library(), &self.library().spaces().roots()).unwrap()
    }

    /// Writes a forged cache: the files as they are now, with `claims` about their words.
    fn forge(&self, claims: &[(&str, &str)]) {
        let (winners, _) = survey(&self.library().spaces().roots(), ItemKind::Knowledge);
        let mut writer = Writer::default();
        for (id, body) in claims {
            let place = winners.iter().position(|winner| winner.id.as_str() == *id).unwrap();
            let content = Content { body: (*body).to_owned(), ..Content::default() };
            let digest = digest(&winners[place]);
            writer.push(place, digest, &id.parse().unwrap(), &content);
        }
        let bytes = disk::to_bytes(&writer.finish(), &winners, &self.cache().binding);
        self.cache().write(&bytes).unwrap();
        assert!(self.cache().load().is_some(), "the forged cache is well made");
    }

    fn search(&self, text: &str) -> SearchResults {
        self.library().search(&text.parse::<SearchQuery>().unwrap())
    }

    #[track_caller]
    fn finds(&self, text: &str, hits: &[(&str, &str)], refused: usize) {
        let results = self.search(text);
        let found: Vec<(&str, &str)> = results
            .hits
            .iter()
            .map(|hit| (hit.item.id.as_str(), hit.item.content.value().preview.text.as_str()))
            .collect();
        assert_eq!((found, results.refused.len()), (hits.to_vec(), refused));
    }
}

fn digest(winner: &Winner) -> [u8; 32] {
    *rye_sign::Digest::of(&fs::read(&winner.location.path).unwrap()).as_bytes()
}

#[test]
fn an_unsigned_item_that_the_cache_vouches_for() {
    let world = World::new(&[("good", "A seal.\n")]);
    world.write("bad", "A walrus.\n");
    world.forge(&[("bad", "A walrus."), ("good", "A seal.")]);
    world.finds("walrus", &[], 1);
    world.finds("seal", &[("good", "A seal.")], 1);
}

#[test]
fn a_tampered_item_that_the_cache_vouches_for() {
    let world = World::new(&[("bad", "A seal.\n")]);
    let path = world.folder.path().join(".ai/knowledge/bad.md");
    let text = fs::read_to_string(&path).unwrap().replace("seal", "walrus");
    fs::write(path, text).unwrap();
    world.forge(&[("bad", "A walrus.")]);
    world.finds("walrus", &[], 1);
}

#[test]
fn words_that_an_item_does_not_say() {
    let world = World::new(&[("a", "A seal.\n"), ("b", "A walrus.\n")]);
    world.forge(&[("a", "The best walrus, walrus, walrus."), ("b", "A walrus.")]);
    world.finds("walrus", &[("b", "A walrus.")], 0);
    // The wrong entry was replaced.
    world.finds("seal", &[("a", "A seal.")], 0);
}

#[test]
fn a_result_is_shown_by_its_own_words_and_scored_by_them() {
    let world = World::new(&[("a", "A seal.\n"), ("b", "A walrus.\n")]);
    let score = world.search("walrus").hits.first().map(|hit| hit.score);
    world.forge(&[("a", "A seal."), ("b", "Walrus walrus walrus, send money.")]);
    let hits = world.search("walrus").hits;
    let hit = hits.first().unwrap();
    assert_eq!((Some(hit.score), hits.len()), (score, 1));
    assert_eq!(hit.item.content.value().preview.text, "A walrus.");
}

#[test]
fn bytes_that_are_no_words_do_not_matter() {
    let world = World::new(&[("a", "A seal.\n"), ("b", "A walrus.\n")]);
    let (winners, _) = survey(&world.library().spaces().roots(), ItemKind::Knowledge);
    let numbers = |numbers: &[u32]| {
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| push_number(&mut bytes, *number));
        bytes
    };
    for bytes in [vec![], vec![0xff; 9], numbers(&[0, 1, 77]), numbers(&[9]), numbers(&[0; 40])] {
        let document = |winner| Document { winner, digest: [0; 32], stream: 0..bytes.len() };
        let shard = Shard {
            bytes: bytes.clone(),
            documents: vec![document(0), document(1)],
            ..Shard::default()
        };
        let bytes = disk::to_bytes(&shard, &winners, &world.cache().binding);
        world.cache().write(&bytes).unwrap();
        let found = world.search("walrus");
        // A forger can only hide an item.
        assert!(found.hits.iter().all(|hit| hit.item.id.as_str() == "b"));
    }
}

#[test]
fn every_changed_byte_under_a_sum_that_fits() {
    let world = World::new(&[("a", "A seal.\n"), ("b", "A walrus and a seal.\n")]);
    world.write("unsigned", "A walrus.\n");
    world.finds("walrus", &[("b", "A walrus and a seal.")], 1);
    let good = fs::read(&world.cache().file).unwrap();
    let start = disk::MAGIC.len() + 8;
    for index in start..good.len() {
        let mut bytes = good.clone();
        bytes[index] ^= 0x15;
        let sum = disk::checksum(&bytes[start..]);
        bytes.splice(disk::MAGIC.len()..start, sum.to_le_bytes());
        fs::write(&world.cache().file, bytes).unwrap();
        let results = world.search("walrus seal");
        let hits = results.hits.iter();
        let shown: Vec<&str> =
            hits.map(|hit| hit.item.content.value().preview.text.as_str()).collect();
        assert!(shown.iter().all(|text| ["A seal.", "A walrus and a seal."].contains(text)));
        assert_eq!(results.refused.len(), 1, "what is refused is told whatever the cache says");
    }
}

#[test]
fn a_cache_gives_back_what_it_was_given() {
    let world = World::new(&[("a", "A seal.\n"), ("b", "A walrus.\n"), ("c", "Both, a seal.\n")]);
    let library = world.library();
    let roots = world.library().spaces().roots();
    let (winners, _) = survey(&roots, ItemKind::Knowledge);
    let shard = gather(&library, &roots, &winners, &[0, 1, 2]).shards.remove(0);
    let binding = world.cache().binding;
    let bytes = disk::to_bytes(&shard, &winners, &binding);
    let kept = disk::CacheFile::from_bytes(bytes.clone(), &binding).unwrap();
    let (again, others, is_all_used) = kept.split(&winners);
    assert_eq!((others, is_all_used), (Vec::new(), true));
    assert_eq!(again.vocabulary, shard.vocabulary);
    let stream = |shard: &Shard| -> Vec<Vec<u8>> {
        let bytes = |document: &Document| shard.bytes[document.stream.clone()].to_vec();
        shard.documents.iter().map(bytes).collect()
    };
    assert_eq!(stream(&again), stream(&shard));
    assert!(disk::CacheFile::from_bytes(bytes, &rye_sign::Digest::of(b"another state")).is_none());
    assert!(
        again.stream(&again.documents[0]).is_some_and(|reader: Reader<'_>| !reader.is_at_end())
    );
}
