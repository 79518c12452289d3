//! Commands with `--engine` before a server that says what it likes: only signed records count.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use rye::StepChain;
use rye::sign::SigningKey;
use rye::sign::chain::Head;
use rye::types::Timestamp;
use serde_json::{Value, json};

use crate::session::Session;
use crate::vouching::{records, suspended};

/// The answers of a server, and the requests that it got.
#[derive(Debug, Default)]
struct Script {
    /// The answers about the state of a thread: each of the first ones once, and then the other.
    first_standings: Vec<Value>,
    standing: Value,
    /// The end that a worker with this key signs for the thread that is started, without a record.
    ending: Option<(SigningKey, Value)>,
    /// The rows of the list of threads.
    rows: Vec<Value>,
    steps: Vec<Value>,
    /// The answer of a worker to an order or a start; `None` while no worker runs.
    worker: Option<(u16, Value)>,
    /// The number of requests that get no answer first, and of those that meet a server in trouble after them.
    lost: usize,
    troubled: usize,
    /// The answer to every request.
    refusal: Option<(u16, Value)>,
    submitted: Vec<(String, Value)>,
}

/// A server on this machine that runs until the process ends.
struct Server {
    url: String,
    script: Arc<Mutex<Script>>,
}

impl Server {
    fn new(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let script = Arc::new(Mutex::new(script));
        let shared = Arc::clone(&script);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let _unread = answer(stream, &shared);
            }
        });
        Self { url, script }
    }

    /// Returns the bodies that were submitted to a handler, each once.
    fn submitted(&self) -> Vec<Value> {
        let mut keys = Vec::new();
        let script = self.script.lock().unwrap();
        let new = script.submitted.iter().filter(|(key, _)| {
            let is_new = !keys.contains(key);
            keys.push(key.clone());
            is_new
        });
        new.map(|(_, body)| body.clone()).collect()
    }
}

fn answer(stream: TcpStream, script: &Mutex<Script>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length, mut key) = (String::new(), 0, String::new());
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().unwrap_or(0),
            "idempotency-key" => value.clone_into(&mut key),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Some((status, answer)) = reply(&first, &body, key, &mut script.lock().unwrap()) else {
        return Ok(());
    };
    let text = answer.to_string();
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    )
}

fn reply(first: &str, body: &Value, key: String, script: &mut Script) -> Option<(u16, Value)> {
    if first.contains("/send") {
        script.submitted.push((key, body.clone()));
        if let Some((key, end)) = &script.ending {
            let tree = body["thread"].as_str().unwrap();
            script.steps = vec![step(key, &mut StepChain::new(tree), &json!([]), end)];
        }
    }
    if 0 < script.lost {
        script.lost -= 1;
        return None;
    }
    if 0 < script.troubled {
        script.troubled -= 1;
        return Some((503, json!({"message": "unavailable"})));
    }
    if let Some(answer) = script.refusal.clone() {
        return Some(answer);
    }
    let path = first.split(' ').nth(1).unwrap_or_default();
    match path.rsplit('/').next().unwrap_or_default() {
        "send" => Some((202, json!({"invocationId": "inv_1a", "status": "Accepted"}))),
        // The answer of a proxy without a worker behind it.
        "attach" => Some(script.worker.clone().unwrap_or((504, Value::Null))),
        "standing" if !script.first_standings.is_empty() => {
            Some((200, script.first_standings.remove(0)))
        }
        "standing" => Some((200, script.standing.clone())),
        // A page: what is older than the thread that the request names.
        "list" if body == "" => Some((200, script.rows.clone().into())),
        "list" => Some((200, json!([]))),
        "steps" => {
            let from = usize::try_from(body.as_u64().unwrap()).unwrap();
            Some((200, script.steps.get(from..).unwrap_or_default().into()))
        }
        _ => Some((404, json!({"message": "not found"}))),
    }
}

/// A step as a worker with this key makes it.
fn step(key: &SigningKey, chain: &mut StepChain, changes: &Value, end: &Value) -> Value {
    chain.add(changes, end);
    let signature = chain.sign(key, Timestamp::from_unix(1_770_000_000)).unwrap();
    json!({"changes": changes, "end": end, "signature": signature})
}

