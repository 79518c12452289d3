//! Reading a thread's record back, with what vouches for it.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rye_caps::{Grant, Pattern};
use rye_resolve::ItemId;
use rye_sign::token::{Token, TokenError, verify_chain};
use rye_sign::{KeyError, KeyId, PublicKey};
use rye_thread::transcript::{Damage, DamageKind, FileError, Reading, named_keys, read_file};
use rye_thread::{RecordError, ThreadId, ThreadRecord, recorded_root};
use serde::de::IgnoredAny;
use serde_json::Value;
use strum::IntoStaticStr;

use crate::rye::Rye;
use crate::session::{Host, TOKEN, TOKENS_ABOVE};
use crate::thread_folder::{RECORD, TRANSCRIPT, has_whole_line};

/// A thread as its folder holds it, verified.
#[derive(Debug)]
#[non_exhaustive]
pub struct ThreadReading {
    /// The folder.
    pub folder: PathBuf,
    /// The state of the thread.
    pub record: ThreadRecord,
    /// The events of the thread.
    pub transcript: Reading,
    /// The rights of the thread, verified at the time of its start; `None` for a thread that never began.
    pub token: Option<Token>,
    /// The signer of the record.
    pub vouched_by: RecordSigner,
}

/// The key that signed a thread's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
#[derive(IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RecordSigner {
    /// The thread's own key, which the record itself names. It shows a change, but not its author.
    Thread,
    /// One that is trusted here.
    TrustedKey,
}

impl RecordSigner {
    /// The word that reports use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// As people read it.
impl fmt::Display for RecordSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Thread => "a key of its own, which shows changes but not who wrote it",
            Self::TrustedKey => "a trusted key",
        })
    }
}

/// The reason why a thread cannot be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ThreadReadError {
    /// The record names a key that is none.
    #[error("the record of the thread names an unusable key")]
    Key(#[source] KeyError),
    /// The record cannot be read or is not as a run wrote it.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The folder holds the record of another thread.
    #[error("`{}` holds the record of `{thread}`; it was moved there", .folder.display())]
    OtherThread {
        /// The folder.
        folder: PathBuf,
        /// The thread that its record names.
        thread: ThreadId,
    },
    /// The transcript cannot be read.
    #[error("cannot read `{}`", .path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The transcript was changed.
    #[error("`{}` is not as a run wrote it", .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first place that differs.
        source: Damage,
    },
    /// The capability token in the record does not hold.
    #[error(
        "the token in the record of `{thread}` does not show what the thread was allowed to do"
    )]
    Token {
        /// The thread.
        thread: ThreadId,
        /// The problem of the token.
        source: TokenError,
    },
    /// The capability token in the record is of another thread or directive.
    #[error("the token in the record of `{thread}` was given to `{other}`")]
    OtherToken {
        /// The thread.
        thread: ThreadId,
        /// The thread and directive that the token names.
        other: String,
    },
    /// The record names a directive by what is no id.
    #[error("the record in `{}` names no directive: what it names is no id", .folder.display())]
    NoDirective {
        /// The folder.
        folder: PathBuf,
    },
    /// The transcript is not there.
    #[error("`{}` is not there, and `thread.json` says where it ends; it was removed", .path.display())]
    NoTranscript {
        /// The expected path of the file.
        path: PathBuf,
    },
    /// The folder of a thread that has not begun. Its program prepares it or was killed.
    #[error(
        "`{}` holds no whole record: its program prepares the thread, or was killed before the thread began; then the folder can be removed",
        .folder.display()
    )]
    Unbegun {
        /// The folder.
        folder: PathBuf,
    },
    /// The first record has a form that this version does not know.
    #[error("the first record in `{}` has a form that this version cannot read; use a newer one", .folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
    },
    /// The transcript names another root than the record.
    #[error("`{}` belongs to another thread tree than `{root}`, which `thread.json` names", .path.display())]
    OtherRoot {
        /// The file.
        path: PathBuf,
        /// The root that the record names.
        root: ThreadId,
    },
    /// The transcript does not end where the record says.
    #[error("`{}` does not end where `thread.json` says: records are missing or were added", .path.display())]
    Length {
        /// The file.
        path: PathBuf,
    },
}

impl ThreadReadError {
    /// Returns `true` if the thread was changed, `false` if it is just not there.
    #[must_use]
    pub fn is_tampering(&self) -> bool {
        matches!(
            self,
            Self::Damaged { source: Damage { kind, .. }, .. }
                if !matches!(kind, DamageKind::OtherVersion { .. })
        ) || matches!(
            self,
            Self::Length { .. }
                | Self::NoDirective { .. }
                | Self::NoTranscript { .. }
                | Self::OtherRoot { .. }
                | Self::OtherThread { .. }
                | Self::OtherToken { .. }
                | Self::Token { .. }
                | Self::Record(RecordError::Unverified { .. })
        )
    }
}

