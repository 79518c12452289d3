//! Servers at addresses, from discovery to the record; the server is this program's own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use super::{SERVERS, WORK, contains, receipt, run};
use crate::session::Session;

const TOKEN: &str = "a token of the tests";

/// This program as a server of this machine, which ends with this value.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    #[expect(clippy::disallowed_methods, reason = "what is served has to be a program")]
    fn begin(session: &Session) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rye"))
            .args(["mcp", "--http", "127.0.0.1:0", "--trust", &session.trust()])
            .current_dir(session.project())
            .env_clear()
            .env("HOME", session.home())
            .env("RYE_MCP_TOKEN", TOKEN)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("listening at ").unwrap().to_owned();
        Self { child, url }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The operator's own configuration, which alone may say all of it.
fn own(session: &Session, entry: &str) {
    session.put(&format!("../home/{SERVERS}"), &format!("servers:\n  own: {entry}\n"));
}

fn rye(session: &Session, line: &str) -> String {
    session.rye_with(&format!("{line} --allow-unsigned"), &[("OWN_TOKEN", TOKEN)])
}

#[test]
fn a_server_at_an_address_is_locked_and_called_like_any_other() {
    let session = Session::new();
    let served = Served::begin(&session);
    own(&session, &format!("{{url: '{}', private: true, auth: {{env: OWN_TOKEN}}}}", served.url));
    session.put(".ai/directives/work.md", WORK);
    let shown = rye(&session, "mcp discover own --write");
    contains(&shown, 0, &["server own offers 6 tools", "not locked: nothing of it is called"]);
    contains(&rye(&session, "lock --server own"), 0, &["server own locked with 6 tools in"]);
    contains(&rye(&session, "lock --trust TRUST"), 0, &[]);
    let check = "check --locked --servers --trust TRUST";
    contains(&rye(&session, check), 0, &["server own as locked"]);
    contains(&rye(&session, "run work --provider steps"), 0, &[]);
    let receipt = receipt(&session);
    assert_eq!(receipt["content"]["id"], "notes/index", "{receipt}");
    let folder = session.project().join(".ai/threads").join(session.thread());
    let record = std::fs::read_to_string(folder.join("transcript.jsonl")).unwrap();
    assert!(!record.contains(TOKEN), "{record}");
    let message = "the variable for header `authorization` is not set";
    contains(&session.rye("mcp discover own --allow-unsigned"), 1, &[message]);
    let wrong = session.rye_with(
        "mcp discover own --allow-unsigned",
        &[("OWN_TOKEN", "another token that is long enough")],
    );
    contains(&wrong, 1, &["it wants to know who asks"]);
}

#[test]
fn what_an_entry_may_say() {
    let url = "url: 'https://mcp.example/mcp'";
    for (entry, message) in [
        ("{}", "at `/servers/own`: a server has either `command` or `url`"),
        (&format!("{{command: sh, {url}}}"), "a server has either `command` or `url`"),
        (&format!("{{{url}, args: [a], network: true}}"), "`args` has no meaning beside `url`"),
        ("{command: sh, private: true}", "`private` has no meaning beside `command`"),
        ("{url: 'http://mcp.example', auth: {env: T}}", "in clear text; use `https`"),
        ("{url: 'https://me:pw@mcp.example'}", "`url` has a user name or a password; use `auth`"),
        (
            &format!("{{{url}, auth: {{env: 'sk-live-1'}}}}"),
            "`env` in `auth` is no name of a variable; name the variable that holds the value",
        ),
        (&format!("{{{url}, headers: {{X-Key: {{env: 'sk-live-1'}}}}}}"), "`env` in `headers` is"),
        (
            &format!("{{{url}, headers: {{X-Key: {{env: A}}, x-key: {{env: B}}}}}}"),
            "header `x-key` is there twice",
        ),
        (&format!("{{{url}, auth: {{env: A}}, headers: {{Authorization: {{env: B}}}}}}"), "too"),
        (&format!("{{{url}, headers: {{Host: {{env: B}}}}}}"), "is set by the program itself"),
    ] {
        check_entry(entry, message);
    }
}

#[track_caller]
fn check_entry(entry: &str, message: &str) {
    let session = Session::new();
    own(&session, entry);
    let shown = session.rye("mcp discover own --allow-unsigned");
    contains(&shown, 1, &[message]);
    assert!(!shown.contains("sk-live"), "{shown}");
}