fn operator(session: &Session) -> SigningKey {
    let path = session.home().join(".ai/config/keys/signing/private_key.pem");
    SigningKey::from_pkcs8_pem(&fs::read_to_string(path).unwrap()).unwrap()
}

/// A server that has this transcript of a thread, in a step of the operator's worker that ends so.
fn server_with(session: &Session, thread: &str, text: &str, end: &Value) -> Server {
    let changes = json!([{"thread": thread, "at": 0, "text": text}]);
    let steps = vec![step(&operator(session), &mut StepChain::new(thread), &changes, end)];
    Server::new(Script {
        standing: json!({"directive": "notes/index", "steps": 1, "end": end, "refused": null}),
        steps,
        worker: Some((200, Value::Null)),
        ..Script::default()
    })
}

fn text_of(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A thread that waits, and its records as an engine keeps them.
fn waiting() -> (Session, String, String) {
    let session = suspended();
    let thread = session.thread();
    let text = transcript(&session);
    fs::rename(session.project().join(".ai/threads"), session.home().join("threads")).unwrap();
    (session, thread, text)
}

fn transcript(session: &Session) -> String {
    let folder = session.project().join(".ai/threads").join(session.thread());
    fs::read_to_string(folder.join("transcript.jsonl")).unwrap()
}

#[track_caller]
fn check(session: &Session, server: &Server, command: &str, exit: i32, told: &[&str]) -> String {
    let shown = session.rye(&format!("{command} --engine {}", server.url));
    assert!(shown.ends_with(&format!("exit {exit}\n")), "{shown}");
    told.iter().for_each(|text| assert!(shown.contains(text), "`{text}` in {shown}"));
    shown
}

/// The name of the call that `rye approve` asks about. What is shown has no ids.
fn call_in(told: &str, thread: &str) -> String {
    let call = told.split("--call ").nth(1).unwrap().split('`').next().unwrap();
    call.replace("index-<UUID>", thread)
}

const FORGED: &str = "completed-by-nobody";

#[test]
fn an_end_without_a_record_is_no_result() {
    let session = Session::new();
    session.rye("keys generate --owner me");
    let forged = json!({"state": "completed", "outputs": {"count": FORGED}, "turns": 1});
    let script = Script {
        standing: json!({"directive": "notes/index", "steps": 1, "end": forged, "refused": null}),
        worker: Some((200, Value::Null)),
        ending: Some((operator(&session), json!({"state": "error", "failure": "no model"}))),
        ..Script::default()
    };
    let server = Server::new(script);
    let run = "run notes/index --provider steps";
    let told = ["ended without a record, as error: no model"];
    let told = check(&session, &server, run, 1, &told);
    assert!(!told.contains(FORGED), "{told}");
    let told = check(&session, &server, &format!("{run} --json --quiet"), 1, &[]);
    assert!(!told.contains(FORGED), "{told}");
    let show = format!("threads show {}", "index-019a0000-0000-7000-8000-000000000001");
    check(&session, &server, &show, 3, &["are not as workers made them"]);
    server.script.lock().unwrap().ending = Some((SigningKey::generate().unwrap(), forged));
    check(&session, &server, run, 3, &["are not as workers made them"]);
}

/// What waits, what is decided and what has ended is read from the records, whatever the server says.
#[test]
fn the_call_that_waits_is_the_recorded_one() {
    let (session, thread, text) = waiting();
    let end = json!({"state": "suspended", "asked": {
        "thread": thread, "seq": 1, "item": FORGED, "arguments": {}
    }});
    let server = server_with(&session, &thread, &text, &end);
    // Without a terminal, whoever approves sees no call.
    let told = check(&session, &server, &format!("approve {thread}"), 2, &["there is no terminal"]);
    assert!(!told.contains(FORGED), "{told}");
    assert!(told.contains("waits for approval: `rye/file-system/write` with {"), "{told}");
    assert!(server.submitted().is_empty());
    let call = call_in(&told, &thread);
    server.script.lock().unwrap().worker = None;
    check(&session, &server, &format!("approve {thread} --call {call}"), 0, &["has the order"]);
    let order = &server.submitted()[0];
    let asked: Value = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|record| record["event"] == "approval_requested")
        .unwrap();
    assert_eq!((&order["seq"], &order["thread"]), (&asked["seq"], &json!(thread)));
    let told = check(&session, &server, &format!("threads pull {thread}"), 1, &["has not ended"]);
    assert!(!told.contains("1 transcript"), "{told}");
    server.script.lock().unwrap().standing["end"] = json!({"state": "completed"});
    check(&session, &server, &format!("threads pull {thread}"), 1, &["has not ended"]);
    assert!(!session.project().join(".ai/threads").join(&thread).exists());
}

