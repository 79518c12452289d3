//! Metadata of a file, by which an unchanged file is recognized without reading it.

use std::fs::Metadata;

use rye_sign::Digest;
use rye_types::Timestamp;

/// The size, times and inode of a file. Equal stamps are a strong hint of equal bytes, not a proof.
///
/// On Unix the stamp includes the time of the last change of the inode. Programs cannot set that time, so a
/// changed file whose old modification time was restored is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) size: u64,
    /// In nanoseconds since 1970.
    pub(crate) modified: i64,
    /// In nanoseconds since 1970; 0 on systems other than Unix.
    pub(crate) changed: i64,
    /// 0 on systems other than Unix.
    pub(crate) inode: u64,
}

impl Stamp {
    #[cfg(unix)]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt as _;
        Self {
            size: metadata.len(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
            inode: metadata.ino(),
        }
    }

    #[cfg(not(unix))]
    pub(crate) fn of(metadata: &Metadata) -> Self {
        use std::time::UNIX_EPOCH;
        let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = since.and_then(|since| i64::try_from(since.as_nanos()).ok());
        Self { size: metadata.len(), modified: modified.unwrap_or(i64::MAX), changed: 0, inode: 0 }
    }

    /// The stamp of a shipped text, with a part of its digest in place of the inode.
    pub(crate) fn of_text(text: &str) -> Self {
        let digest = Digest::of(text.as_bytes());
        let start = digest.as_bytes().first_chunk().map_or(0, |chunk| u64::from_le_bytes(*chunk));
        Self { size: text.len() as u64, modified: 0, changed: 0, inode: start }
    }

    /// Returns `true` if the file is old enough at `now` that a further change gives another stamp.
    ///
    /// The clocks of file systems tick in steps of up to two seconds.
    pub(crate) fn has_settled(&self, now: Timestamp) -> bool {
        let latest = self.modified.max(self.changed).div_euclid(SECOND);
        latest.saturating_add(LONGEST_TICK_SECONDS) < now.as_unix()
    }
}

#[cfg(unix)]
fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(SECOND).saturating_add(rest)
}

const SECOND: i64 = 1_000_000_000;
const LONGEST_TICK_SECONDS: i64 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(modified: i64, changed: i64, now: i64, expected: bool) {
        let stamp = Stamp { size: 0, modified, changed, inode: 0 };
        assert_eq!(stamp.has_settled(Timestamp::from_unix(now)), expected);
    }

    #[test]
    fn a_file_settles_after_two_whole_seconds() {
        check(10 * SECOND, 0, 13, true);
        check(10 * SECOND, 0, 12, false);
        check(10 * SECOND + 999_999_999, 0, 13, true);
        check(10 * SECOND, 11 * SECOND, 13, false);
    }

    #[test]
    fn a_file_from_the_future_never_settles() {
        check(i64::MAX, 0, 2_000_000_000, false);
        check(0, 100 * SECOND, 50, false);
    }

    #[test]
    fn a_text_is_known_by_its_bytes() {
        assert_eq!(Stamp::of_text("a"), Stamp::of_text("a"));
        assert_ne!(Stamp::of_text("a"), Stamp::of_text("b"));
        assert!(Stamp::of_text("a").has_settled(Timestamp::from_unix(1_000_000_000)));
    }
}
