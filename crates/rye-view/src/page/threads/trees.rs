//! The relations between the rows of the list.

use std::collections::BTreeMap;

use rye_transcript::ThreadId;

use crate::Listed;

/// The threads by the threads that started them.
pub(super) struct Trees<'a> {
    all: BTreeMap<&'a ThreadId, &'a Listed>,
    roots: Vec<&'a Listed>,
    /// The oldest child first.
    pub(super) children: BTreeMap<&'a ThreadId, Vec<&'a Listed>>,
    /// The preceding thread of the same directive.
    pub(super) previous: BTreeMap<&'a ThreadId, &'a ThreadId>,
}

impl<'a> Trees<'a> {
    /// Arranges rows that begin with the newest.
    pub(super) fn new(all: &'a [Listed]) -> Self {
        let mut trees = Self {
            all: all.iter().map(|row| (&row.thread, row)).collect(),
            roots: Vec::new(),
            children: BTreeMap::new(),
            previous: previous(all),
        };
        for row in all {
            match row.parent.as_ref().filter(|parent| trees.has(parent)) {
                Some(parent) => trees.children.entry(parent).or_default().insert(0, row),
                None => trees.roots.push(row),
            }
        }
        trees
    }

    pub(super) fn has(&self, thread: &ThreadId) -> bool {
        self.all.contains_key(thread)
    }

    /// The newest tree first, and in it each thread before its children.
    /// Arranges rows that begin with the newest.
    pub(super) fn newest_first(&self) -> Vec<&'a Listed> {
        let mut rows = Vec::new();
        let mut left: Vec<&'a Listed> = self.roots.iter().rev().copied().collect();
        while let Some(row) = left.pop() {
            rows.push(row);
            left.extend(self.children.get(&row.thread).into_iter().flatten().rev().copied());
        }
        rows
    }
}

/// The preceding thread of the same directive, for each that has one.
fn previous(all: &[Listed]) -> BTreeMap<&ThreadId, &ThreadId> {
    let mut last: BTreeMap<&str, &ThreadId> = BTreeMap::new();
    let mut previous = BTreeMap::new();
    for row in all.iter().rev() {
        if let Some(before) = last.insert(&row.directive, &row.thread) {
            previous.insert(&row.thread, before);
        }
    }
    previous
}
