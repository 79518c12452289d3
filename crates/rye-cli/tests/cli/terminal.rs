//! What a person sees of a run on a terminal that this test holds, and the prompt that asks them for approval.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::children::model::{Gate, Model, Says};
use crate::session::Session;
use crate::watching::DIRECTIVE;

/// The quick start, whose file is written only when somebody says so.
pub(crate) fn asking() -> Session {
    let session = Session::new();
    session.asks_before_it_writes();
    session
}

/// Both ends of a terminal.
pub(crate) fn terminal() -> (File, File) {
    let near = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&near).unwrap();
    unlockpt(&near).unwrap();
    let name = ptsname(&near, Vec::new()).unwrap().into_string().unwrap();
    let far = OpenOptions::new().read(true).write(true).open(name).unwrap();
    (near.into(), far)
}

/// Runs on a terminal and types the answer once it is asked for; what stood on the terminal, and the rest.
fn run(session: &Session, options: &[&str], answer: &[u8]) -> (String, Output) {
    run_with(session, options, &[], answer)
}

/// The same with further variables in the environment.
fn run_with(
    session: &Session,
    options: &[&str],
    variables: &[(&str, &str)],
    answer: &[u8],
) -> (String, Output) {
    let trust = session.trust();
    let words = ["run", "notes/index", "--provider", "steps", "--trust", &trust];
    typed(session, &[&words, options].concat(), variables, answer)
}

fn typed(
    session: &Session,
    words: &[&str],
    variables: &[(&str, &str)],
    answer: &[u8],
) -> (String, Output) {
    let answering = |near: &mut File| near.write_all(answer).unwrap();
    let (shown, output) = on_terminal(session, words, variables, ASKED, answering);
    (without_waiting(&shown), output)
}

/// Runs on a terminal, and does `once` when `mark` stands there; all that stood on the terminal, and the rest. Standard input
/// is the terminal too, unless nothing is waited for.
pub(crate) fn on_terminal(
    session: &Session,
    words: &[&str],
    variables: &[(&str, &str)],
    mark: &str,
    once: impl FnOnce(&mut File),
) -> (String, Output) {
    let (near, far) = terminal();
    let input = if mark.is_empty() { Stdio::null() } else { far.try_clone().unwrap().into() };
    let mut once = Some(once);
    run_on((near, far), input, session, words, variables, |shown, near| {
        if shown.contains(mark)
            && let Some(once) = once.take()
        {
            once(near);
        }
    })
}

/// Runs on a terminal where something was typed before, and types the next answer each time that the question stands there.
fn asked_again_and_again(
    session: &Session,
    words: &[&str],
    question: &str,
    (ahead, answers): (&[u8], &[&[u8]]),
) -> (String, Output) {
    let (mut near, far) = terminal();
    near.write_all(ahead).unwrap();
    let input = far.try_clone().unwrap().into();
    let mut left = answers.iter();
    run_on((near, far), input, session, words, &[], |shown, near| {
        while answers.len() - left.len() < shown.matches(question).count() {
            let Some(answer) = left.next() else { break };
            near.write_all(answer).unwrap();
        }
    })
}

/// Runs on a terminal, and passes on what stands there each time that more does.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn run_on(
    (mut near, far): (File, File),
    input: Stdio,
    session: &Session,
    words: &[&str],
    variables: &[(&str, &str)],
    mut more: impl FnMut(&str, &mut File),
) -> (String, Output) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(words).current_dir(session.project()).env_clear().env("HOME", session.home());
    command.envs(variables.iter().copied());
    command.stdin(input).stdout(Stdio::piped()).stderr(far);
    let child = command.spawn().unwrap();
    // The program's ends are then the only ones, so that reading ends with it.
    drop(command);
    let (mut shown, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = near.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
        more(&String::from_utf8_lossy(&shown), &mut near);
    }
    let shown = String::from_utf8_lossy(&shown).replace("\r\n", "\n");
    (shown, child.wait_with_output().unwrap())
}