/// A server can drop an order and say that it is carried out.
#[test]
fn an_order_counts_as_carried_out_once_signed_records_say_so() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    let told = check(&session, &server, &format!("approve {thread}"), 2, &[]);
    let call = call_in(&told, &thread);
    let approve = format!("approve {thread} --call {call}");
    let commands = [approve.clone(), format!("deny {thread}"), format!("cancel {thread}")];
    for (command, told) in commands.iter().zip([
        "is approved, and its records do not",
        "is denied, and its records do not",
        "is cancelled, and by its steps it is suspended",
    ]) {
        check(&session, &server, command, 3, &[told]);
    }
    // A tree of which nothing is shown is no proof either.
    let standing = std::mem::take(&mut server.script.lock().unwrap().standing);
    server.script.lock().unwrap().standing = json!({"directive": "notes/index", "steps": 0});
    check(&session, &server, &approve, 3, &["is approved, and its records do not"]);
    check(&session, &server, &commands[2], 3, &["is cancelled, and by its steps it is running"]);
    server.script.lock().unwrap().standing = standing;
    // A worker signs its end.
    let mut chain = StepChain::new(&thread);
    chain.add(&json!([{"thread": thread, "at": 0, "text": text}]), &json!({"state": "suspended"}));
    let key = operator(&session);
    let cancelled = step(&key, &mut chain, &json!([]), &json!({"state": "cancelled"}));
    server.script.lock().unwrap().steps.push(cancelled);
    server.script.lock().unwrap().standing["steps"] = json!(2);
    check(&session, &server, &commands[2], 0, &["thread index-<UUID> cancelled"]);
    // A worker without the files of the thread is asked again, and so is each other one.
    server.script.lock().unwrap().worker = Some((421, json!({"message": "other files"})));
    let told = ["no worker carries it out yet: other files", "has the order"];
    for command in &commands {
        check(&session, &server, command, 0, &told);
    }
    let json = format!("{approve} --json --engine {}", server.url);
    let told: Value = serde_json::from_slice(&session.raw(&json).stdout).unwrap();
    assert_eq!(told["decisions"][0]["is_carried_out"], false, "{told}");
}

/// A record behind the end of a thread is chained, which needs no key. It would be the result of the run.
#[test]
fn a_text_that_was_added_behind_the_end_is_no_result() {
    let session = Session::new();
    session.rye("keys generate --owner me");
    session.rye("run notes/index --trust TRUST --provider steps");
    let (thread, text) = (session.thread(), transcript(&session));
    let mut record: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let head = text.lines().fold(Head::genesis(), |head, line| head.link(line.as_bytes()));
    record["seq"] = json!(text.lines().count());
    record["prev"] = json!(head.to_string());
    record["event"] = json!("assistant_text");
    record["payload"] = json!({ "text": FORGED });
    fs::rename(session.project().join(".ai/threads"), session.home().join("threads")).unwrap();
    let end = json!({"state": "completed"});
    let show = format!("threads show {thread}");
    check(&session, &server_with(&session, &thread, &text, &end), &show, 0, &["completed"]);
    let server = server_with(&session, &thread, &text, &end);
    let forged = format!("{text}{record}\n");
    server.script.lock().unwrap().steps[0]["changes"][0]["text"] = forged.clone().into();
    for command in ["threads show", "threads tail", "threads pull"] {
        let command = format!("{command} {thread}");
        let told = check(&session, &server, &command, 3, &["are not as workers made them"]);
        assert!(!told.contains(FORGED), "{told}");
    }
    // Nothing that no checkpoint covers counts, whatever a worker signed.
    let server = server_with(&session, &thread, &forged, &end);
    for command in ["threads show", "threads tail", "threads pull"] {
        let told = check(&session, &server, &format!("{command} {thread}"), 0, &[]);
        assert!(!told.contains(FORGED), "{told}");
    }
    assert_eq!(transcript(&session), text);
}

