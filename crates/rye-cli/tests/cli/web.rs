//! Tools that reach other machines, from their files to the record of what they did.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Answer, Server};
use crate::session::Session;

fn server() -> Server {
    let page = "<title>Bread</title><h1>Rye</h1>";
    Server::answering(vec![Answer::new(200, "text/html", page)])
}

/// All that it was told in `authorization`.
fn told(server: &Server) -> Vec<String> {
    let received = server.received().into_iter();
    received.filter_map(|request| request.header("authorization").map(str::to_owned)).collect()
}

const LOOK: &str = "\
description: Looks something up.
executor: http
url: http://127.0.0.1:PORT/items/{input:id}?lang=de
headers: {Accept: text/html}
input_schema:
  type: object
  properties:
    id: {type: string}
  required: [id]
  additionalProperties: false
";

/// A project whose directive fetches a page and looks something up, with what the two spaces say of the web.
fn session(server: &Server, user: &str, project: &str) -> Session {
    let session = Session::new();
    let port = server.port.to_string();
    let home = session.home().join(".ai/config/agent");
    fs::create_dir_all(&home).unwrap();
    if !user.is_empty() {
        fs::write(home.join("web.yaml"), user.replace("PORT", &port)).unwrap();
    }
    if !project.is_empty() {
        session.put(".ai/config/agent/web.yaml", project);
    }
    session.put(".ai/tools/team/look.yaml", &LOOK.replace("PORT", &port));
    let step = |tool: &str, name: &str, value: &str| {
        format!(
            "<step name=\"{name}\"><execute item_type=\"tool\" item_id=\"{tool}\"><param name=\"{name}\">{value}</param></execute></step>\n"
        )
    };
    let steps = [
        step("rye/web/fetch", "url", &format!("http://127.0.0.1:{port}/page")),
        step("team/look", "id", "a/b?c=d"),
    ];
    session.put(
        ".ai/directives/work.md",
        &format!(
            "# Work\n\n```xml\n<directive name=\"work\" version=\"1.0.0\">\n  <metadata><description>Works.</description>\n    \
             <permissions><execute><tool>rye.web.fetch</tool><tool>team.*</tool></execute>\
             <acknowledge risk=\"elevated\">A test.</acknowledge></permissions></metadata>\n</directive>\n```\n\n<process>\n{}</process>\n",
            steps.concat()
        ),
    );
    session
}

const RUN: &str = "run work --allow-unsigned --provider steps";