/// A line moves until the model answers, and is gone before the answer is shown.
#[test]
fn a_line_moves_until_the_model_answers() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model =
        Model::new(move |_| Says::AfterThat(Arc::clone(&held), Box::new(Says::Text("Hi."))));
    let session = Session::new();
    session.put(".ai/tools/rye/agent/providers/slow.yaml", &model.provider());
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    let words = ["run", "notes/talk", "--provider", "slow", "--allow-unsigned"];
    let frame = "\r  / waiting for the model";
    let (shown, output) = on_terminal(&session, &words, &[], frame, |_| gate.open());
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let (before, after) = shown.split_once("\r\u{1b}[2K").unwrap();
    assert!(before.contains("\r  | waiting for the model\r  / waiting"), "{shown:?}");
    assert!(after.contains("Hi.") && !after.contains("waiting"), "{shown:?}");
    // What answers at once needs no such line, and what is no terminal gets none.
    let silent = ["run", "notes/talk", "--provider", "slow", "--allow-unsigned", "--quiet"];
    let (shown, _) = on_terminal(&session, &silent, &[], "thread", |_| {});
    assert!(!shown.contains("waiting"), "{shown:?}");
    let told = session.rye("run notes/talk --provider slow --allow-unsigned");
    assert!(!told.contains("waiting"), "{told}");
}

/// What stands on a terminal in the end that standard output goes to as well.
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn on_one_terminal(session: &Session, words: &[&str]) -> String {
    let (mut near, far) = terminal();
    let mut command = Command::new(env!("CARGO_BIN_EXE_rye"));
    command.args(words).current_dir(session.project()).env_clear().env("HOME", session.home());
    command.stdin(Stdio::null()).stdout(far.try_clone().unwrap()).stderr(far).env("NO_COLOR", "1");
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut shown, mut piece) = (Vec::new(), [0; 1024]);
    while let Ok(length @ 1..) = near.read(&mut piece) {
        shown.extend_from_slice(&piece[..length]);
    }
    assert!(child.wait().unwrap().success());
    without_waiting(&String::from_utf8_lossy(&shown).replace("\r\n", "\n"))
}

/// A file has what the model wrote, and a terminal shows it escaped.
#[test]
fn exports_bring_no_hidden_characters_to_a_terminal() {
    const HIDDEN: [char; 3] = ['\u{202e}', '\u{2066}', '\u{200b}'];
    let session = Session::new();
    let model = Model::new(|_| Says::Text("a\u{202e}b\u{2066}c\u{200b}d"));
    session.put(".ai/tools/rye/agent/providers/slow.yaml", &model.provider());
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    session.rye("run notes/talk --provider slow --allow-unsigned");
    for format in ["atif", "html", "jsonl"] {
        let words = ["threads", "export", "--last", "--format", format];
        let shown = on_one_terminal(&session, &words);
        assert!(shown.contains('a') && !shown.contains(HIDDEN), "{format}");
        let piped = session.raw(&words.join(" "));
        let piped = String::from_utf8(piped.stdout).unwrap();
        assert!(piped.contains(HIDDEN[0]) || piped.to_lowercase().contains("u+202e"), "{format}");
    }
}

/// A terminal that showed the answer while it came is not told it again as the result.
#[test]
fn the_final_answer_is_shown_once() {
    let session = Session::new();
    let model = Model::new(|_| Says::Text("It is done."));
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    for stream in ["false", "true"] {
        let config = model.provider().replace("stream: false", &format!("stream: {stream}"));
        session.put(".ai/tools/rye/agent/providers/own.yaml", &config);
        let words = ["run", "notes/talk", "--provider", "own", "--allow-unsigned"];
        let shown = on_one_terminal(&session, &words);
        assert_eq!(shown.matches("It is done.").count(), 1, "{shown}");
        // Without what is told meanwhile, the result is all that shows it.
        let quiet = on_one_terminal(&session, &[&words[..], &["--quiet"]].concat());
        assert_eq!(quiet.matches("It is done.").count(), 1, "{quiet}");
    }
}

/// Each answer costs 0.001 USD; the program that resumes the thread counts on from what it had cost.
#[test]
fn what_a_thread_came_to_so_far_is_counted_over_a_resume() {
    let model = Model::new(|asked| match asked.results().len() {
        0 => {
            Says::Calls("rye_file_system_write", serde_json::json!({ "path": "x", "content": "x" }))
        }
        _ => Says::Calls(
            "rye_agent_threads_directive_return",
            serde_json::json!({ "path": "x", "count": 0 }),
        ),
    });
    let session = asking();
    session.provider("paid", &model.provider());
    let trust = session.trust();
    let words = ["run", "notes/index", "--provider", "paid", "--allow-unsigned", "--trust", &trust];
    let (shown, output) = on_terminal(&session, &words, &[], "", |_| {});
    assert_eq!(output.status.code(), Some(4), "{shown}");
    assert!(shown.contains("1000 tokens, 0.001 USD; 0.001 USD, "), "{shown}");
    session.rye("approve THREAD --trust TRUST --allow-unsigned");
    let thread = session.thread();
    let words = ["resume", &thread, "--allow-unsigned", "--trust", &trust];
    let (shown, output) = on_terminal(&session, &words, &[], "", |_| {});
    assert_eq!(output.status.code(), Some(0), "{shown}");
    assert!(shown.contains("1000 tokens, 0.001 USD; 0.002 USD, "), "{shown}");
}