impl Rye {
    /// Reads and verifies a thread below `threads`, the folder of all threads.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or was changed after it was written.
    pub fn thread(
        &self,
        threads: &Path,
        thread: &ThreadId,
    ) -> Result<ThreadReading, ThreadReadError> {
        self.found(threads, thread).map(|found| found.reading)
    }

    /// Reads and verifies the record of a thread below `threads` alone, and nothing of its transcript unless `thread.json` is lost.
    ///
    /// # Errors
    ///
    /// When it cannot be read, or was changed after it was written.
    pub fn thread_record(
        &self,
        threads: &Path,
        thread: &ThreadId,
    ) -> Result<ThreadRecord, ThreadReadError> {
        let folder = threads.join(thread.as_str());
        match self.vouched_record(&folder, thread)? {
            Some(vouched) => Ok(vouched.record),
            None => Ok(self.found_by_transcript(folder, thread)?.reading.record),
        }
    }

    /// The same, with the keys that may have signed its transcript.
    pub(crate) fn found(
        &self,
        threads: &Path,
        thread: &ThreadId,
    ) -> Result<Found, ThreadReadError> {
        let folder = threads.join(thread.as_str());
        let file = || ThreadRecord::read_bytes(&folder).ok();
        steadily(file, || self.found_now(threads, thread))
    }

    fn found_now(&self, threads: &Path, thread: &ThreadId) -> Result<Found, ThreadReadError> {
        let folder = threads.join(thread.as_str());
        let Some(vouched) = self.vouched_record(&folder, thread)? else {
            return self.found_by_transcript(folder, thread);
        };
        let VerifiedRecord { record, signer, keys, vouched_by } = vouched;
        let transcript = transcript(&folder, &record, &keys)?;
        let token = token(&record, &keys)?;
        let reading = ThreadReading { folder, record, transcript, token, vouched_by };
        Ok(Found { reading, keys, signer })
    }

    /// The keys that are trusted with records. An expired key vouches for what it signed before; a revoked one for nothing.
    fn trusted_keys(&self) -> Vec<PublicKey> {
        let standing = self.library().trust().keys().filter(|key| key.revoked().is_none());
        standing.map(|key| key.key().clone()).collect()
    }

    /// Reads a thread whose `thread.json` is lost: the transcript holds all that the file says.
    fn found_by_transcript(
        &self,
        folder: PathBuf,
        thread: &ThreadId,
    ) -> Result<Found, ThreadReadError> {
        let path = folder.join(TRANSCRIPT);
        let trusted = self.trusted_keys();
        let (transcript, keys, vouched_by) = match read_transcript(&path, thread, &trusted) {
            Ok(transcript) => (transcript, trusted, RecordSigner::TrustedKey),
            Err(error) => {
                let keys = opening_keys(&path);
                let transcript = read_transcript(&path, thread, &keys).map_err(|_| error)?;
                (transcript, keys, RecordSigner::Thread)
            }
        };
        let signer = transcript.signers.first().cloned();
        let record = ThreadRecord::from_transcript(&transcript);
        let Some(signer) = signer else { return Err(ThreadReadError::Unbegun { folder }) };
        let Some(record) = record else { return Err(ThreadReadError::Unreadable { folder }) };
        if record.directive.parse::<ItemId>().is_err() {
            return Err(ThreadReadError::NoDirective { folder });
        }
        let token = token(&record, &keys)?;
        let reading = ThreadReading { folder, record, transcript, token, vouched_by };
        Ok(Found { reading, keys, signer })
    }

    /// The verified record in a folder; `None` if it is lost, and the transcript is there to tell the same.
    fn vouched_record(
        &self,
        folder: &Path,
        thread: &ThreadId,
    ) -> Result<Option<VerifiedRecord>, ThreadReadError> {
        let trusted = self.trusted_keys();
        let (record, signer, keys, vouched_by) = match ThreadRecord::read_signed(folder, &trusted) {
            Ok((record, signer)) => (record, signer, trusted, RecordSigner::TrustedKey),
            Err(error) if !is_whole(folder, &error) => {
                return folder_error(folder, error).map(|()| None);
            }
            Err(error @ RecordError::Unverified { .. }) => {
                let keys = own_keys(folder)?;
                let own = keys.first().cloned().ok_or(error)?;
                let (record, signer) = ThreadRecord::read_signed(folder, &[own])?;
                (record, signer, keys, RecordSigner::Thread)
            }
            Err(error) => return Err(error.into()),
        };
        let folder = folder.to_owned();
        if record.thread != *thread {
            return Err(ThreadReadError::OtherThread { folder, thread: record.thread });
        }
        if record.directive.parse::<ItemId>().is_err() {
            return Err(ThreadReadError::NoDirective { folder });
        }
        Ok(Some(VerifiedRecord { record, signer, keys, vouched_by }))
    }
}

