//! The steps of a tree that this worker knows the engine to keep.
//!
//! An engine whose state was restored from a backup, or edited, would have effects and payments repeated without a word.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use rye::files::read_plain;
use serde::{Deserialize, Serialize};

use crate::drivers::Place;

/// A number of kept steps, with the digest of the last of them.
#[derive(Debug, Serialize, Deserialize)]
struct Progress {
    steps: u64,
    last: Option<String>,
}

/// The most bytes of the file that are read.
const MOST: u64 = 1024 * 1024;

/// Writes down the steps before `place`, which the engine keeps.
///
/// # Errors
///
/// When the file cannot be written.
pub fn note(path: &Path, place: &Place) -> anyhow::Result<()> {
    let progress = Progress { steps: place.next(), last: place.last.clone() };
    let folder = path.parent().context("the file has a folder")?;
    fs::create_dir_all(folder)?;
    let new = path.with_extension("new");
    fs::write(&new, serde_json::to_vec(&progress)?)?;
    fs::rename(&new, path)?;
    Ok(())
}

/// Checks that the engine's steps of a tree, which have these digests, go on from those that were written down.
///
/// # Errors
///
/// When they are fewer or others, so that what came after them would be done again.
pub fn check(path: &Path, root: &str, digests: &[String]) -> anyhow::Result<()> {
    let text = match read_plain(path, MOST) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        text => text?,
    };
    // A file that a killed worker left unfinished says nothing.
    let Ok(Progress { steps: seen, last }) = serde_json::from_slice(&text) else { return Ok(()) };
    let Some(place) = seen.checked_sub(1) else { return Ok(()) };
    let found = digests.get(usize::try_from(place)?);
    if found.is_some() && found == last.as_ref() {
        return Ok(());
    }
    anyhow::bail!(
        "the engine has {} steps of `{root}` which do not go on from the {seen} that this worker saw, so that its state is an older \
         or an edited one; to repeat what came after it, remove `{}`",
        digests.len(),
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{Change, Step};

    fn step(text: &str) -> Step {
        let change = Change { thread: "a".to_owned(), at: 0, text: text.to_owned() };
        Step { changes: vec![change], ..Step::default() }
    }

    fn digests(steps: &[Step]) -> Vec<String> {
        let mut place = Place::new("root", 0, None);
        let digests = steps.iter().filter_map(|step| {
            place.advance(step.clone());
            place.last.clone()
        });
        digests.collect()
    }

    #[test]
    fn steps_that_were_kept_must_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("root/engine.json");
        let steps = ["one", "two", "three"].map(step);
        let digests = digests(&steps);
        check(&path, "root", &[]).unwrap();
        let mut place = Place::new("root", 0, None);
        place.advance(steps[0].clone());
        place.advance(steps[1].clone());
        note(&path, &place).unwrap();
        check(&path, "root", &digests[..2]).unwrap();
        check(&path, "root", &digests).unwrap();
        let error = check(&path, "root", &digests[..1]).unwrap_err().to_string();
        assert!(error.contains("has 1 steps of `root`") && error.contains("the 2 that"), "{error}");
        let other = self::digests(&[step("one"), step("other"), step("three")]);
        check(&path, "root", &other).unwrap_err();
    }
}
