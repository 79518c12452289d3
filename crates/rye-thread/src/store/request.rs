//! Requests about threads that another process drives: to cancel one, or to decide on its pending call.
//!
//! A request is one file in `requests/` beside the threads. The owner of the tree reads it, records the change, and
//! removes it. The requesting process relies on the transcript alone.

use std::fs;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use rye_files::{open_with, read_unlinked};
use rye_sign::{PublicKey, SigningKey, sign_json, verify_json};
use rye_types::Moment;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::lock::lock_error;
use super::{Owner, StoreError};
use crate::{Decision, ThreadId};

/// A request about a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadRequest {
    /// The thread.
    pub thread: ThreadId,
    /// The requested change.
    pub action: RequestedAction,
}

/// A change that the operator requests.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestedAction {
    /// The thread and its descendants end.
    Cancel,
    /// The pending call of the thread is decided.
    Decide {
        /// The number of the record that asks for the approval.
        seq: u64,
        /// The hash of the call's arguments.
        sha256: String,
        /// The decision.
        decision: Decision,
    },
}

impl ThreadRequest {
    /// Requests the end of the thread.
    #[must_use]
    pub const fn cancel(thread: ThreadId) -> Self {
        Self { thread, action: RequestedAction::Cancel }
    }

    /// Requests a decision on a call. The record at `seq` asks for the approval, and `sha256` is the hash of the
    /// arguments.
    #[must_use]
    pub const fn decide(thread: ThreadId, seq: u64, sha256: String, decision: Decision) -> Self {
        Self { thread, action: RequestedAction::Decide { seq, sha256, decision } }
    }
}

/// A driver of threads that carries out requests of other processes.
pub trait Inbox: Send + Sync {
    /// Returns `true` if the thread is driven by this driver.
    fn knows(&self, thread: &ThreadId) -> bool;

    /// Takes an unverified request.
    fn receive(&self, request: ReceivedRequest);
}

/// A request as its owner reads it.
#[derive(Debug)]
pub struct ReceivedRequest {
    /// The request.
    pub request: ThreadRequest,
    value: Value,
    path: PathBuf,
}

impl ReceivedRequest {
    /// Returns `true` if this key signed the request.
    #[must_use]
    pub fn is_signed_by(&self, key: &PublicKey) -> bool {
        verify_json(&self.value, std::slice::from_ref(key)).is_ok()
    }

    /// Removes the request, after its change is recorded or it was refused.
    pub fn remove(&self) {
        // A file that stays names this instance, which soon is no owner any more.
        let _stays = fs::remove_file(&self.path);
    }
}

/// A sent request. Dropping it removes the request.
#[derive(Debug)]
#[must_use = "a request is removed when this is dropped"]
pub struct PostedRequest {
    path: PathBuf,
}

impl PostedRequest {
    /// Writes a request for the owner of the tree of `root`, signed if there is a key.
    pub(super) fn post(
        threads: &Path,
        root: &ThreadId,
        owner: &Owner,
        request: &ThreadRequest,
        key: Option<&SigningKey>,
        now: Moment,
    ) -> Result<Self, StoreError> {
        let value = serde_json::to_value(RequestDisk::of(request, owner));
        let mut value = value.expect("because every part of it is plain JSON");
        if let Some(key) = key {
            let signed = sign_json(&value, key, now.timestamp());
            value = signed.expect("because the request is an object");
        }
        let folder = make_folder(threads)?;
        let prefix = prefix(root, &owner.instance);
        let path = folder.join(format!("{prefix}{}.json", random_name()));
        let text = serde_json::to_vec(&value).expect("because it is plain JSON");
        let temporary = path.with_extension("tmp");
        let written = || {
            // An existing name, such as a link, is an error, so that nothing is written through it.
            let mut file = open_with(&temporary, fs::File::options().write(true).create_new(true))?;
            file.write_all(&text)?;
            fs::rename(&temporary, &path)
        };
        written().map_err(|source| lock_error(&path, source))?;
        Ok(Self { path })
    }

    /// Returns `true` until the owner removes the request.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.path.exists()
    }
}

impl Drop for PostedRequest {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.path);
    }
}

/// Returns the folder of the requests, beside those of the threads.
///
/// Returns `None` if it is not a folder, so that nothing is read or removed through a link.
pub(super) fn folder(threads: &Path) -> Option<PathBuf> {
    let folder = threads.join(FOLDER);
    fs::symlink_metadata(&folder).is_ok_and(|found| found.is_dir()).then_some(folder)
}

fn make_folder(threads: &Path) -> Result<PathBuf, StoreError> {
    let path = threads.join(FOLDER);
    match fs::create_dir(&path) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => {
            Err(lock_error(&path, source))
        }
        _ => folder(threads).ok_or(StoreError::Linked { path }),
    }
}

const FOLDER: &str = "requests";

/// Returns a part of a file name that no other process can guess.
fn random_name() -> String {
    let random = RandomState::new();
    format!("{:016x}{:016x}", random.hash_one(0), random.hash_one(1))
}

/// Returns the prefix of the names of requests to one instance of the owner of a tree.
pub(super) fn prefix(root: &ThreadId, instance: &str) -> String {
    format!("{root}.{instance}.")
}

/// The maximum length of a request in bytes.
pub(super) const MOST_BYTES: u64 = 16 * 1_024;

/// Reads a request to this instance. Returns `None` for any other file.
pub(super) fn read(path: &Path, instance: &str) -> Option<ReceivedRequest> {
    let bytes = read_unlinked(path, MOST_BYTES).ok()?;
    let value: Value = serde_json::from_slice(&bytes).ok()?;
    let disk: RequestDisk = serde_json::from_value(value.clone()).ok()?;
    let request = disk.into_request(instance)?;
    Some(ReceivedRequest { request, value, path: path.to_owned() })
}

const FORMAT: &str = "rye-thread-request";

#[derive(Serialize, Deserialize)]
struct RequestDisk {
    format: String,
    /// The owner to which the request is sent.
    instance: String,
    thread: String,
    /// `cancel` or `decide`.
    action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    arguments_sha256: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    decision: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl RequestDisk {
    fn of(request: &ThreadRequest, owner: &Owner) -> Self {
        let mut disk = Self {
            format: FORMAT.to_owned(),
            instance: owner.instance.clone(),
            thread: request.thread.to_string(),
            action: "cancel".to_owned(),
            seq: None,
            arguments_sha256: None,
            decision: None,
            reason: None,
        };
        if let RequestedAction::Decide { seq, sha256, decision } = &request.action {
            "decide".clone_into(&mut disk.action);
            (disk.seq, disk.arguments_sha256) = (Some(*seq), Some(sha256.clone()));
            disk.decision = Some(decision.to_string());
            disk.reason = decision.reason().map(ToString::to_string);
        }
        disk
    }

    fn into_request(self, instance: &str) -> Option<ThreadRequest> {
        if self.format != FORMAT || self.instance != instance {
            return None;
        }
        let thread = self.thread.parse().ok()?;
        match self.action.as_str() {
            "cancel" => Some(ThreadRequest::cancel(thread)),
            "decide" => {
                let decision = Decision::read(&self.decision?, self.reason.as_deref()).ok()?;
                Some(ThreadRequest::decide(thread, self.seq?, self.arguments_sha256?, decision))
            }
            _ => None,
        }
    }
}
