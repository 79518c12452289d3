//! Work on many items at once, on all processors.

use std::thread;

/// Splits `items` into at most one part per processor, of about `least` items or more, and returns the result
/// of `work` for each part, in order.
pub(crate) fn in_parts<'a, T: Sync, R: Send>(
    items: &'a [T],
    least: usize,
    work: impl Fn(&'a [T]) -> R + Sync,
) -> Vec<R> {
    let processors = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
    let parts = (items.len() / least.max(1)).clamp(1, processors);
    let mut chunks = items.chunks(items.len().div_ceil(parts).max(1));
    // This thread works on the first part itself.
    let Some(first) = chunks.next() else { return Vec::new() };
    thread::scope(|scope| {
        let others: Vec<_> = chunks.map(|chunk| scope.spawn(|| work(chunk))).collect();
        let mut results = vec![work(first)];
        for other in others {
            results.push(other.join().expect("because the work does not panic"));
        }
        results
    })
}

const MOST_THREADS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once_and_in_order() {
        for count in [0, 1, 2, 7, 64, 1001] {
            let items: Vec<usize> = (0..count).collect();
            for least in [0, 1, 3, 5000] {
                assert_eq!(in_parts(&items, least, <[usize]>::to_vec).concat(), items);
            }
        }
    }
}