/// What is put where a variable's name, a header's or a mapping should be, secrets among it.
#[test]
fn what_stands_at_a_wrong_place_is_not_told() {
    let url = "url: 'https://mcp.example/mcp'";
    for (entry, message) in [
        (
            format!("{{{url}, headers: {{X-Key: sk-live-1}}}}").as_str(),
            "at `/servers/own/headers/X-Key`: what stands there is not of type \"object\"",
        ),
        (
            &format!("{{{url}, headers: sk-live-1}}"),
            "at `/servers/own/headers`: what stands there is",
        ),
        (&format!("{{{url}, auth: [sk-live-1]}}"), "at `/servers/own/auth`: what stands there is"),
        (
            &format!("{{{url}, auth: {{sk-live-1}}}}"),
            "at `/servers/own/auth`: a key that is none; valid: `env`, `header`",
        ),
        (&format!("{{{url}, auth: {{enf: sk-live-1}}}}"), "unknown key `enf`; did you mean `env`?"),
        (&format!("{{{url}, auth: {{value: sk-live-1}}}}"), "unknown key `value`; valid: `env`"),
        (
            &format!("{{{url}, auth: {{env: A, header: 'Bearer sk-live-1'}}}}"),
            "a name in `headers`, or `header` in `auth`, is that of no header",
        ),
        (
            &format!("{{{url}, headers: {{'X-Key: sk-live-1': {{env: A}}}}}}"),
            "is that of no header",
        ),
        (&format!("{{{url}, headers: {{X-Key sk-live-1}}}}"), "at `/servers/own/headers/…`: what"),
        (
            &format!("{{{url}, headers: {{X-Key: {{env: [sk-live-1]}}}}}}"),
            "at `/servers/own/headers/X-Key/env`: what stands there is not of type \"string\"",
        ),
        (
            "{url: ['https://mcp.example/?token=sk-live-1']}",
            "at `/servers/own/url`: what stands there",
        ),
        ("{command: sh, env: {A: [sk-live-1]}}", "at `/servers/own/env/A`: what stands there"),
        (
            "{command: sh, variables: [sk-live-1]}",
            "at `/servers/own/variables/0`: what stands there",
        ),
        ("{command: sh, args: sk-live-1}", "at `/servers/own/args`: what stands there is"),
        ("sk-live-1", "at `/servers/own`: what stands there is not of type \"object\""),
    ] {
        check_entry(entry, message);
    }
}

#[test]
fn a_project_asks_public_addresses_without_credentials_alone() {
    for (more, message) in [
        (", auth: {env: HOME}", "`auth` and `headers` are for the user space"),
        (", headers: {X-Key: {env: HOME}}", "`auth` and `headers` are for the user space"),
        (", private: true", "`private` is for the user space"),
    ] {
        let session = Session::new();
        session.put(SERVERS, &format!("servers: {{own: {{url: 'https://mcp.example/'{more}}}}}\n"));
        contains(&session.rye("mcp discover own --allow-unsigned"), 1, &[message]);
    }
    let session = Session::new();
    session.put(SERVERS, "servers: {own: {url: 'http://127.0.0.1/mcp'}}\n");
    let message = "`127.0.0.1:80` is refused: it is";
    contains(&session.rye("mcp discover own --allow-unsigned"), 1, &[message]);
}

#[test]
fn who_may_send_nothing_asks_no_server() {
    let session = Session::new();
    let served = Served::begin(&session);
    own(&session, &format!("{{url: '{}', private: true, auth: {{env: OWN_TOKEN}}}}", served.url));
    session.put(".ai/directives/work.md", WORK);
    contains(&rye(&session, "mcp discover own --write"), 0, &[]);
    contains(&rye(&session, "lock --server own"), 0, &[]);
    session.put("../home/.ai/config/trust.yaml", "grants: [rye.execute.tool.mcp.*]\n");
    let message = "server `own` of `<DIR>/home/.ai/config/mcp/servers.yaml` may not be asked: ";
    contains(&rye(&session, "mcp discover own"), 3, &[message]);
    contains(&run(&session), 3, &[message]);
    session.put(
        "../home/.ai/config/trust.yaml",
        "grants: [rye.execute.tool.mcp.*, rye.execute.tool.rye.web.send]\n",
    );
    contains(&rye(&session, "mcp discover own"), 0, &["as locked"]);
}
