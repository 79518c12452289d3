//! A verified thread with what this program knows beside its transcript, as pages show it.

use rye::thread::{ThreadId, spawned_children};
use rye::{ThreadReading, Voucher};
use rye_view::{Signer, Source};

use super::{Known, read};
use crate::environment::Environment;
use crate::failure::Failure;

/// Reads and verifies a thread and its children, and passes them on.
pub(super) fn with_source(
    thread: &ThreadId,
    known: &Known,
    environment: &Environment,
    show: &mut dyn FnMut(&Source<'_>),
) -> Result<(), Failure> {
    let reading = read(thread, &known.threads, environment)?;
    let children = children(&reading, known, environment);
    let mut source = source(&reading, known);
    if let Some(summary) = known.find(thread) {
        source.cost = known.cost_of(summary);
    }
    source.project = project(environment)?;
    source.children = children.iter().map(|child| self::source(child, known)).collect();
    show(&source);
    Ok(())
}

/// The name of the project's folder.
pub(super) fn project(environment: &Environment) -> Result<String, Failure> {
    let folder = environment.absolute(environment.project()?);
    let folder = folder.canonicalize().unwrap_or(folder);
    Ok(folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()))
}

fn source<'a>(reading: &'a ThreadReading, known: &Known) -> Source<'a> {
    let signer = match reading.vouched_by {
        Voucher::TrustedKey => Signer::Trusted,
        _ => Signer::OwnKey,
    };
    let (record, now) = (&reading.record, Environment::moment());
    let mut source = Source::new(record, &reading.transcript, signer, now);
    source.standing = known.standing(&record.thread, record.state);
    source.patterns = match &reading.token {
        Some(token) => token.claims().capabilities.clone(),
        None => Vec::new(),
    };
    source
}

/// The children that can be read. A page shows of the others what their parent recorded.
fn children(
    reading: &ThreadReading,
    known: &Known,
    environment: &Environment,
) -> Vec<ThreadReading> {
    let spawned = spawned_children(&reading.transcript).unwrap_or_default();
    let read = |child| read(child, &known.threads, environment).ok();
    spawned.iter().filter_map(|spawn| read(&spawn.child)).collect()
}
