//! Where standard output is slow, or cannot be written any more.

use std::fs;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::Arc;

use serde_json::Value;

use crate::children::family::{CHILD, Family};
use crate::children::model::{Asked, Gate, Model, Says};
use crate::children::write;
use crate::session::Session;
use crate::streaming::fitting;

/// What a pipe holds at least, which is less than one of the lines of a run.
const SMALL: usize = 4096;

/// What a command writes into a small pipe that does not wait, and that nobody reads before something is in it.
#[expect(clippy::disallowed_methods, reason = "what writes into a pipe has to be a program")]
fn written(session: &Session, arguments: &[&str]) -> (String, Option<i32>) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    rustix::pipe::fcntl_setpipe_size(&writer, SMALL).unwrap();
    let flags = rustix::fs::fcntl_getfl(&writer).unwrap();
    rustix::fs::fcntl_setfl(&writer, flags | rustix::fs::OFlags::NONBLOCK).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(arguments).current_dir(session.project()).env_clear().env("HOME", session.home());
    let mut child =
        command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
    drop(command);
    while rustix::io::ioctl_fionread(&reader).unwrap() == 0 && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    (text, child.wait().unwrap().code())
}

#[test]
fn a_pipe_that_does_not_wait_gets_all() {
    let session = Session::new();
    let (text, code) = written(&session, &["schema", "run_stream"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.as_bytes(), session.raw("schema run_stream").stdout);
}

#[test]
fn a_run_is_told_through_a_pipe_that_does_not_wait() {
    let session = Session::new();
    let trust = session.trust();
    let run = ["run", "notes/index", "--trust", &trust, "--provider", "steps", "--json"];
    let (text, code) = written(&session, &run);
    assert_eq!(code, Some(0), "{text}");
    let lines = fitting(&text);
    let path = session.project().join(".ai/threads").join(session.thread());
    let recorded = fs::read_to_string(path.join("transcript.jsonl")).unwrap();
    let recorded: Vec<Value> =
        recorded.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[1..lines.len() - 1], recorded);
}

/// Nobody can be told how it goes on, so that it waits for somebody who can.
#[test]
fn a_run_whose_output_cannot_be_written_is_stopped_as_by_a_signal() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model = Model::new(move |asked: &Asked| match asked.results().len() {
        0 => Says::AfterThat(Arc::clone(&held), Box::new(write("a.txt"))),
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    family.directive("leaf", CHILD);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let end = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let run = family.started_to("leaf", "--json", OwnedFd::from(end));
    let (reader, _) = listener.accept().unwrap();
    gate.reached();
    // With what nobody has read, the connection is reset and not ended.
    drop(reader);
    gate.open();
    insta::assert_snapshot!(family.ended(run));
    let resumed = family.rye("resume LEAF");
    assert!(resumed.ends_with("--- exit 0\n"), "{resumed}");
    assert!(family.project().join("a.txt").is_file());
}