/// The contents of all receipts, in order.
fn receipts(session: &Session) -> Vec<Value> {
    let path =
        session.project().join(".ai/threads").join(session.thread()).join("transcript.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let all = all.filter(|record| record["event"] == "tool_call_result");
    all.map(|record| record["payload"]["content"].clone()).collect()
}

#[test]
fn what_the_operator_allows_is_asked_and_recorded() {
    let server = server();
    let session = session(&server, "private: ['127.0.0.1:PORT']\n", "");
    let shown = session.rye(RUN);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    assert_eq!(server.lines(), ["GET /page", "GET /items/a%2Fb%3Fc%3Dd?lang=de"]);
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", server.port);
    let page = json!({ "url": at("/page"), "status": 200, "content_type": "text/html", "title": "Bread", "content": "# Rye" });
    let item = json!({ "url": at("/items/a%2Fb%3Fc%3Dd?lang=de"), "status": 200, "content_type": "text/html",
        "body": "<title>Bread</title><h1>Rye</h1>" });
    assert_eq!(receipts(&session), [page, item]);
}

#[test]
fn nothing_of_this_machine_is_asked_otherwise() {
    let server = server();
    let session = session(&server, "", "");
    let shown = session.rye(RUN);
    let refused = format!("`127.0.0.1:{}` is refused: it is a loopback address", server.port);
    assert!(shown.contains(&refused), "{shown}");
    assert_eq!(server.lines(), [""; 0]);
}

/// What the operator's file says and what a project's does, and what comes of it.
#[track_caller]
fn check(user: &str, project: &str, expected: &str) {
    let server = server();
    let session = session(&server, user, project);
    let shown = session.rye(RUN);
    assert!(shown.contains(expected), "{shown}");
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn a_project_can_only_leave_out_more() {
    let user = "private: ['127.0.0.1:PORT']\n";
    let not_for_projects = "a project may not allow ports or private hosts";
    let to_nobody = "a project may not say who gets a secret; `credentials` is for the user space";
    check(user, "credentials: {team: {env: HOME, origins: ['https://evil.test']}}\n", to_nobody);
    check(user, "credentials: {}\n", to_nobody);
    check("", "private: ['127.0.0.1:80']\n", not_for_projects);
    check("", "ports: [8080]\n", not_for_projects);
    check(user, "hosts: [example.org]\n", "`127.0.0.1` is not among the hosts");
    check(
        &format!("{user}hosts: [example.org]\n"),
        "hosts: ['*']\n",
        "`127.0.0.1` is not among the hosts",
    );
    check(user, "hosts: []\n", "`127.0.0.1` is not among the hosts");
    check("hosts: ['http://x']\n", "", "`http://x` is no host");
    check("private: [localhost]\n", "", "`localhost` is no host with a port");
    check("port: [1]\n", "", "unknown key `port`; did you mean `ports`?");
}

#[test]
fn a_manifest_that_lets_an_argument_choose_the_host_is_not_offered() {
    let server = server();
    let session = session(&server, "private: ['127.0.0.1:PORT']\n", "");
    let tool = LOOK.replace("http://127.0.0.1:PORT/items/{input:id}", "http://{input:id}/items");
    session.put(".ai/tools/team/look.yaml", &tool);
    let shown = session.rye(RUN);
    assert!(
        shown.contains(
            "tool `team/look` is granted but not offered: its `url` has a place before the path"
        ),
        "{shown}"
    );
}

const SECRET: &str = "CANARY-5b1e";

/// Who gets the secret of the team, as the operator's file says it.
const TEAM: &str = "private: ['127.0.0.1:PORT']\ncredentials:\n  team: {env: TEAM_TOKEN, origins: ['http://127.0.0.1:PORT']}\n";

fn with_credential(session: &Session, server: &Server, name: &str) {
    let tool = LOOK.replace("PORT", &server.port.to_string());
    session.put(".ai/tools/team/look.yaml", &format!("{tool}credential: {name}\n"));
}

/// Every file of the project and the home folder.
fn kept(folder: &std::path::Path) -> Vec<u8> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| if path.is_dir() { kept(&path) } else { fs::read(path).unwrap() })
        .collect()
}

#[test]
fn a_secret_reaches_its_server_and_nothing_else() {
    let variables = [("TEAM_TOKEN", SECRET), ("RUST_LOG", "trace")];
    for options in ["", " --json"] {
        let server = server();
        let session = session(&server, TEAM, "");
        with_credential(&session, &server, "team");
        let shown = session.rye_with(&format!("{RUN}{options}"), &variables);
        assert!(shown.ends_with("--- exit 0\n"), "{shown}");
        assert_eq!(told(&server), [format!("Bearer {SECRET}")]);
        assert!(!shown.contains(SECRET), "{shown}");
        let shown = session.rye_with("threads show THREAD --json", &variables);
        assert!(shown.contains("team/look") && !shown.contains(SECRET), "{shown}");
        for format in ["html", "jsonl"] {
            let file =
                session.rye_with(&format!("threads export THREAD --format {format}"), &variables);
            assert!(file.contains("team/look") && !file.contains(SECRET), "{format}");
        }
        for folder in [session.project(), session.home()] {
            let kept = String::from_utf8_lossy(&kept(&folder)).into_owned();
            assert!(!kept.contains(SECRET), "{}", folder.display());
        }
    }
}