/// A person who starts the server is told what it serves, and how a client is configured for it.
#[test]
fn a_server_announces_itself_on_a_terminal() {
    let session = Session::new();
    session.rye("trust add TRUST --yes");
    let words = ["mcp", "--allow", "rye.execute.tool.rye.file-system.read"];
    let (shown, output) = on_terminal(&session, &words, &[], "", |_| {});
    assert_eq!((output.status.code(), output.stdout.len()), (Some(0), 0), "{shown}");
    let project = session.project().canonicalize().unwrap();
    let served = format!("serving {}: ", project.display());
    assert!(shown.contains(&served) && shown.contains("0 directives and 1 tool to run"), "{shown}");
    let (_, client) = shown.split_once("{\"mcpServers\"").unwrap();
    let client = format!("{{\"mcpServers\"{}", client.lines().next().unwrap());
    let client: serde_json::Value = serde_json::from_str(&client).unwrap();
    let arguments = serde_json::json!(["mcp", "--project", project]);
    assert_eq!(client["mcpServers"]["rye"]["args"], arguments);
    // A client, which is no terminal, gets its protocol alone.
    assert!(!session.rye("mcp").contains("serving"));
}

/// What is left on the terminal once the line that moves while no answer comes is gone.
fn without_waiting(shown: &str) -> String {
    let frames = ["|", "/", "-", "\\"].map(|frame| format!("\r  {frame} waiting for the model"));
    let kept = frames.iter().fold(shown.to_owned(), |kept, frame| kept.replace(frame, ""));
    kept.replace("\r\u{1b}[2K", "")
}

pub(crate) const ASKED: &str =
    "Run it? [y]es, [a]lways in this thread, [n]o, anything else: later: ";

#[track_caller]
fn check(answer: &[u8], exit: i32, decision: Option<&str>, is_written: bool) {
    let session = asking();
    let (shown, output) = run(&session, &[], answer);
    assert!(shown.contains("`rye/file-system/write` with {\n"), "{shown}");
    assert_eq!(shown.matches(ASKED).count(), 1, "{shown}");
    assert_eq!(output.status.code(), Some(exit), "{shown}");
    assert_eq!(session.project().join("INDEX.md").exists(), is_written, "{shown}");
    let record = session.rye("threads show --json");
    match decision {
        Some(decision) => {
            assert!(record.contains(&format!("\"decision\": \"{decision}\"")), "{record}");
            assert!(record.contains("\"by\": \"prompt\""), "{record}");
        }
        None => assert!(!record.contains("approval_decided"), "{record}"),
    }
    // What was asked for and what was decided are about the same arguments.
    let hashes: Vec<&str> =
        record.lines().filter(|line| line.contains("\"arguments_sha256\"")).collect();
    assert_eq!(hashes.len(), 1 + usize::from(decision.is_some()), "{record}");
    assert!(
        hashes.iter().all(|hash| hash.trim_end_matches(',') == hashes[0].trim_end_matches(','))
    );
}

#[test]
fn yes_runs_the_call() {
    check(b"y\n", 0, Some("approved"), true);
    check(b"yes\n", 0, Some("approved"), true);
    check(b"  y  \n", 0, Some("approved"), true);
    check(b"a\n", 0, Some("approved_in_thread"), true);
}

#[test]
fn no_does_not() {
    check(b"n\n", 3, Some("denied"), false);
    check(b"no\n", 3, Some("denied"), false);
}

/// Neither a yes nor a no is taken for one, and nor is a terminal that closes.
#[test]
fn anything_else_leaves_the_thread_suspended() {
    for answer in [&b"later\n"[..], b"\n", b"Y\n", b"alway\n", b"\x04"] {
        check(answer, 4, None, false);
    }
}

