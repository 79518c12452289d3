//! A verified thread with what this program knows beside its transcript, as pages show it.

use rye::thread::{ThreadId, spawned_children};
use rye::{RecordSigner, ThreadReading};
use rye_view::{Signer, Source};

use super::{Known, read};
use crate::environment::Environment;
use crate::failure::Failure;

/// The descendants that are read with a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Those that it started.
    Children,
    /// All of them.
    Tree,
}

/// A thread that was read, with its descendants.
struct ReadTree {
    reading: ThreadReading,
    children: Vec<Self>,
}

/// Reads and verifies a thread and its descendants, and passes them on.
pub(super) fn with_source(
    thread: &ThreadId,
    reach: Reach,
    known: &Known,
    environment: &Environment,
    show: &mut dyn FnMut(&Source<'_>),
) -> Result<(), Failure> {
    let reading = read(thread, &known.threads, environment)?;
    let children = children(&reading, reach, known, environment);
    let tree = ReadTree { reading, children };
    let mut source = source(&tree, known);
    if let Some(summary) = known.find(thread) {
        let figures = known.figures_of(summary);
        (source.cost, source.reserved) = (figures.cost, figures.reserved);
    }
    source.project = project(environment)?;
    show(&source);
    Ok(())
}

/// The name of the project's folder.
pub(super) fn project(environment: &Environment) -> Result<String, Failure> {
    let folder = environment.absolute(environment.project()?);
    let folder = folder.canonicalize().unwrap_or(folder);
    Ok(folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()))
}

fn source<'a>(tree: &'a ReadTree, known: &Known) -> Source<'a> {
    let reading = &tree.reading;
    let signer = match reading.vouched_by {
        RecordSigner::TrustedKey => Signer::Trusted,
        _ => Signer::OwnKey,
    };
    let record = &reading.record;
    let now = Environment::moment();
    let mut source = Source::new(record, &reading.transcript, signer, now);
    source.standing = known.standing(&record.thread, record.state);
    source.patterns = match &reading.token {
        Some(token) => token.claims().capabilities.clone(),
        None => Vec::new(),
    };
    source.children = tree.children.iter().map(|child| self::source(child, known)).collect();
    source
}

/// The children that can be read. A page shows of the others what their parent recorded.
fn children(
    reading: &ThreadReading,
    reach: Reach,
    known: &Known,
    environment: &Environment,
) -> Vec<ReadTree> {
    let spawned = spawned_children(&reading.transcript).unwrap_or_default();
    let read = |child| {
        let reading = read(child, &known.threads, environment).ok()?;
        let children = match reach {
            Reach::Children => Vec::new(),
            Reach::Tree => children(&reading, reach, known, environment),
        };
        Some(ReadTree { reading, children })
    };
    spawned.iter().filter_map(|spawn| read(&spawn.child)).collect()
}
