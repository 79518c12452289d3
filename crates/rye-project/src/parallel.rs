//! One function over many things, on all processors.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The number of items that a thread takes at a time. It is small, so that a thread whose processor is busy
/// holds up no more.
const AT_ONCE: usize = 32;

const MOST_THREADS: usize = 16;

/// The results of `work` for each of `items`, in their order.
pub(crate) fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let parts: Vec<&[T]> = items.chunks(AT_ONCE).collect();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(index) else { return done };
            done.push((index, part.iter().map(&work).collect::<Vec<R>>()));
        }
    };
    let mut done = on_threads(parts.len(), &work);
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, results)| results).collect()
}

/// The results of `work` on this thread and on one more for each further processor, all together.
fn on_threads<R: Send>(most: usize, work: &(impl Fn() -> Vec<R> + Sync)) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        // Where the system gives no more threads, the existing ones do the work.
        let others: Vec<_> = (1..processors.min(MOST_THREADS).min(most))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok())
            .collect();
        let mut done = work();
        for other in others {
            done.extend(other.join().expect("because the work does not panic"));
        }
        done
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_in_order() {
        for count in [0, 1, 31, 32, 33, 1001] {
            let items: Vec<usize> = (0..count).collect();
            assert_eq!(
                in_parallel(&items, |item| item * 2),
                items.iter().map(|item| item * 2).collect::<Vec<_>>()
            );
        }
    }
}