/// A thread whose model makes `calls` calls that wait, and whose terminal has had this typed before the first question; the rest is
/// typed at one question after the other.
#[track_caller]
fn check_answers(calls: usize, typed: (&[u8], &[&[u8]]), questions: usize, decisions: &[&str]) {
    let model = Model::new(move |asked| match asked.results().len() {
        made if made < calls => Says::Calls(
            "rye_file_system_write",
            serde_json::json!({ "path": format!("{made}.txt"), "content": "x" }),
        ),
        _ => Says::Calls(
            "rye_agent_threads_directive_return",
            serde_json::json!({ "path": "x", "count": 0 }),
        ),
    });
    let session = asking();
    session.provider("paid", &model.provider());
    let trust = session.trust();
    let words = ["run", "notes/index", "--provider", "paid", "--allow-unsigned", "--trust", &trust];
    let (shown, _) = asked_again_and_again(&session, &words, ASKED, typed);
    assert_eq!(shown.matches(ASKED).count(), questions, "{shown}");
    let record = session.rye("threads show --json");
    let records = record.split("\"approval_decided\"").skip(1);
    let decided = records.map(|it| it.split("\"decision\": \"").nth(1).unwrap());
    let decided: Vec<&str> = decided.map(|it| it.split('"').next().unwrap()).collect();
    assert_eq!(decided, decisions, "{typed:?}: {shown}");
}

/// What was typed before a question stood there answers nothing.
#[test]
fn nothing_that_was_typed_ahead_decides() {
    check_answers(3, (b"y\n", &[b"n\n", b"n\n", b"n\n"]), 3, &["denied", "denied", "denied"]);
    check_answers(3, (b"y\ny\ny\n", &[b"later\n"]), 1, &[]);
    check_answers(1, (b"y", &[b"n\n"]), 1, &["denied"]);
}

/// An answer that is given twice decides neither this call nor the next one.
#[test]
fn a_doubled_answer_decides_nothing() {
    for doubled in [&b"y\ny\n"[..], b"yy\n", b"y y\n", b"y\ny\ny\n", b"y\nn\n"] {
        let typed = [doubled, b"n\n", b"later\n"];
        check_answers(2, (b"", &typed), 3, &["denied"]);
    }
}

/// What is pasted slowly comes after its first line was refused, and before the question stands there again.
#[test]
fn the_rest_of_a_paste_answers_nothing() {
    let session = asking();
    let trust = session.trust();
    let words = ["run", "notes/index", "--trust", &trust, "--provider", "steps"];
    let (near, far) = terminal();
    let input = far.try_clone().unwrap().into();
    // Each is typed once this has been shown so often.
    let typed = [(ASKED, 1, "please look\n"), ("is decided", 1, "y\n"), (ASKED, 2, "later\n")];
    let mut typed = typed.into_iter().peekable();
    let (shown, output) = run_on((near, far), input, &session, &words, &[], |shown, near| {
        let is_next =
            |(after, times, _): &(&str, usize, _)| shown.matches(*after).count() >= *times;
        while let Some((.., text)) = typed.next_if(is_next) {
            near.write_all(text.as_bytes()).unwrap();
        }
    });
    assert_eq!((output.status.code(), shown.matches(ASKED).count()), (Some(4), 2), "{shown}");
    assert!(!session.project().join("INDEX.md").exists(), "{shown}");
}

#[test]
fn one_answer_decides_one_call() {
    check_answers(2, (b"", &[b"y\n", b"n\n"]), 2, &["approved", "denied"]);
    check_answers(2, (b"", &[b"y\ny", b"later\n"]), 2, &["approved"]);
}

/// Who names no call is shown it and asked; who names it was shown it before.
#[test]
fn an_approval_without_a_name_shows_its_call_and_asks() {
    let named = ["--call", "20"];
    for (answer, options, questions, exit) in [
        (&b"n\n"[..], &[][..], 1, 3),
        (b"\x04", &[], 1, 3),
        (b"y\n", &[], 1, 0),
        (b"y\n", &named, 0, 0),
        (b"y\n", &["--json"], 0, 0),
    ] {
        let session = asking();
        session.rye("run notes/index --trust TRUST --provider steps");
        let thread = session.thread();
        let words = [&["approve", &thread][..], options].concat();
        let question = format!("Approve this call of thread {thread}? [y/N] ");
        let (shown, output) =
            asked_again_and_again(&session, &words, &question, (b"y\n", &[answer]));
        assert_eq!(shown.matches(&question).count(), questions, "{shown}");
        let call = "`rye/file-system/write` with {\"path\":\"INDEX.md\"";
        assert_eq!(shown.contains(call), questions == 1, "{shown}");
        assert_eq!(output.status.code(), Some(exit), "{shown}");
        let is_decided = session.rye("threads show --json").contains("approval_decided");
        assert_eq!(is_decided, exit == 0, "{shown}");
    }
}

