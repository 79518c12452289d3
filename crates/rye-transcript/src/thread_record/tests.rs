use std::fs;

use rye_types::{Limit, LimitHit};
use serde_json::json;

use super::*;
use crate::{FailureKind, TranscriptClaim};

fn record() -> ThreadRecord {
    let thread = ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap();
    let at = Moment::from_unix_millis(1_795_197_600_250);
    let mut record = ThreadRecord::new(&thread, "greet/hello", &LimitSet::default(), at);
    record.parent = Some(ThreadId::new("up", "019a0000-0000-7000-8000-000000000002").unwrap());
    record.state = ThreadState::Error;
    record.provider = Some("p".to_owned());
    record.model = Some("m".to_owned());
    record.usage = Usage::new(3, 4);
    record.cost = Nanos::new(5);
    record.turns = 2;
    record.transcript = Some(TranscriptClaim::new(7, "00".repeat(32), true));
    record.facts.insert("unverified".to_owned(), json!(true));
    let hit = LimitHit { limit: Limit::Turns, value: 2, maximum: 2 };
    record.failure = Some(Failure::new(FailureKind::Limit(hit), "limit"));
    record
}

struct Folder {
    folder: tempfile::TempDir,
    key: SigningKey,
}

impl Folder {
    fn new() -> Self {
        let folder =
            Self { folder: tempfile::tempdir().unwrap(), key: SigningKey::generate().unwrap() };
        record().write(folder.folder.path(), &folder.key).unwrap();
        folder
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("thread.json")
    }

    fn read(&self) -> Result<ThreadRecord, RecordError> {
        ThreadRecord::read(self.folder.path(), &[self.key.public()])
    }

    /// Signs members that `write` would not write.
    fn rewrite(&self, change: impl FnOnce(&mut Map<String, Value>)) {
        let mut value: Value =
            serde_json::from_str(&fs::read_to_string(self.path()).unwrap()).unwrap();
        change(value.as_object_mut().unwrap());
        let signed = sign_json(&value, &self.key, record().updated.timestamp()).unwrap();
        fs::write(self.path(), signed.to_string()).unwrap();
    }
}

#[test]
fn is_read_as_it_was_written() {
    let folder = Folder::new();
    assert_eq!(folder.read().unwrap(), record());
    let names: Vec<String> = fs::read_dir(folder.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names, ["thread.json"], "no temporary file is left");
}

#[test]
fn a_later_write_replaces_it() {
    let folder = Folder::new();
    let mut record = record();
    record.state = ThreadState::Completed;
    record.failure = None;
    record.outputs = Some(Map::from_iter([("score".to_owned(), json!(1.5))]));
    record.write(folder.folder.path(), &folder.key).unwrap();
    assert_eq!(folder.read().unwrap(), record);
}

#[test]
fn members_of_a_newer_version_survive() {
    let folder = Folder::new();
    folder.rewrite(|members| drop(members.insert("lease".to_owned(), json!({"until": 3}))));
    let read = folder.read().unwrap();
    read.write(folder.folder.path(), &folder.key).unwrap();
    let text = fs::read_to_string(folder.path()).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["lease"], json!({"until": 3}));
    assert_eq!(folder.read().unwrap(), read);
}

#[test]
fn an_edit_is_refused() {
    let folder = Folder::new();
    let text = fs::read_to_string(folder.path()).unwrap();
    fs::write(folder.path(), text.replace("\"cost_nanos\": 5", "\"cost_nanos\": 4")).unwrap();
    let path = folder.path();
    assert_eq!(
        folder.read().unwrap_err().to_string(),
        format!("`{}` is not as a run wrote it; do not rely on it", path.display())
    );
    let stranger = SigningKey::generate().unwrap();
    record().write(folder.folder.path(), &stranger).unwrap();
    assert!(matches!(folder.read(), Err(RecordError::Unverified { .. })));
}

#[track_caller]
fn check_malformed(change: impl FnOnce(&mut Map<String, Value>), problem: &str) {
    let folder = Folder::new();
    folder.rewrite(change);
    let path = folder.path();
    assert_eq!(
        folder.read().unwrap_err().to_string(),
        format!("`{}` is not a thread record of version 1: {problem}", path.display())
    );
}

