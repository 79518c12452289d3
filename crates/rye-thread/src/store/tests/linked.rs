//! Links, through which nothing is written.

use super::*;

#[cfg(unix)]
#[test]
fn nothing_is_written_through_a_link() {
    let place = tempfile::tempdir().unwrap();
    let store = LocalStore::open(place.path()).unwrap();
    let folder = place.path().join(name().as_str());
    fs::create_dir(&folder).unwrap();
    let outside = place.path().join("outside");
    std::os::unix::fs::symlink(&outside, folder.join("transcript.jsonl")).unwrap();
    let lease = store.acquire(&name(), &claim(0)).unwrap();
    assert!(matches!(store.append(&lease, b"x\n"), Err(StoreError::Linked { .. })));
    assert!(matches!(store.journal(&name()), Err(StoreError::Linked { .. })));
    assert!(!outside.exists());
}

/// The file in which leases are taken away is made anew, whatever a project brought along under its name.
#[cfg(unix)]
#[test]
fn no_link_leads_to_what_is_written_when_a_thread_is_taken() {
    let place = tempfile::tempdir().unwrap();
    let outside = place.path().join("outside");
    fs::write(&outside, "kept").unwrap();
    let path = place.path().join(format!("owner-{}-0.taken", std::process::id()));
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let (first, second) =
        (LocalStore::open(place.path()).unwrap(), LocalStore::open(place.path()).unwrap());
    assert!(fs::symlink_metadata(&path).unwrap().is_file());
    let _held = first.acquire(&name(), &claim(0)).unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&outside, &path).unwrap();
    let taken = second.acquire(&name(), &claim(5_000));
    assert!(matches!(taken, Err(StoreError::File { .. })), "{taken:?}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "kept");
}
