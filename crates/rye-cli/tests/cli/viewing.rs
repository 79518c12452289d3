//! `rye view`: pages for a browser on this machine, and for nothing else.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;

use serde_json::json;

use crate::children;
use crate::children::family::{Family, PARENT};
use crate::children::model::{Asked, Gate, Model, Says};
use crate::session::Session;
use crate::watching;

/// The program while it serves. It ends when this value is dropped.
struct Served {
    child: Child,
    /// Such as `127.0.0.1:4000`.
    host: String,
    /// Such as `/<token>/threads/`.
    path: String,
}

impl Served {
    fn start(session: &Session, arguments: &[&str]) -> Self {
        let mut child = watching::start(session, &[&["view"], arguments].concat());
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let (host, path) = (host.to_owned(), format!("/{path}"));
        Self { child, host, path }
    }

    /// The response to a request with these lines, whole.
    fn ask(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.write_all(format!("{request}\r\nConnection: close\r\n\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn get(&self, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {}", self.host))
    }

    /// The same for the browser that has this cookie.
    fn get_as(&self, cookie: &str, path: &str) -> String {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: a=b; {cookie}", self.host))
    }

    /// Opens the printed address as the first browser, and returns its cookie.
    fn enter(&self) -> String {
        let page = self.get(&self.path);
        check(&page, "200", &["<meta http-equiv=\"refresh\" content=\"0;url=../thread"]);
        let (_, cookie) = page.split_once("set-cookie: ").unwrap();
        let (cookie, rules) = cookie.split_once("; ").unwrap();
        let path = self.path.split('/').nth(1).unwrap();
        let rules = rules.lines().next().unwrap();
        assert_eq!(rules, format!("Path=/{path}/; HttpOnly; SameSite=Strict"));
        cookie.to_owned()
    }