#[test]
fn what_this_version_does_not_read_is_refused() {
    check_malformed(
        |members| drop(members.insert("version".to_owned(), json!(2))),
        "it is `rye-thread` of version 2",
    );
    check_malformed(
        |members| {
            members.insert("version".to_owned(), json!(2));
            members.insert("state".to_owned(), json!("paused"));
        },
        "it is `rye-thread` of version 2",
    );
    check_malformed(
        |members| drop(members.insert("format".to_owned(), json!("x"))),
        "it is `x` of version 1",
    );
    check_malformed(|members| drop(members.shift_remove("format")), "missing field `format`");
    check_malformed(|members| drop(members.shift_remove("turns")), "missing field `turns`");
    check_malformed(
        |members| drop(members.insert("state".to_owned(), json!("paused"))),
        "`paused` is not a thread state; use `cancelled`, `completed`, `continued`, `created`, `error`, `running` or `suspended`",
    );
}

#[test]
fn a_missing_record_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = ThreadRecord::read(folder.path(), &[]).unwrap_err();
    let path = folder.path().join("thread.json");
    assert_eq!(
        error.to_string(),
        format!("cannot read `{}`; name a thread that exists", path.display())
    );
}

/// A repository may supply a thread's folder with a link to a file of the operator.
#[cfg(unix)]
#[test]
fn writing_follows_no_link_that_waits_for_it() {
    let folder = Folder::new();
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    let temporary = folder.path().with_extension("json.0.tmp");
    std::os::unix::fs::symlink(elsewhere.path(), temporary).unwrap();
    record().write(folder.folder.path(), &folder.key).unwrap();
    assert_eq!(fs::read(elsewhere.path()).unwrap(), b"");
    assert_eq!(folder.read().unwrap(), record());
}

/// A killed program leaves its own temporary record, and no other file is removed.
#[test]
fn what_was_not_finished_is_removed() {
    let folder = Folder::new();
    let rows = ["thread.json", "thread.json.1.tmp", "thread.json.tmp", "transcript.jsonl", "x.tmp"];
    for name in rows {
        fs::write(folder.folder.path().join(name), "").unwrap();
    }
    ThreadRecord::remove_unfinished(folder.folder.path());
    let left = fs::read_dir(folder.folder.path()).unwrap();
    let mut left: Vec<String> =
        left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["thread.json", "transcript.jsonl", "x.tmp"]);
}

#[test]
fn a_write_that_fails_leaves_nothing() {
    let folder = Folder::new();
    fs::remove_file(folder.path()).unwrap();
    fs::create_dir(folder.path()).unwrap();
    let error = record().write(folder.folder.path(), &folder.key).unwrap_err();
    assert!(matches!(error, RecordError::Write { .. }), "{error}");
    assert_eq!(fs::read_dir(folder.folder.path()).unwrap().count(), 1);
}

/// Inputs and outputs may be long. What is longer, or takes far more memory than its bytes, is not read.
#[test]
fn a_record_is_read_up_to_its_bounds() {
    let folder = Folder::new();
    let mut long = record();
    long.facts.insert("text".to_owned(), json!("x".repeat(2 * 1024 * 1024)));
    long.write(folder.folder.path(), &folder.key).unwrap();
    assert_eq!(folder.read().unwrap(), long);
    let many = |values: usize| {
        fs::write(folder.path(), format!("[{}0]", "0,".repeat(values - 1))).unwrap();
        ThreadRecord::read_bytes(folder.folder.path()).map_err(|error| error.to_string())
    };
    assert_eq!(many(2_000_000).map(|bytes| bytes.len()), Ok(4_000_001));
    assert_eq!(many(2_000_001), Err("it holds more than 2000000 values".to_owned()));
    File::options().write(true).open(folder.path()).unwrap().set_len((32 << 20) + 1).unwrap();
    assert!(ThreadRecord::read_bytes(folder.folder.path()).is_err());
}

#[test]
fn a_record_is_read_with_the_id_of_its_key() {
    let folder = Folder::new();
    let keys = [SigningKey::generate().unwrap().public(), folder.key.public()];
    let (read, key_id) = ThreadRecord::read_signed(folder.folder.path(), &keys).unwrap();
    assert_eq!((read, &key_id), (record(), folder.key.public().key_id()));
}
