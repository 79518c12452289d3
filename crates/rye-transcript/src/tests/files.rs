//! What is read of files before, or without, verifying them.

use std::path::PathBuf;

use super::samples::{events, sample};
use super::*;

/// A folder of threads with one thread.
struct Folder(tempfile::TempDir);

impl Folder {
    /// Writes the transcript of the thread.
    fn new(transcript: &[u8]) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().parent().unwrap()).unwrap();
        fs::write(folder.path(), transcript).unwrap();
        folder
    }

    fn path(&self) -> PathBuf {
        self.0.path().join(thread().as_str()).join("transcript.jsonl")
    }

    fn root(&self) -> Option<ThreadId> {
        thread_root(self.0.path(), &thread())
    }
}

/// A thread whose operator has no key is verified with the keys that it names itself.
#[test]
fn the_openings_name_their_keys_in_order() {
    let mut transcript = Transcript::new(&thread());
    transcript.tell(&[start(&KEY), user("x"), resumed(&KEY, None)]);
    // The rest is not verified, and the last line is cut.
    transcript.append(&sample("ThreadResumed"));
    transcript.append(&user("y"));
    transcript.lines.extend(br#"{"event":"thread_resumed","payload":{"signed_by":"K"#);
    let pem = KEY.public().to_pem();
    let expected = [pem.clone(), pem, "K".to_owned()];
    assert_eq!(named_keys_in(&transcript.lines), expected);
    let folder = Folder::new(&transcript.lines);
    assert_eq!(named_keys(&folder.path()).unwrap(), expected);
    assert!(named_keys(&folder.0.path().join("missing")).is_err());
    for line in [
        "",
        "no JSON",
        r#"{"event":"thread_start"}"#,
        r#"{"event":"thread_start","payload":{}}"#,
        r#"{"event":"thread_start","payload":{"signed_by":7}}"#,
        r#"{"event":"user_message","payload":{"signed_by":"K"}}"#,
    ] {
        assert_eq!(named_keys_in(line.as_bytes()), [""; 0], "{line}");
    }
}

#[test]
fn the_root_of_a_thread_is_in_its_first_record() {
    let mut transcript = Transcript::new(&thread());
    transcript.tell(&[start(&KEY)]);
    assert_eq!(Folder::new(&transcript.lines).root(), Some(thread()));
    let first = transcript.text().lines().next().unwrap().to_owned();
    assert_eq!(Folder::new(first.as_bytes()).root(), Some(thread()), "its line end is missing");
    let mut other = Transcript::new(&thread());
    other.append(&user("x"));
    other.tell(&[start(&KEY)]);
    for transcript in [other.text(), String::new(), first[..first.len() - 1].to_owned()] {
        assert_eq!(Folder::new(transcript.as_bytes()).root(), None, "{transcript}");
    }
    // A newer version may write the other members in another way.
    let newer = first.replace(r#""limits":{"#, r#""limits":7,"other":{"#);
    let record = UnverifiedRecord::read(newer.as_bytes()).unwrap();
    assert!(record.event().is_none(), "{newer}");
    assert_eq!(Folder::new(newer.as_bytes()).root(), Some(thread()));
    let start = record.listed_start().unwrap();
    assert_eq!((start.created, start.parent, start.model.as_str()), (AT, None, "m"));
    let empty = tempfile::tempdir().unwrap();
    assert_eq!(thread_root(empty.path(), &thread()), None);
}

/// It holds the inputs of the thread, which may be long, but not longer than 64 MiB.
#[test]
fn a_first_line_is_read_up_to_its_bound() {
    let line = |bytes: &[u8]| first_line(&Folder::new(bytes).path()).unwrap();
    assert_eq!(line(b"a\nb\n"), b"a\n");
    assert_eq!(line(b"ab"), b"ab");
    let long = vec![b'x'; 2 * 1024 * 1024];
    assert_eq!(line(&long).len(), long.len());
    let folder = Folder::new(b"");
    fs::OpenOptions::new().write(true).open(folder.path()).unwrap().set_len(1 << 27).unwrap();
    assert_eq!(first_line(&folder.path()).unwrap().len(), 1 << 26);
}

/// A repository may supply a thread's folder with a link to a file of the operator.
#[cfg(unix)]
#[test]
fn a_link_is_no_transcript() {
    let mut transcript = Transcript::new(&thread());
    transcript.tell(&[start(&KEY)]);
    let (target, folder) = (Folder::new(&transcript.lines), Folder::new(b""));
    fs::remove_file(folder.path()).unwrap();
    std::os::unix::fs::symlink(target.path(), folder.path()).unwrap();
    assert_eq!((target.root(), folder.root()), (Some(thread()), None));
}

#[test]
fn a_line_is_read_without_its_chain() {
    let mut transcript = Transcript::new(&thread());
    transcript.append(&user("x"));
    let line = transcript.text();
    for line in [line.as_str(), line.trim_end()] {
        let record = UnverifiedRecord::read(line.as_bytes()).unwrap();
        assert_eq!((record.at(), record.thread()), (AT, &thread()));
        assert_eq!((record.directive(), record.kind()), ("greet/hello", EventKind::UserMessage));
        assert_eq!(record.event().unwrap().payload().get(), r#"{"text":"x"}"#);
    }
    for (from, to, kind) in [
        ("user_message", "dream", EventKind::Unknown),
        (r#"{"text":"x"}"#, r#"{"text":7}"#, EventKind::UserMessage),
    ] {
        let record = UnverifiedRecord::read(line.replace(from, to).as_bytes()).unwrap();
        assert_eq!((record.kind(), record.event().is_none()), (kind, true), "{to}");
    }
    for line in ["", "{}", &line[1..], &line.replace("hello-019a", "hello")] {
        assert!(UnverifiedRecord::read(line.as_bytes()).is_none(), "{line}");
    }
}

/// Arguments and contents are anything, so that a list of calls needs none of them.
#[test]
fn a_call_is_read_without_its_arguments_and_its_content() {
    let intents = ["ToolCallStart", "HookCallStart"];
    let receipts = ["ToolCallResult", "HookCallResult"];
    for (label, event) in events() {
        let mut transcript = Transcript::new(&thread());
        transcript.append(&event);
        let record = UnverifiedRecord::read(transcript.text().as_bytes()).unwrap();
        let called = record.intent().map(|intent| intent.name);
        assert_eq!(called.is_some(), intents.contains(&label), "{label}: {called:?}");
        let answered = record.receipt().map(|receipt| receipt.name);
        assert_eq!(answered.is_some(), receipts.contains(&label), "{label}: {answered:?}");
    }
}

/// The wait is not the thread's own time. Most records have none, and say nothing about it.
#[test]
fn the_wait_for_approval_is_recorded_if_there_was_one() {
    for millis in [0, 1, 250] {
        let mut transcript = Transcript::new(&thread());
        transcript.tell(&[start(&KEY)]);
        transcript.approval_wait_millis = millis;
        transcript.append(&user("x"));
        let written =
            format!(r#""payload":{{"text":"x"}},"approval_wait_millis":{millis},"prev":"#);
        assert_eq!(transcript.text().contains(&written), millis != 0, "{millis}");
        assert_eq!(transcript.text().contains("wait"), millis != 0, "{millis}");
        let wait = transcript.reading().records[2].approval_wait;
        assert_eq!(wait, Duration::from_millis(millis));
    }
}