/// A record that was verified.
struct VerifiedRecord {
    record: ThreadRecord,
    /// The key that signed it.
    signer: KeyId,
    /// The keys that may have signed what is beside it.
    keys: Vec<PublicKey>,
    vouched_by: RecordSigner,
}

/// A thread as its folder holds it, with the keys that may have signed its transcript.
pub(crate) struct Found {
    pub(crate) reading: ThreadReading,
    pub(crate) keys: Vec<PublicKey>,
    /// The key that signed the record.
    signer: KeyId,
}

impl Found {
    /// Returns `true` if the operator's key signed the record and every checkpoint, or if the operator has no key. Another
    /// trusted key may be one that is trusted with little.
    pub(crate) fn is_own(&self, host: &Host<'_>) -> bool {
        host.signing_key.is_none()
            || (self.reading.vouched_by == RecordSigner::TrustedKey
                && self.foreign_signer(host).is_none())
    }

    /// A trusted key beside the operator's that signed the record or a checkpoint.
    pub(crate) fn foreign_signer(&self, host: &Host<'_>) -> Option<&KeyId> {
        let own = host.signing_key.as_ref().map(|key| key.public());
        let is_own = |signer: &KeyId| own.as_ref().is_some_and(|own| own.is_named(signer));
        let mut signers = std::iter::once(&self.signer).chain(&self.reading.transcript.signers);
        signers
            .find(|signer| !is_own(signer))
            .filter(|_| self.reading.vouched_by == RecordSigner::TrustedKey)
    }
}

/// Reads again if the record changes between it and the transcript. A process that resumes the thread
/// replaces the record. A contradiction beside a record that stays comes from another change.
fn steadily<R: PartialEq, T>(
    record: impl Fn() -> R,
    mut read: impl FnMut() -> Result<T, ThreadReadError>,
) -> Result<T, ThreadReadError> {
    let mut before = None;
    for _ in 0..ATTEMPTS {
        match read() {
            Err(error) if error.is_tampering() => {
                let now = Some(record());
                if before == now {
                    return Err(error);
                }
                before = now;
            }
            done => return done,
        }
    }
    read()
}

/// More often than a thread is opened while one is read.
const ATTEMPTS: usize = 8;

/// Returns `true` unless `thread.json` is missing or is no JSON object, which a run never leaves in the place of a record.
fn is_whole(folder: &Path, error: &RecordError) -> bool {
    match error {
        RecordError::Read { .. } => std::fs::symlink_metadata(folder.join(RECORD)).is_ok(),
        _ => ThreadRecord::read_bytes(folder).is_ok_and(|bytes| {
            serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(&bytes).is_ok()
        }),
    }
}

/// Checks that the transcript in a folder without a whole `thread.json` has a record, from which the thread can be read.
fn folder_error(folder: &Path, error: RecordError) -> Result<(), ThreadReadError> {
    if !folder.is_dir() {
        Err(error.into())
    } else if has_whole_line(&folder.join(TRANSCRIPT)) {
        Ok(())
    } else {
        Err(ThreadReadError::Unbegun { folder: folder.to_owned() })
    }
}

fn transcript(
    folder: &Path,
    record: &ThreadRecord,
    keys: &[PublicKey],
) -> Result<Reading, ThreadReadError> {
    let path = folder.join(TRANSCRIPT);
    let reading = read_transcript(&path, &record.thread, keys).map_err(|error| match error {
        ThreadReadError::Read { path, source }
            if source.kind() == io::ErrorKind::NotFound && record.transcript.is_some() =>
        {
            ThreadReadError::NoTranscript { path }
        }
        error => error,
    })?;
    if recorded_root(&reading).is_some_and(|root| root != record.root) {
        return Err(ThreadReadError::OtherRoot { path, root: record.root.clone() });
    }
    match &record.transcript {
        Some(claim) if !reading.fits(claim) => Err(ThreadReadError::Length { path }),
        _ => Ok(reading),
    }
}

fn read_transcript(
    path: &Path,
    thread: &ThreadId,
    keys: &[PublicKey],
) -> Result<Reading, ThreadReadError> {
    read_file(path, thread, keys).map_err(|error| match error {
        FileError::Damaged { path, source } => ThreadReadError::Damaged { path, source },
        FileError::Read { path, source } => ThreadReadError::Read { path, source },
        other => ThreadReadError::Read { path: path.to_owned(), source: io::Error::other(other) },
    })
}

