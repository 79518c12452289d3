//! Threads that another process drives: what it is asked for, and what it does not do.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Child;

use rye::sign::{SigningKey, sign_json};
use rye::types::Timestamp;
use serde_json::{Value, json};

use crate::session::Session;
use crate::terminal::{ASKED, asking, on_terminal};
use crate::watching::{DIRECTIVE, start};

/// A thread that waits for a model which never answers.
struct Waiting {
    session: Session,
    run: Child,
    thread: String,
    _connection: TcpStream,
}

impl Waiting {
    fn new() -> Self {
        let session = Session::new();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let models =
            "{ m: { context_window: 100000, max_output: 100, prices: { input: 0, output: 0 } } }";
        let provider =
            format!("protocol: openai_chat\nbase_url: http://{address}\nmodels: {models}\n");
        session.put(".ai/directives/notes/talk.md", DIRECTIVE);
        session.put(".ai/tools/rye/agent/providers/half.yaml", &provider);
        session.rye("keys generate");
        let signed = session.rye("sign .ai/directives/notes/talk.md .ai/tools");
        assert!(signed.ends_with("exit 0\n"), "{signed}");
        let run = start(&session, &["run", "notes/talk", "--provider", "half"]);
        // The request is sent once its record is on disk.
        let (connection, _) = listener.accept().unwrap();
        let thread = session.thread();
        Self { session, run, thread, _connection: connection }
    }

    fn folder(&self) -> PathBuf {
        self.session.project().join(".ai/threads").join(&self.thread)
    }

    fn requests(&self) -> PathBuf {
        self.session.project().join(".ai/threads/requests")
    }

    fn owner(&self) -> Value {
        serde_json::from_slice(&fs::read(self.folder().join("owner")).unwrap()).unwrap()
    }

    fn transcript(&self) -> String {
        fs::read_to_string(self.folder().join("transcript.jsonl")).unwrap()
    }

    /// What the process comes to once the thread was cancelled.
    fn check_cancelled(mut self, told: &str) {
        assert!(told.ends_with(" cancelled\n--- exit 0\n"), "{told}");
        assert_eq!(self.run.wait().unwrap().code(), Some(1));
        let ends = self.transcript().matches(r#""event":"thread_error""#).count();
        assert_eq!(ends, 1, "{}", self.transcript());
        assert!(self.transcript().contains(r#""state":"cancelled""#));
        assert_eq!(fs::read_dir(self.requests()).unwrap().count(), 0);
        let owner = fs::read(self.folder().join("owner")).unwrap();
        assert!(owner.is_empty(), "the process owns nothing any more");
    }
}

#[test]
fn rule_14_a_live_thread_is_cancelled_by_a_request() {
    let waiting = Waiting::new();
    let told = waiting.session.rye("cancel THREAD");
    waiting.check_cancelled(&told);
}

/// A tool, or a repository that was cloned, can put files where requests are. Without the operator's signature, or for another owner,
/// they end no thread.
#[test]
fn rule_14_a_forged_request_ends_nothing() {
    let waiting = Waiting::new();
    let instance = waiting.owner()["instance"].as_str().unwrap().to_owned();
    let request = |instance: &str| {
        json!({
            "format": "rye-thread-request", "instance": instance, "thread": waiting.thread,
            "action": "cancel",
        })
    };
    let stranger = SigningKey::generate().unwrap();
    let now = Timestamp::from_unix(1_795_197_600);
    let signed = |value: &Value| sign_json(value, &stranger, now).unwrap();
    let other = "0".repeat(32);
    let rows = [
        (&instance, request(&instance)),
        (&instance, signed(&request(&instance))),
        (&other, request(&other)),
    ];
    fs::create_dir_all(waiting.requests()).unwrap();
    for (number, (instance, request)) in rows.iter().enumerate() {
        let name = format!("{}.{instance}.{number}.json", waiting.thread);
        fs::write(waiting.requests().join(name), request.to_string()).unwrap();
    }
    while 0 < fs::read_dir(waiting.requests()).unwrap().count() {
        std::thread::yield_now();
    }
    assert!(!waiting.transcript().contains("thread_error"), "{}", waiting.transcript());
    let listed = waiting.session.rye("threads list --json");
    assert!(listed.contains(r#""driven_by": "process "#), "{listed}");
    let told = waiting.session.rye("cancel THREAD");
    waiting.check_cancelled(&told);
}

/// A process that hangs keeps its thread: `cancel` names the process and changes nothing.
#[test]
fn rule_15_an_owner_that_does_not_answer_is_named() {
    let waiting = Waiting::new();
    let process = rustix::process::Pid::from_child(&waiting.run);
    let signal = |it| rustix::process::kill_process(process, it).unwrap();
    signal(rustix::process::Signal::STOP);
    let before = waiting.transcript();
    let told = waiting.session.rye("cancel THREAD");
    let host = waiting.owner()["host"].as_str().unwrap().to_owned();
    let named = format!("process {} on {host} drives thread", waiting.run.id());
    assert!(told.contains(&named) && told.contains("did not do that within 5 seconds"), "{told}");
    assert!(told.ends_with("--- exit 1\n"), "{told}");
    assert_eq!(waiting.transcript(), before);
    assert_eq!(fs::read_dir(waiting.requests()).unwrap().count(), 0, "the request is withdrawn");
    signal(rustix::process::Signal::CONT);
    let told = waiting.session.rye("cancel THREAD");
    waiting.check_cancelled(&told);
}

/// While the prompt is on a terminal, another process decides.
#[test]
fn rule_14_the_call_of_a_live_thread_is_decided_by_a_request() {
    for (command, code) in [("approve THREAD", 0), ("deny THREAD --reason later", 0)] {
        let session = asking();
        session.rye("keys generate");
        let trust = session.trust();
        let words = ["run", "notes/index", "--provider", "steps", "--trust", &trust];
        let mut told = String::new();
        let (shown, output) = on_terminal(&session, &words, &[], ASKED, |_| {
            told = session.rye(command);
            assert!(told.ends_with("exit 0\n"), "{told}");
        });
        let is_approved = command.starts_with("approve");
        assert_eq!(output.status.code() == Some(code), is_approved, "{shown}");
        let folder = session.project().join(".ai/threads").join(session.thread());
        let transcript = fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
        let decisions: Vec<&str> =
            transcript.lines().filter(|line| line.contains(r#""approval_decided""#)).collect();
        assert_eq!(decisions.len(), 1, "{transcript}");
        let word = if is_approved { "approved" } else { "denied" };
        assert!(decisions[0].contains(&format!(r#""decision":"{word}""#)), "{}", decisions[0]);
        assert!(decisions[0].contains(r#""by":"command""#), "{}", decisions[0]);
    }
}