/// A record after the last checkpoint is chained, which needs no key.
#[test]
fn a_question_that_was_added_without_a_signature_is_not_shown() {
    let session = suspended();
    let thread = session.thread();
    let mut asked = records(&session);
    asked.pop();
    assert_eq!(asked.last().unwrap()["event"], "approval_requested");
    let end = json!({"state": "suspended", "asked": {
        "thread": thread, "seq": asked.len() - 1, "item": FORGED, "arguments": {}
    }});
    let server = server_with(&session, &thread, &text_of(&asked), &end);
    check(&session, &server, &format!("approve {thread}"), 1, &["no call of thread"]);
    for command in ["threads show", "threads tail"] {
        let told = check(&session, &server, &format!("{command} {thread}"), 0, &["thread_start"]);
        assert!(!told.contains("approval_requested"), "{told}");
    }
    assert!(server.submitted().is_empty());
}

/// What `rye threads show` says of a thread on an engine can be done there.
#[test]
fn the_commands_that_are_shown_name_the_engine_and_the_call() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    let told = check(&session, &server, &format!("threads show {thread}"), 0, &["decide "]);
    assert!(!told.contains("folder "), "{told}");
    let call = call_in(&told, &thread);
    server.script.lock().unwrap().worker = None;
    check(&session, &server, &format!("approve {thread} --call {call}"), 0, &["has the order"]);
}

/// The list of threads is not signed, so that it chooses no thread for an order by itself.
#[test]
fn an_order_about_a_thread_that_the_server_chose_is_asked_about() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    let row = json!({
        "thread": thread, "directive": "notes/index", "state": "suspended", "step": 1, "turns": 1,
        "cost_nanos": 5, "created": "2026-01-02T03:04:05Z", "updated": "2026-01-02T03:04:05Z",
    });
    server.script.lock().unwrap().rows = vec![row.clone()];
    check(&session, &server, "cancel --last", 2, &["name it by its whole id, `index-"]);
    check(&session, &server, "deny --last", 2, &["name it with `--call"]);
    assert!(server.submitted().is_empty());
    let list = format!("threads list --json --engine {}", server.url);
    let listed: Value = serde_json::from_slice(&session.raw(&list).stdout).unwrap();
    assert!(listed["threads"][0]["step"].is_null() && listed["threads"][0]["turns"] == 1);
    for (member, wrong) in [("thread", json!("x")), ("state", json!(1)), ("created", json!(null))] {
        let mut row = row.clone();
        row[member] = wrong;
        server.script.lock().unwrap().rows = vec![row];
        check(&session, &server, "threads list", 1, &["not understood"]);
    }
}

/// A server in trouble ends no command that it answered before.
#[test]
fn a_run_waits_for_a_server_in_trouble_and_for_the_records() {
    let session = Session::new();
    session.rye("keys generate --owner me");
    let standing = |end: Value| json!({"directive": "notes/index", "steps": 0, "end": end});
    let end = json!({"state": "error"});
    let mut ended = standing(end.clone());
    let script = Script {
        // It ends, and goes on before its records are read.
        first_standings: vec![ended.clone(), standing(Value::Null), standing(Value::Null)],
        standing: {
            ended["steps"] = json!(1);
            ended
        },
        ending: Some((operator(&session), end)),
        worker: Some((200, Value::Null)),
        troubled: 2,
        ..Script::default()
    };
    let server = Server::new(script);
    let run = format!("run notes/index --provider steps --json --engine {}", server.url);
    let told = session.raw(&run).stdout;
    let told: Value = serde_json::from_slice(&told).expect("one JSON value without `--quiet`");
    assert!(told["errors"].to_string().contains("ended without a record"), "{told}");
    assert_eq!(server.script.lock().unwrap().first_standings, Vec::<Value>::new());
    // A file is the one that its id refers to, there as well.
    fs::create_dir_all(session.home().join(".ai/directives/notes")).unwrap();
    let file = session.project().join(".ai/directives/notes/index.md");
    let other = session.home().join(".ai/directives/notes/index.md");
    fs::copy(file, &other).unwrap();
    let started = server.submitted().len();
    let run = format!("run {}", other.display());
    check(&session, &server, &run, 2, &[]);
    assert_eq!(server.submitted().len(), started);
    server.script.lock().unwrap().refusal = Some((401, json!({"message": "x".repeat(5_000)})));
    let told = check(&session, &server, "run notes/index", 1, &["comes from `RYE_ENGINE_TOKEN`"]);
    assert!(told.len() < 2_000, "{told}");
}

