//! The search cache, and that a search does not trust it.

use std::{fs, path::PathBuf, thread, time::SystemTime};

use rye_resolve::{Library, SearchQuery, trust_store};
use rye_sign::{Policy, TrustDocument};
use rye_types::Timestamp;

use crate::world::{World, key_id, trust_path};

/// Later than any file of a test, so that the stamps of all files have settled.
fn later() -> Timestamp {
    Timestamp::from_unix(4_000_000_000)
}

fn library(world: &World, policy: Policy, now: Timestamp) -> Library {
    let (trust, _) = trust_store(&world.spaces(), &[], now).unwrap();
    Library::new(world.spaces(), trust, policy, now).with_search_cache(world.path("cache"))
}

/// Searches for `text` and returns the found ids and the number of refused files.
fn search(library: &Library, text: &str) -> (String, usize) {
    let results = library.search(&text.parse::<SearchQuery>().unwrap());
    assert!(results.cache_problem.is_none(), "{:?}", results.cache_problem);
    let ids: Vec<&str> = results.hits.iter().map(|hit| hit.item.id.as_str()).collect();
    (ids.join(" "), results.refused.len())
}

/// Checks that a search for `walrus` has the expected results, with the cache and without it.
#[track_caller]
fn finds(world: &World, expected: &str, refused: usize) {
    finds_by(world, Policy::default(), later(), expected, refused);
}

#[track_caller]
fn finds_by(world: &World, policy: Policy, now: Timestamp, expected: &str, refused: usize) {
    let cached = library(world, policy.clone(), now);
    let (trust, _) = trust_store(&world.spaces(), &[], now).unwrap();
    let uncached = Library::new(world.spaces(), trust, policy, now);
    assert_eq!(search(&cached, "walrus"), (expected.to_owned(), refused), "with a cache");
    assert_eq!(search(&uncached, "walrus"), (expected.to_owned(), refused), "without");
}

/// A world with two entries in the cache, of which one matches.
fn cached_world() -> World {
    let world = World::new();
    world.signed("project", "knowledge/a.md", "A walrus.\n");
    world.signed("project", "knowledge/b.md", "A seal..\n");
    finds(&world, "a", 0);
    assert!(file(&world).exists());
    world
}

/// The one file of the cache.
fn file(world: &World) -> PathBuf {
    let entries = fs::read_dir(world.path("cache")).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    files.remove(0)
}

fn item(world: &World, name: &str) -> PathBuf {
    world.path("project").join(".ai/knowledge").join(name)
}

fn last_write(world: &World) -> SystemTime {
    fs::metadata(file(world)).unwrap().modified().unwrap()
}

#[test]
fn a_search_that_learns_nothing_writes_nothing() {
    let world = cached_world();
    let before = last_write(&world);
    finds(&world, "a", 0);
    assert_eq!(search(&library(&world, Policy::default(), later()), "seal"), ("b".to_owned(), 0));
    assert_eq!(last_write(&world), before);
}

#[test]
fn a_changed_item_is_found_by_what_it_says_now() {
    let world = cached_world();
    world.signed("project", "knowledge/b.md", "A walrus.\n");
    world.signed("project", "knowledge/a.md", "A seal..\n");
    finds(&world, "b", 0);
}

#[test]
fn items_come_and_go() {
    let world = cached_world();
    world.signed("project", "knowledge/c.md", "Third walrus.\n");
    finds(&world, "a c", 0);
    fs::remove_file(item(&world, "a.md")).unwrap();
    finds(&world, "c", 0);
    world.signed("user", "knowledge/d.md", "Walrus.\n");
    finds(&world, "d c", 0);
    world.signed("project", "knowledge/d.yaml", "title: No more\n");
    finds(&world, "c", 0);
}

#[test]
fn an_edit_without_signing_is_refused() {
    let world = cached_world();
    let text = fs::read_to_string(item(&world, "a.md")).unwrap();
    fs::write(item(&world, "a.md"), text.replace("A walrus", "Walruses")).unwrap();
    finds(&world, "", 1);
}

#[cfg(unix)]
#[test]
fn an_edit_that_keeps_size_and_time_is_noticed() {
    let world = cached_world();
    for (name, from, to) in [("a.md", "walrus", "wolves"), ("b.md", "A seal..", "A walrus")] {
        let path = item(&world, name);
        let modified = fs::metadata(&path).unwrap().modified().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let changed = text.replace(from, to);
        assert!(changed != text && changed.len() == text.len());
        fs::write(&path, changed).unwrap();
        fs::File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
    }
    finds(&world, "", 2);
}

#[test]
fn an_item_under_another_name_is_refused() {
    let world = cached_world();
    fs::rename(item(&world, "a.md"), item(&world, "c.md")).unwrap();
    finds(&world, "", 1);
}

