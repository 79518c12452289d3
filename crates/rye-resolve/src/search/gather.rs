//! Reads and verifies many items at once.

use rye_sign::Digest;

use super::{
    content::{Content, content},
    parallel::in_parts,
    shard::{Shard, Writer},
};
use crate::{Item, Library, ResolveError, listing::Winner, root::Root};

/// The items that were read and those that were refused.
#[derive(Debug, Default)]
pub(crate) struct Gathered {
    pub(crate) shards: Vec<Shard>,
    /// The problems of refused items, each with the item's index among the winners.
    pub(crate) refused: Vec<(usize, ResolveError)>,
}

/// Reads those of `winners` whose indices are in `places`.
pub(crate) fn gather(
    library: &Library,
    roots: &[Root],
    winners: &[Winner],
    places: &[usize],
) -> Gathered {
    let mut gathered = Gathered::default();
    let parts = in_parts(places, FEWEST_FOR_A_THREAD, |places| {
        let mut writer = Writer::default();
        let mut refused = Vec::new();
        for place in places {
            let Some(winner) = winners.get(*place) else { continue };
            match read(library, roots, winner) {
                Ok(item) => {
                    let digest = digest(&item);
                    writer.push(*place, digest, &item.id, item.content.value());
                }
                Err(error) => refused.push((*place, error)),
            }
        }
        (writer.finish(), refused)
    });
    for (shard, refused) in parts {
        gathered.shards.push(shard);
        gathered.refused.extend(refused);
    }
    gathered
}

/// Reads, verifies and parses the item of `winner`.
pub(crate) fn read(
    library: &Library,
    roots: &[Root],
    winner: &Winner,
) -> Result<Item<Content>, ResolveError> {
    let root = roots.get(winner.root).expect("because winners come from these roots");
    let item = library.read(root, winner.kind, &winner.id, winner.location.clone())?;
    content(item)
}

pub(crate) fn digest(item: &Item<Content>) -> [u8; 32] {
    *Digest::of(item.source.as_bytes()).as_bytes()
}

const FEWEST_FOR_A_THREAD: usize = 8;