/// A question that is no approval is answered in the same way.
#[test]
fn every_question_wants_its_own_answer() {
    let session = Session::new();
    let trust = session.trust();
    let words = ["trust", "add", &trust];
    let (shown, output) =
        asked_again_and_again(&session, &words, "[y/N] ", (b"y\n", &[b"yy\n", b"n\n"]));
    assert_eq!(shown.matches("[y/N] ").count(), 2, "{shown}");
    assert_eq!(output.status.code(), Some(3), "{shown}");
    assert!(shown.contains("nothing is trusted"), "{shown}");
}

/// Who wants silence or data is not asked.
#[test]
fn nobody_is_asked_who_does_not_read_along() {
    for options in [["--quiet"], ["--json"]] {
        let session = asking();
        let (shown, output) = run(&session, &options, b"y\n");
        assert!(!shown.contains("Run it?"), "{shown}");
        assert_eq!(output.status.code(), Some(4), "{shown}");
        assert!(!session.project().join("INDEX.md").exists());
    }
}

/// What stands on the terminal after a run of the quick start, without what differs from run to run.
fn watched(options: &[&str], variables: &[(&str, &str)]) -> String {
    let session = Session::new();
    session.rye("keys generate");
    let (shown, output) = run_with(&session, options, variables, b"");
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let shown = session.steady(&shown);
    // The time that it took.
    let line = |line: &str| match (line.find(" USD, "), line.find(" s so far")) {
        (Some(from), Some(to)) => format!("{} USD, <SECONDS>{}\n", &line[..from], &line[to..]),
        _ => format!("{line}\n"),
    };
    shown.lines().map(line).collect()
}

/// Turns, calls, money and time, each as it happens.
#[test]
fn a_run_is_watched() {
    let shown = watched(&[], &[("NO_COLOR", "1")]);
    assert!(!shown.contains('\u{1b}'), "{shown}");
    insta::assert_snapshot!(shown);
}

/// Color is for terminals, and says nothing that the words do not.
#[test]
fn color_is_only_paint() {
    let painted = watched(&[], &[]);
    assert!(painted.contains("\u{1b}[2mturn 1\u{1b}[0m"), "{painted}");
    let plain = painted.replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, watched(&[], &[("NO_COLOR", "1")]));
    // An empty variable asks for nothing.
    assert_eq!(painted, watched(&[], &[("NO_COLOR", "")]));
}

#[test]
fn who_wants_silence_sees_how_it_ended() {
    let shown = watched(&["--quiet"], &[]);
    assert_eq!(shown, "thread index-<UUID> completed (4 turns, 0.00 USD)\n");
}

/// A program that reads the lines may have a person beside it.
#[test]
fn lines_for_programs_leave_the_terminal_to_people() {
    let shown = watched(&["--json"], &[("NO_COLOR", "1")]);
    assert!(shown.contains("turn 1\n") && !shown.contains("\"event\""), "{shown}");
}

/// An answer that comes in pieces is painted like any other, and what a model puts into it stays text.
#[test]
fn pieces_are_painted_and_give_no_commands() {
    let session = Session::new();
    let model = Model::new(|_| Says::Text("It is\n\u{1b}[31mred."));
    session.put(
        ".ai/tools/rye/agent/providers/pieces.yaml",
        &model.provider().replace("stream: false", "stream: true"),
    );
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    let words = ["run", "notes/talk", "--provider", "pieces", "--allow-unsigned"];
    let (shown, output) = typed(&session, &words, &[], b"");
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let painted = "\u{1b}[2m  It is\n  \\u{1b}[31mred.\u{1b}[0m\n";
    assert!(shown.contains(painted), "{shown:?}");
    // The place that the prompt goes to is told before it is sent, and once.
    let told = "warning: provider `pieces` is the project's own: requests go to ";
    assert_eq!(shown.matches(told).count(), 1, "{shown}");
    assert!(shown.find(told) < shown.find("turn 1"), "{shown}");
    let (shown, _) = typed(&session, &words, &[("NO_COLOR", "1")], b"");
    assert!(shown.contains("turn 1\n  It is\n  \\u{1b}[31mred.\n"), "{shown:?}");
    assert!(!shown.contains('\u{1b}'), "{shown:?}");
}