/// A server can write a whole thread with a key of its own, and can show one thread in place of another.
#[test]
fn records_of_another_key_or_tree_are_refused() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye("run notes/index --trust TRUST --provider steps");
    session.rye("keys generate --owner me");
    let thread = session.thread();
    let end = json!({"state": "suspended"});
    let server = server_with(&session, &thread, &transcript(&session), &end);
    for command in ["threads show", "threads tail", "approve", "threads pull"] {
        let told = check(&session, &server, &format!("{command} {thread}"), 3, &[]);
        assert!(told.contains("are not signed with your key"), "{told}");
    }
    assert!(server.submitted().is_empty());

    let (session, thread, text) = waiting();
    let other = "index-019a0000-0000-7000-8000-000000000001";
    let server = server_with(&session, &thread, &text, &end);
    for command in ["threads show", "approve"] {
        let told = ["are not as workers made them"];
        check(&session, &server, &format!("{command} {other}"), 3, &told);
    }
    let changes = json!([{"thread": thread, "at": 0, "text": text}]);
    let swapped = step(&operator(&session), &mut StepChain::new(other), &changes, &end);
    server.script.lock().unwrap().steps = vec![swapped];
    check(&session, &server, &format!("threads show {other}"), 3, &["of another tree"]);
    assert!(server.submitted().is_empty());
}

/// An order names a call that was shown before, so that it can be given while no worker runs.
#[test]
fn an_order_by_name_needs_no_worker() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    let hash = "0a".repeat(32);
    let call = format!("{thread}:7:{hash}:rye/file-system/write");
    let script = || server.script.lock().unwrap();
    script().worker = None;
    (script().lost, script().troubled) = (2, 1);
    let approve = format!("approve {thread} --call {call}");
    let told = check(&session, &server, &approve, 0, &["has the order"]);
    assert!(!told.contains("approved:"), "{told}");
    let submitted = server.submitted();
    // The requests that were lost, and the one that met a server in trouble, had the same key.
    assert_eq!(submitted.len(), 1);
    assert_eq!(submitted[0]["sha256"], hash);
    assert_eq!(submitted[0]["audience"], format!("{}/", server.url));
    check(
        &session,
        &server,
        &format!("approve {thread} --call x"),
        2,
        &["THREAD:RECORD:SHA256:ITEM"],
    );
    script().worker = Some((409, json!({"message": "no call of it waits"})));
    check(&session, &server, &approve, 1, &["409: no call of it waits"]);
    script().worker = None;
    check(&session, &server, &format!("cancel {thread}"), 0, &["has the order"]);
}

#[test]
fn a_command_for_an_engine_ignores_no_option() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    for command in ["approve", "deny", "cancel", "threads show", "threads pull"] {
        let command = format!("{command} {thread} --trust TRUST");
        check(&session, &server, &command, 2, &["`--trust` does nothing"]);
    }
    assert!(server.submitted().is_empty());
    server.script.lock().unwrap().worker = None;
    let deny = format!("deny {thread} --json --engine {}", server.url);
    let told = session.raw(&deny).stdout;
    let told: Value = serde_json::from_slice(&told).unwrap();
    assert_eq!(told["decisions"][0]["decision"], "denied", "{told}");
}

/// A proxy of the environment is for other machines.
#[test]
fn no_proxy_is_between_the_program_and_an_engine_of_this_machine() {
    let (session, thread, text) = waiting();
    let server = server_with(&session, &thread, &text, &json!({"state": "suspended"}));
    let show = format!("threads show {thread} --engine {}", server.url);
    let shown = session.rye_with(
        &show,
        &[("HTTP_PROXY", "http://127.0.0.1:9"), ("http_proxy", "http://127.0.0.1:9")],
    );
    assert!(shown.ends_with("exit 0\n"), "{shown}");
}