/// The keys that an unverified transcript says it was signed with, the last one first; none of a transcript that cannot be read.
fn opening_keys(path: &Path) -> Vec<PublicKey> {
    let pems = named_keys(path).unwrap_or_default();
    pems.iter().rev().filter_map(|pem| PublicKey::from_pem(pem).ok()).collect()
}

/// The token that the thread acted with (SPEC 9.5). It held from the record's beginning, and may be over by now.
fn token(record: &ThreadRecord, keys: &[PublicKey]) -> Result<Option<Token>, ThreadReadError> {
    let Some(value) = record.facts.get(TOKEN) else { return Ok(None) };
    let refused = |source| ThreadReadError::Token { thread: record.thread.clone(), source };
    let above = record.facts.get(TOKENS_ABOVE).and_then(Value::as_array);
    let chain = above.into_iter().flatten().chain([value]);
    let chain: Result<Vec<Token>, _> =
        chain.map(|token| Token::parse(&token.to_string())).collect();
    let chain = chain.map_err(refused)?;
    let token = verify_chain(&chain, keys, record.created.timestamp(), covers).map_err(refused)?;
    let claims = token.claims();
    let from = chain.iter().rev().nth(1).map(|token| token.claims().thread_id.as_str());
    if from != record.parent.as_ref().map(ThreadId::as_str) {
        let other = format!("a child of {}", from.unwrap_or("nobody"));
        return Err(ThreadReadError::OtherToken { thread: record.thread.clone(), other });
    }
    if claims.thread_id != record.thread.as_str() || claims.directive_id != record.directive {
        let other = format!("{} of {}", claims.thread_id, claims.directive_id);
        return Err(ThreadReadError::OtherToken { thread: record.thread.clone(), other });
    }
    Ok(Some(token.clone()))
}

/// Decides exactly if the capability patterns `patterns` cover all that `pattern` does. It is the cover rule
/// for verifying chains of tokens. A text that is no pattern covers nothing and is not covered.
#[must_use]
pub fn covers(patterns: &[String], pattern: &str) -> bool {
    let parsed: Vec<Pattern> = patterns.iter().filter_map(|text| text.parse().ok()).collect();
    let Ok(pattern) = pattern.parse::<Pattern>() else { return false };
    let grant = |patterns: Vec<Pattern>| patterns.into_iter().collect::<Grant>();
    grant(parsed).covers(&grant(vec![pattern])).is_ok()
}

/// The keys that an unverified record says it was signed with, the last one first: each opening of a thread without an
/// operator's key has one of its own.
fn own_keys(folder: &Path) -> Result<Vec<PublicKey>, ThreadReadError> {
    let bytes = ThreadRecord::read_bytes(folder)
        .map_err(|source| ThreadReadError::Read { path: folder.join(RECORD), source })?;
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let signed_by = value.pointer("/facts/signed_by");
    let last = signed_by.and_then(|it| it.get("public_key"));
    let earlier = signed_by.and_then(|it| it.get("earlier")).and_then(Value::as_array);
    let pems = last.into_iter().chain(earlier.into_iter().flatten()).filter_map(Value::as_str);
    pems.map(PublicKey::from_pem).collect::<Result<_, _>>().map_err(ThreadReadError::Key)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn torn_end() -> ThreadReadError {
        ThreadReadError::Length { path: PathBuf::from("transcript.jsonl") }
    }

    /// Cases: the number of times that the record is replaced during a read, the number of reads then, and
    /// the result.
    #[track_caller]
    fn check(replaced: usize, reads: usize, holds: bool) {
        let version = Cell::new(0);
        let count = Cell::new(0);
        let read = steadily(
            || version.get(),
            || {
                count.set(count.get() + 1);
                if version.get() < replaced {
                    version.set(version.get() + 1);
                    return Err(torn_end());
                }
                if holds { Ok(()) } else { Err(torn_end()) }
            },
        );
        assert_eq!((read.is_ok(), count.get()), (holds, reads), "{replaced}");
    }

    #[test]
    fn what_is_replaced_while_it_is_read_is_read_again() {
        check(0, 1, true);
        check(1, 2, true);
        check(5, 6, true);
        check(0, 2, false);
        check(1, 2, false);
        check(5, 6, false);
    }

    #[test]
    fn what_is_never_steady_is_given_up() {
        check(1_000, ATTEMPTS + 1, false);
    }

    #[test]
    fn what_is_only_not_there_is_read_once() {
        let count = Cell::new(0);
        let missing = || ThreadReadError::Read {
            path: PathBuf::from("transcript.jsonl"),
            source: io::ErrorKind::NotFound.into(),
        };
        let read: Result<(), _> = steadily(
            || count.get(),
            || {
                count.set(count.get() + 1);
                Err(missing())
            },
        );
        assert!(read.is_err() && count.get() == 1);
    }
}