    fn below(&self, rest: &str) -> String {
        let token = self.path.split('/').nth(1).unwrap();
        format!("/{token}/{rest}")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn ran() -> Session {
    let session = Session::new();
    session.rye("keys generate");
    session.rye("run notes/index --trust TRUST --provider steps");
    session
}

#[track_caller]
fn check(response: &str, status: &str, shown: &[&str]) {
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{response}");
    for text in shown {
        assert!(response.contains(text), "`{text}` is not in {response}");
    }
}

#[test]
fn the_list_leads_to_each_thread() {
    let session = ran();
    let served = Served::start(&session, &[]);
    let thread = session.thread();
    let link = format!("href=\"../thread/{thread}\"");
    check(&served.get(&served.path), "200", &["Threads", "notes/index", "Completed", &link]);
    let page = served.get(&served.below(&format!("thread/{thread}")));
    check(
        &page,
        "200",
        &["<strong>Verified</strong>", "Turn 1", "content-security-policy: default-src 'none'"],
    );
}

/// Two threads of one directive beside each other, up to the call at which they part.
#[test]
fn two_threads_are_compared() {
    let session = ran();
    let first = session.thread();
    session.put("notes/rye.md", "# Rye\n\nAnother note.\n");
    session.rye("run notes/index --trust TRUST --provider steps");
    let served = Served::start(&session, &[]);
    let list = served.get(&served.path);
    let other = list.split("../thread/").skip(1).find_map(|rest| rest.split('"').next());
    let second = list
        .split("../thread/")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .find(|thread| *thread != first)
        .or(other)
        .unwrap();
    let page = |a: &str, b: &str| served.get(&served.below(&format!("compare/?a={a}&b={b}")));
    let differs = [
        "Compare notes/index",
        "First difference: turn 1",
        "≠",
        "Both models read the same prompt.",
    ];
    check(&page(&first, second), "200", &differs);
    check(&page(&first, &first), "200", &["No difference", "4 same, 0 different"]);
    check(&page(&first, "index-019a0000-0000-7000-8000-000000000000"), "404", &["No page"]);
    check(&served.get(&served.below("compare/")), "200", &["Choose two threads", &first, second]);
    let thread = served.get(&served.below(&format!("thread/{first}")));
    let links = [format!("../compare/?a={first}"), format!("../authority/{first}")];
    check(&thread, "200", &links.each_ref().map(String::as_str));
}

/// What was granted and what of it was used, with the block that would do.
#[test]
fn the_authority_of_a_thread_has_a_page() {
    let session = ran();
    let served = Served::start(&session, &["--trust", &session.trust()]);
    let page = served.get(&served.below(&format!("authority/{}", session.thread())));
    let shown = [
        "declared by the directive",
        "rye.execute.tool.rye.file-system.write",
        "No call was refused.",
        "&lt;permissions&gt;",
    ];
    check(&page, "200", &shown);
    assert!(!page.contains("never used"), "{page}");
}

/// The record of a call's beginning does not say yet whether the call is refused.
#[test]
fn a_refused_call_was_not_granted() {
    let model = Model::new(|asked: &Asked| match asked.results().len() {
        0 => {
            Says::Calls("rye_agent_threads_thread_directive", json!({ "directive": "other/task" }))
        }
        1 => children::write("a.txt"),
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.run("parent", "");
    let served = Served::start(&family, &[]);
    let page = served.get(&served.below(&format!("authority/{}", family.thread_of("parent"))));
    let (granted, refused) =
        page.split_once(">Granted<").unwrap().1.split_once(">Refused ").unwrap();
    assert!(granted.contains("rye.execute.tool.rye.file-system.write"), "{granted}");
    assert!(!granted.contains("other.task"), "{granted}");
    assert!(refused.contains("1 call<") && refused.contains("other.task"), "{refused}");
}

#[test]
fn the_list_is_filtered_by_its_address() {
    let session = ran();
    let served = Served::start(&session, &[]);
    for (query, is_shown) in [
        ("state=completed", true),
        ("q=notes%2Findex", true),
        ("state=error", false),
        ("q=other", false),
    ] {
        let page = served.get(&format!("{}?{query}", served.path));
        assert_eq!(page.contains("href=\"../thread/"), is_shown, "{query}");
        assert_eq!(page.contains("No thread passes these filters."), !is_shown, "{query}");
    }
}

/// A page of another origin, a name that leads here and a guessed address get nothing.
#[test]
fn only_the_own_origin_with_the_token_gets_pages() {
    let session = ran();
    let served = Served::start(&session, &["--last"]);
    let (host, path) = (&served.host, &served.path);
    let port = host.rsplit(':').next().unwrap();
    check(
        &served.ask(&format!("GET {path} HTTP/1.1\r\nHost: localhost:{port}")),
        "200",
        &["notes/index"],
    );
    check(
        &served.ask(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}")),
        "200",
        &["notes/index"],
    );
    for request in [
        format!("GET {path} HTTP/1.1\r\nHost: evil.test"),
        format!("GET {path} HTTP/1.1\r\nHost: evil.test:{port}"),
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://evil.test"),
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: null"),
        format!("GET {path} HTTP/1.1"),
        format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0"),
        format!("DELETE {path} HTTP/1.1\r\nHost: {host}"),
    ] {
        let refused = served.ask(&request);
        check(&refused, "403", &[]);
        assert!(!refused.contains("notes/index"), "{refused}");
    }
    let guessed = format!("/{}/threads/", "0".repeat(32));
    for path in [
        "/",
        "/threads/",
        &guessed,
        &served.below("threads/../threads/"),
        &served.below("thread/x"),
    ] {
        let missing = served.get(path);
        check(&missing, "404", &[]);
        assert!(!missing.contains("notes/index"), "{missing}");
    }
    for header in ["access-control-allow", "set-cookie"] {
        assert!(!served.get(path).to_ascii_lowercase().contains(header), "{header}");
    }
}

/// Nothing of a changed thread is shown, and why is said.
#[test]
fn a_changed_thread_has_no_page() {
    let session = ran();
    let thread = session.thread();
    let transcript = session.project().join(".ai/threads").join(&thread).join("transcript.jsonl");
    let text = std::fs::read_to_string(&transcript).unwrap();
    std::fs::write(&transcript, text.replacen("\"seq\":2", "\"seq\": 2", 1)).unwrap();
    let served = Served::start(&session, &[]);
    let page = served.get(&served.below(&format!("thread/{thread}")));
    check(&page, "404", &["is not as a run wrote it"]);
    assert!(!page.contains("Verified") && !page.contains("Turn 1"), "{page}");
}

/// A thread that waits for a decision about a write.
fn waiting() -> Session {
    let session = Session::new();
    session.rye("keys generate");
    session.asks_before_it_writes();
    let waits = session.rye("run notes/index --trust TRUST --provider steps");
    assert!(waits.ends_with("--- exit 4\n"), "{waits}");
    session
}

/// The value of the hidden field with the token of the call.
fn call_token(page: &str) -> String {
    let (_, rest) = page.split_once("name=\"call\" value=\"").unwrap();
    rest.split_once('"').unwrap().0.to_owned()
}

impl Served {
    /// Sends a form as a page of this origin does, or of another one, from a browser with this cookie.
    fn post(&self, cookie: &str, path: &str, origin: &str, form: &str) -> String {
        let length = form.len();
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\nContent-Length: {length}\r\nConnection: \
             close\r\n\r\n{form}",
            self.host
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }
}

/// The form holds for the call that it shows, once, and for pages of this origin alone.
#[test]
fn a_waiting_call_is_decided_on_its_page() {
    for (form, decision) in
        [("decision=approve", "approved"), ("decision=deny&reason=not+here", "denied")]
    {
        let session = waiting();
        let served = Served::start(&session, &["--approve"]);
        let (thread, own) = (session.thread(), format!("http://{}", served.host));
        let cookie = served.enter();
        let page = served.get_as(&cookie, &served.below(&format!("thread/{thread}")));
        let decide = served.below(&format!("decide/{thread}"));
        let form = format!("call={}&{form}", call_token(&page));
        check(&served.post(&cookie, &decide, "http://evil.test", &form), "403", &[]);
        check(&served.ask(&format!("POST {decide} HTTP/1.1\r\nHost: {}", served.host)), "403", &[]);
        check(&served.get(&decide), "403", &[]);
        let other = form.replacen("call=", "call=0", 1);
        check(
            &served.post(&cookie, &decide, &own, &other),
            "409",
            &["does not wait with that call any more"],
        );
        let decided = served.post(&cookie, &decide, &own, &form);
        check(&decided, "303", &[&format!("location: ../thread/{thread}?record=")]);
        check(
            &served.post(&cookie, &decide, &own, &form),
            "409",
            &["does not wait with that call any more"],
        );
        let shown = session.rye("threads show");
        assert!(shown.contains(decision), "{shown}");
        let page = served.get(&served.below(&format!("thread/{thread}")));
        check(&page, "200", &[" by page after "]);
    }
}

/// Who knows the address may read. One browser may decide: the first one that opened the address that was printed.
#[test]
fn the_address_is_not_enough_to_decide() {
    let session = waiting();
    let thread = session.thread();
    for words in [&["--approve"][..], &["--approve", "--last"]] {
        let served = Served::start(&session, words);
        let own = format!("http://{}", served.host);
        let (page, decide) =
            (served.below(&format!("thread/{thread}")), served.below(&format!("decide/{thread}")));
        let wrong = served.below("enter/0123456789abcdef0123456789abcdef");
        let refused = ["this one may only read", "deny what waits"];
        check(&served.get(&wrong), "403", &refused);
        let cookie = served.enter();
        // A browser that asks again is still the one; another one is not, and is told.
        check(&served.get_as(&cookie, &served.path), "200", &["set-cookie"]);
        check(&served.get(&served.path), "403", &refused);
        check(&served.get_as(&cookie, &wrong), "403", &refused);
        let call = call_token(&served.get_as(&cookie, &page));
        let form = format!("call={call}&decision=approve");
        let code = served.path.split(['/', '?']).nth(3).unwrap();
        let token = served.path.split('/').nth(1).unwrap();
        for other in ["", "rye-decide=", &cookie[..cookie.len() - 1], &format!("x{cookie}")] {
            let read = served.get_as(other, &page);
            check(&read, "200", &["waits for a decision"]);
            assert!(!read.contains("<form class=\"decide\"") && !read.contains(&call), "{read}");
            check(&served.post(other, &decide, &own, &form), "409", &["may only read"]);
        }
        for guessed in [code, token] {
            let cookie = format!("rye-decide={guessed}");
            check(&served.post(&cookie, &decide, &own, &form), "409", &["may only read"]);
        }
        assert!(!session.rye("threads show --json").contains("approval_decided"));
    }
}

#[test]
fn nothing_is_decided_without_the_option() {
    let session = waiting();
    let served = Served::start(&session, &[]);
    let (thread, own) = (session.thread(), format!("http://{}", served.host));
    let page = served.get(&served.below(&format!("thread/{thread}")));
    check(&page, "200", &["waits for a decision"]);
    assert!(!page.contains("<form class=\"decide\""), "{page}");
    let decide = served.below(&format!("decide/{thread}"));
    let refused = served.post("rye-decide=x", &decide, &own, "call=x&decision=approve");
    check(&refused, "409", &["start it with `--approve`"]);
}

/// The first event tells the state. The event after a decision has the new records.
#[test]
fn the_page_of_a_thread_is_told_of_its_changes() {
    let session = waiting();
    let served = Served::start(&session, &[]);
    let path = served.below(&format!("events/{}?since=0", session.thread()));
    let mut stream = TcpStream::connect(&served.host).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", served.host);
    stream.write_all(request.as_bytes()).unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    let mut event = || -> serde_json::Value {
        let data = lines.find_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        serde_json::from_str(&data.unwrap()).unwrap()
    };
    let first = event();
    assert_eq!((&first["state"], &first["ended"]), (&"suspended".into(), &false.into()));
    let records = first["records"].as_u64().unwrap();
    let resumed = session.rye("approve --last --resume --trust TRUST");
    assert!(resumed.ends_with("--- exit 0\n"), "{resumed}");
    let mut has_record = false;
    let last = loop {
        let event = event();
        let parts = event["parts"].as_array().unwrap();
        has_record |= parts.iter().any(|part| part[1] == "record");
        if event["ended"] == true {
            break event;
        }
    };
    assert_eq!(last["state"], "completed");
    assert!(records < last["records"].as_u64().unwrap() && has_record, "{last}");
}

/// A page shows what the request under way may cost.
#[test]
fn the_page_of_a_running_thread_shows_what_is_reserved() {
    let gate = Arc::new(Gate::default());
    let held = Arc::clone(&gate);
    let model =
        Model::new(move |_| Says::AfterThat(Arc::clone(&held), Box::new(Says::Text("Done."))));
    let session = Session::new();
    session.provider("paid", &model.provider());
    let trust = session.trust();
    let run = ["run", "notes/index", "--provider", "paid", "--allow-unsigned", "--trust", &trust];
    let mut run = watching::start(&session, &run);
    gate.reached();
    let served = Served::start(&session, &["--trust", &trust]);
    let path = served.below(&format!("thread/{}", session.thread()));
    check(&served.get(&path), "200", &["Running", " reserved"]);
    gate.open();
    assert!(run.wait().unwrap().code().is_some());
    assert!(!served.get(&path).contains(" reserved"));
}

#[test]
fn a_project_without_threads_has_an_empty_list() {
    let session = Session::new();
    let served = Served::start(&session, &[]);
    check(&served.get(&served.path), "200", &["No thread has run in this project yet."]);
}

/// Runs `rye view` on a terminal of its own, and returns what stands there until the mark does. Then it is looked at, and killed.
#[cfg(unix)]
#[expect(clippy::disallowed_methods, reason = "a test starts the program that it looks at")]
fn view_on_terminal(
    session: &Session,
    words: &[&str],
    variables: &[(&str, &str)],
    mark: &str,
    look: impl FnOnce(&str),
) -> String {
    let (mut near, far) = crate::terminal::terminal();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_rye"));
    command.arg("view").args(words).current_dir(session.project()).env_clear();
    command.env("HOME", session.home()).envs(variables.iter().copied());
    command.stdin(std::process::Stdio::null()).stdout(far.try_clone().unwrap()).stderr(far);
    let mut child = command.spawn().unwrap();
    drop(command);
    let (mut shown, mut piece) = (String::new(), [0; 1024]);
    while !shown.contains(mark) {
        let length = near.read(&mut piece).unwrap();
        shown.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
    look(&shown);
    child.kill().unwrap();
    child.wait().unwrap();
    shown
}

/// A folder with a program that opens addresses, and a pipe that tells what it was given: its argument, the mode of that file, and the
/// file.
#[cfg(target_os = "linux")]
fn opener(session: &Session) -> (PathBuf, PathBuf) {
    let programs = session.home().join("programs");
    std::fs::create_dir_all(&programs).unwrap();
    let told = programs.join("told");
    rustix::fs::mkfifoat(rustix::fs::CWD, &told, rustix::fs::Mode::RWXU).unwrap();
    let opener = programs.join("xdg-open");
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; /usr/bin/stat -c %a \"$1\"; /bin/cat \"$1\"; }} > {}\n",
        told.display()
    );
    std::fs::write(&opener, script).unwrap();
    std::fs::set_permissions(&opener, std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    (programs, told)
}

/// The arguments of a program can be read by every user of the machine, so that the address does not stand there.
#[cfg(target_os = "linux")]
#[test]
fn a_desktop_opens_the_address_without_showing_it_to_other_users() {
    let session = ran();
    let (programs, told) = opener(&session);
    let runtime = session.project().join("run");
    std::fs::create_dir_all(&runtime).unwrap();
    let path = programs.display().to_string();
    let runtime = runtime.display().to_string();
    let hidden = session.home().join(".ai/cache/programs");
    let desktop = [("PATH", path.as_str()), ("DISPLAY", ":9"), ("XDG_RUNTIME_DIR", &runtime)];
    let pipe = told.clone();
    let opened = std::thread::spawn(move || std::fs::read_to_string(pipe).unwrap());
    let shown = view_on_terminal(&session, &[], &desktop, "Ctrl-C", |_| {});
    assert!(shown.contains("opened in a browser"), "{shown}");
    let address = shown.lines().next().unwrap();
    let opened = opened.join().unwrap();
    let [argument, mode, page] = opened.splitn(3, '\n').collect::<Vec<_>>().try_into().unwrap();
    let below = argument.strip_prefix(hidden.to_str().unwrap()).unwrap();
    assert!(below.starts_with("/.rye-") && below.ends_with(".tmp/view.html"), "{argument}");
    assert_eq!(mode, "600");
    assert!(page.contains(&format!("url={address}\"")), "{page}");

    // What the killed program left is gone with the next one, whose own file is gone with the first request.
    let files = || std::fs::read_dir(&hidden).unwrap().count();
    assert_eq!(files(), 1);
    let opened = std::thread::spawn(move || std::fs::read_to_string(told).unwrap());
    view_on_terminal(&session, &["--approve"], &desktop, "only reads", |shown| {
        opened.join().unwrap();
        assert_eq!(files(), 1);
        let address = shown.lines().next().unwrap().strip_prefix("http://").unwrap();
        let (host, path) = address.split_once('/').unwrap();
        let ask = |path: &str| {
            let mut stream = TcpStream::connect(host).unwrap();
            let request =
                format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            stream.read_to_end(&mut Vec::new()).unwrap();
        };
        ask("guessed/threads/");
        assert_eq!(files(), 1);
        ask(path);
        assert_eq!(files(), 0);
    });

    // A program of the project is not taken for a browser.
    let planted = session.project().join("bin");
    std::fs::create_dir(&planted).unwrap();
    std::fs::copy(programs.join("xdg-open"), planted.join("xdg-open")).unwrap();
    let planted = planted.display().to_string();
    let others = [
        ("--port=0", vec![("PATH", planted.as_str()), desktop[1], desktop[2]]),
        ("--no-open", desktop.to_vec()),
        ("--port=0", vec![desktop[0], desktop[2]]),
        ("--port=0", [&desktop[..], &[("SSH_CONNECTION", "1")]].concat()),
    ];
    for (word, variables) in others {
        let shown = view_on_terminal(&session, &[word], &variables, "Ctrl-C", |_| {});
        assert!(shown.contains("open this address in a browser"), "{variables:?}: {shown}");
    }
}
