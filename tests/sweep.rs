//! The extent of tests that try the same at many places.

/// Returns `true` if `RYE_SWEEP` is `all` in the environment, as in `cargo xtask ci`: then every place is tried.
#[expect(clippy::disallowed_methods, reason = "the environment says how much is tried")]
pub(crate) fn is_whole() -> bool {
    std::env::var("RYE_SWEEP").is_ok_and(|extent| extent == "all")
}

/// Returns every `step`th of the places, beginning with the one at `first`, and all of them in a whole sweep.
///
/// Panics if there is none, because a test that tries nothing shows nothing.
#[track_caller]
pub(crate) fn sweep<T>(places: impl IntoIterator<Item = T>, first: usize, step: usize) -> Vec<T> {
    let (first, step) = if is_whole() { (0, 1) } else { (first, step) };
    let chosen: Vec<T> = places.into_iter().skip(first).step_by(step).collect();
    assert!(!chosen.is_empty(), "a sweep without a place");
    chosen
}