#[test]
fn a_file_that_was_just_written_is_not_kept() {
    let world = World::new();
    world.signed("project", "knowledge/a.md", "A walrus.\n");
    let early = library(&world, Policy::default(), Timestamp::from_unix(1));
    assert_eq!(search(&early, "walrus"), ("a".to_owned(), 0));
    assert!(!world.path("cache").exists());
    finds(&world, "a", 0);
    file(&world);
}

#[test]
fn a_key_that_is_no_longer_trusted() {
    let world = cached_world();
    let path = world.path("user").join(".ai").join(trust_path(&world.operator));
    let document = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    finds(&world, "", 2);
    fs::write(&path, document).unwrap();
    finds(&world, "a", 0);
}

#[test]
fn a_key_that_is_revoked() {
    let world = cached_world();
    let document = TrustDocument::new("operator", world.operator.public());
    world.write("user", &trust_path(&world.operator), &document.with_revoked(later()).to_toml());
    finds(&world, "", 2);
}

#[test]
fn a_key_that_expires() {
    let world = cached_world();
    let document = TrustDocument::new("operator", world.operator.public());
    let expires = Timestamp::from_unix(later().as_unix() + 10);
    world.write("user", &trust_path(&world.operator), &document.with_expires(expires).to_toml());
    let at = |seconds| Timestamp::from_unix(later().as_unix() + seconds);
    finds_by(&world, Policy::default(), at(9), "a", 0);
    finds_by(&world, Policy::default(), at(10), "", 2);
    finds_by(&world, Policy::default(), at(9), "a", 0);
}

#[test]
fn another_policy() {
    let world = cached_world();
    world.write("project", "knowledge/c.md", "Unsigned walrus.\n");
    let allowing = Policy::default().dangerous_allow_unsigned();
    finds_by(&world, allowing.clone(), later(), "a c", 0);
    finds(&world, "a", 1);
    finds_by(&world, allowing, later(), "a c", 0);
}

#[test]
fn a_key_that_is_added() {
    let world = cached_world();
    world.signed_by(&world.stranger, "project", "knowledge/c.md", "Foreign walrus.\n");
    finds(&world, "a", 1);
    let document = TrustDocument::new("stranger", world.stranger.public());
    world.write("user", &trust_path(&world.stranger), &document.to_toml());
    finds(&world, "a c", 0);
    assert_ne!(key_id(&world.stranger), key_id(&world.operator));
}

#[test]
fn a_damaged_cache_is_made_again() {
    let world = cached_world();
    let good = fs::read(file(&world)).unwrap();
    let mut flipped = good.clone();
    flipped[good.len() / 2] ^= 1;
    let cut = good[..good.len() - 1].to_vec();
    let longer = [good.clone(), vec![0]].concat();
    for damaged in [Vec::new(), vec![0; 100], flipped, cut, longer] {
        fs::write(file(&world), damaged).unwrap();
        finds(&world, "a", 0);
        assert_eq!(fs::read(file(&world)).unwrap(), good);
    }
}

#[test]
fn a_cache_of_another_project_is_not_used() {
    let world = cached_world();
    let other = cached_world();
    fs::copy(file(&other), file(&world)).unwrap();
    finds(&world, "a", 0);
}

#[test]
fn many_searches_at_once() {
    let world = cached_world();
    let file_of_all = file(&world);
    thread::scope(|scope| {
        for number in 0..8 {
            let library = library(&world, Policy::default(), later());
            let file = file_of_all.clone();
            scope.spawn(move || {
                for _ in 0..10 {
                    if number % 2 == 0 {
                        fs::remove_file(&file).ok();
                    }
                    assert_eq!(search(&library, "walrus"), ("a".to_owned(), 0));
                }
            });
        }
    });
    finds(&world, "a", 0);
    file(&world);
}

#[test]
fn a_cache_that_cannot_be_written_is_told_and_changes_nothing() {
    let world = World::new();
    world.signed("project", "knowledge/a.md", "A walrus.\n");
    fs::write(world.path("cache"), "a file in the way").unwrap();
    let results = library(&world, Policy::default(), later()).search(&"walrus".parse().unwrap());
    assert_eq!(results.hits.len(), 1);
    let told = world.with_placeholders(&results.cache_problem.unwrap().to_string());
    let start = "cannot write the search cache `cache/";
    let end = ".search`";
    assert!(told.starts_with(start) && told.ends_with(end), "{told}");
}

#[cfg(unix)]
#[test]
fn only_the_owner_can_read_the_cache() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = cached_world();
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(world.path("cache")), mode(file(&world))), (0o700, 0o600));
}

#[test]
fn old_caches_are_removed_at_last() {
    let world = World::new();
    world.signed("project", "knowledge/a.md", "A walrus.\n");
    let folder = world.path("cache");
    fs::create_dir(&folder).unwrap();
    for number in 0..40 {
        let file = fs::File::create(folder.join(format!("{number}.search"))).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(number)).unwrap();
    }
    fs::write(folder.join("notes.txt"), "").unwrap();
    finds(&world, "a", 0);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 32 + 1);
    assert!(folder.join("39.search").exists() && !folder.join("8.search").exists());
}