#[test]
fn a_secret_that_is_not_set_is_told() {
    let server = server();
    let session = session(&server, TEAM, "");
    with_credential(&session, &server, "team");
    let shown = session.rye(RUN);
    assert!(shown.contains("the credential `team` is not set; the operator sets"), "{shown}");
    assert!(!shown.contains("TEAM_TOKEN"), "{shown}");
    assert_eq!(server.lines(), ["GET /page"]);
    let words = |shown: String| shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let found = words(session.rye_with("doctor", &[("RYE_DEV_MODE", "1")]));
    let told = "note web credential team: `TEAM_TOKEN` is not set to do: set `TEAM_TOKEN` for the tools that name it";
    assert!(found.contains(told), "{found}");
    let set = [("RYE_DEV_MODE", "1"), ("TEAM_TOKEN", SECRET)];
    let found = words(session.rye_with("doctor", &set));
    assert!(found.contains("ok web credential team: `TEAM_TOKEN` is set"), "{found}");
    assert!(!found.contains(SECRET), "{found}");
}

#[test]
fn who_may_grant_less_sends_no_secret() {
    let server = server();
    let session = session(&server, TEAM, "");
    with_credential(&session, &server, "other");
    let variables = [("TEAM_TOKEN", SECRET)];
    let shown = session.rye_with(RUN, &variables);
    let unknown =
        "tool `team/look` is granted but not offered: the operator has no credential `other`";
    assert!(shown.contains(unknown), "{shown}");
    with_credential(&session, &server, "team");
    let policy = session.home().join(".ai/config/trust.yaml");
    let grants = "rye.execute.tool.team.*, rye.execute.tool.rye.web.fetch, rye.execute.directive.*";
    fs::write(&policy, format!("grants: [{grants}]\n")).unwrap();
    let shown = session.rye_with(RUN, &variables);
    let refused = "`rye.execute.tool.rye.web.credentials.team`";
    assert!(shown.contains(refused), "{shown}");
    assert_eq!(told(&server), [""; 0]);
    fs::write(&policy, format!("grants: [{grants}, rye.execute.tool.rye.web.credentials.team]\n"))
        .unwrap();
    let shown = session.rye_with(RUN, &variables);
    assert_eq!(told(&server), [format!("Bearer {SECRET}")], "{shown}");
}

#[test]
fn a_file_that_has_the_secret_in_it_is_refused_without_it() {
    let check = |credential: &str, expected: &str| {
        let server = server();
        let session = session(&server, &format!("credentials: {{team: {credential}}}\n"), "");
        let shown = session.rye(RUN);
        assert!(shown.contains(expected), "{shown}");
        assert!(!shown.contains("sk-"), "{shown}");
    };
    check(
        "{env: sk-123, origins: ['https://a.test']}",
        "credential `team`: its `env` is not the name of an environment variable; never put a secret here",
    );
    check("{env: A, value: sk-123, origins: ['https://a.test']}", "unknown key `value`");
    check(
        "{env: A, origins: ['http://a.test']}",
        "`http://a.test` would get it in clear text; use `https`, or `http` on this machine alone",
    );
    check("{env: A}", "\"origins\" is a required property");
    check("sk-123", "at `/credentials/team`: what stands there is not of type \"object\"");
    check("{sk-123, origins: ['https://a.test']}", "at `/credentials/team`: a key that is none");
    check(
        "{env: [sk-123], origins: ['https://a.test']}",
        "at `/credentials/team/env`: what stands",
    );
    check(
        "{env: A, origins: 'https://sk-123@a.test'}",
        "at `/credentials/team/origins`: what stands",
    );
    check(
        "{env: A, origins: ['https://sk-123@a.test']}",
        "credential `team`: `…@a.test` is no origin",
    );
    check("{env: A, origins: ['https://a.test?k=sk-123']}", "`https://a.test…` is no origin");
    check(
        "{env: A, header: 'Bearer sk-123', origins: ['https://a.test']}",
        "its `header` is the name of no header that carries secrets; write the name alone, such as `X-API-Key`",
    );
    check(
        "{env: A, scheme: 'Bearer sk-123', origins: ['https://a.test']}",
        "its `scheme` is not one word of visible ASCII",
    );
    check("{env: A, origins: ['https://a.test']}, 'a sk-123': {env: A}", "a name does not match");
}
