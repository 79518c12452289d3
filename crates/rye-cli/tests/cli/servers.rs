//! Tools of MCP servers, from discovery to the record; the server is this program's own.

mod accepting;
mod far;
#[cfg(feature = "git")]
mod revisions;

use std::fs;

use serde_json::Value;

use crate::session::Session;

const SERVERS: &str = ".ai/config/mcp/servers.yaml";

/// The server's home folder lies in the project, which is all that a sandbox surely shows.
fn servers(session: &Session, more: &str) -> String {
    let document = fs::read_to_string(session.trust()).unwrap();
    session.put("space/.ai/config/keys/trusted/56dbf7b2d9ce86ed.toml", &document);
    let program = env!("CARGO_BIN_EXE_rye");
    format!(
        "servers:\n  own:\n    command: {program}\n    args: [mcp{more}]\n    env: {{ HOME: space }}\n"
    )
}

/// A directive that loads an item through the server.
const WORK: &str = "\
# Work

```xml
<directive name=\"work\" version=\"1.0.0\">
  <metadata><description>Works.</description>
    <permissions><execute><tool>mcp.own.rye_load</tool></execute>
      <acknowledge risk=\"elevated\">A test.</acknowledge></permissions></metadata>
</directive>
```

<process>
<step name=\"a\"><execute item_type=\"tool\" item_id=\"mcp/own/rye_load\"><param name=\"item_type\">directive</param>\
<param name=\"item_id\">notes/index</param></execute></step>
</process>
";

/// A project with a server, whose tools are wrapped.
fn session() -> Session {
    let session = Session::new();
    session.put(SERVERS, &servers(&session, ""));
    session.put(".ai/directives/work.md", WORK);
    let shown = session.rye("mcp discover own --write --allow-unsigned");
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    session
}

#[track_caller]
fn contains(shown: &str, exit: u8, parts: &[&str]) {
    assert!(shown.ends_with(&format!("--- exit {exit}\n")), "{shown}");
    parts.iter().for_each(|part| assert!(shown.contains(part), "{part}: {shown}"));
}

fn run(session: &Session) -> String {
    drop(fs::remove_dir_all(session.project().join(".ai/threads")));
    session.rye("run work --allow-unsigned --provider steps")
}

fn receipt(session: &Session) -> Value {
    let path = session.project().join(".ai/threads").join(session.thread());
    let text = fs::read_to_string(path.join("transcript.jsonl")).unwrap();
    let mut records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.find(|record| record["event"] == "tool_call_result").unwrap()["payload"].take()
}

#[test]
fn a_wrapped_tool_is_called_once_its_server_is_locked() {
    let session = session();
    let command =
        "look at it with `rye mcp discover own`, then accept it with `rye lock --server own`";
    contains(&run(&session), 3, &["tool `mcp/own/rye_load` is granted but not offered", command]);
    let locked = session.rye("lock --server own --allow-unsigned");
    contains(&locked, 0, &["tool `rye_load` is new", "server own locked with 6 tools in"]);
    contains(&run(&session), 0, &[]);
    assert_eq!(receipt(&session)["content"]["id"], "notes/index");
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &[]);
    contains(&session.rye("check --locked --trust TRUST --allow-unsigned"), 0, &["as locked"]);
    let check = "check --locked --servers --trust TRUST --allow-unsigned";
    contains(&session.rye(check), 0, &["as locked, 0 changed\n", "server own as locked"]);
    contains(&run(&session), 0, &[]);
}

/// Each of the two comparisons fails the check, whatever the other finds.
#[test]
fn directives_and_servers_are_compared_together() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    let check = "check --locked --servers --trust TRUST --allow-unsigned";
    let told = ["no directive is locked", "server own as locked"];
    contains(&session.rye(check), 1, &told);
    contains(&session.rye("lock --trust TRUST --allow-unsigned"), 0, &[]);
    session.change(".ai/directives/work.md", "Works.", "Works on.");
    let told = ["directive `work` changed", ", 1 changed\n", "server own as locked"];
    contains(&session.rye(check), 1, &told);
    let answer = session.raw(&format!("{check} --json").replace("TRUST", &session.trust()));
    let answer: Value = serde_json::from_slice(&answer.stdout).unwrap();
    assert_eq!(
        (&answer["servers"][0]["ok"], &answer["summary"]["ok"]),
        (&true.into(), &false.into())
    );
    session.change(".ai/directives/work.md", "Works on.", "Works.");
    contains(&session.rye(check), 0, &[]);
    session.put(SERVERS, &servers(&session, ", --allow, rye.execute.directive.notes.index"));
    let told = "server `own` is not as locked: tool `rye_thread_cancel` is new";
    contains(&session.rye(&format!("{check} --format github")), 1, &[told]);
    session.put(SERVERS, &servers(&session, ""));
    // The directive does not use this tool.
    session.change(
        ".ai/tools/mcp/own/rye_fetch.yaml",
        "tool: \"rye_fetch\"",
        "tool: \"rye_ftech\"",
    );
    let told = ["unknown-server-tool", "1 error,", ", 0 changed\n", "server own as locked"];
    contains(&session.rye(check), 1, &told);
}

#[test]
fn a_server_that_offers_something_else_is_refused_until_somebody_accepts_it() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    session.put(SERVERS, &servers(&session, ", --allow, rye.execute.directive.notes.index"));
    let new = ["tool `rye_thread_cancel` is new", "tool `rye_thread_status` is new"];
    contains(&run(&session), 3, &["server `own` does not offer what was locked", new[0]]);
    assert_eq!(receipt(&session)["content"]["changes"], serde_json::json!(new));
    let changed = ["server own not as locked", new[0], new[1]];
    contains(&session.rye("check --locked --servers --allow-unsigned"), 1, &changed);
    contains(&session.rye("mcp discover own --allow-unsigned"), 0, &["not as locked", new[1]]);
    let told = session.rye("mcp discover own --allow-unsigned --json");
    let told: Value = serde_json::Deserializer::from_str(told.split_once('\n').unwrap().1)
        .into_iter()
        .next()
        .unwrap()
        .unwrap();
    let told = &told["servers"][0];
    assert_eq!((&told["locked"], &told["changes"][0]["change"]), (&true.into(), &new[0].into()));
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &new);
    contains(&run(&session), 0, &[]);
}

#[test]
fn a_tool_that_the_lock_of_its_server_lacks_is_an_error_of_the_check() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    let check = "check .ai/tools/mcp/own/rye_load.yaml";
    contains(&session.rye(check), 0, &["0 errors"]);
    session.change(".ai/tools/mcp/own/rye_load.yaml", "tool: \"rye_load\"", "tool: \"rye_laod\"");
    let told = [
        "the MCP server `own` offers no tool `rye_laod`; did you mean `rye_load`?",
        "not in `.ai/rye.lock`",
        "it has `rye_check`, `rye_execute`, `rye_explain`, `rye_fetch`, `rye_load`, `rye_search`",
        "`rye lock --server own` accepts that",
    ];
    contains(&session.rye(check), 1, &told);
}

#[test]
fn what_is_written_once_is_not_written_over() {
    let session = session();
    session.put(".ai/tools/mcp/own/rye_load.yaml", "mine");
    let shown = session.rye("mcp discover own --write --allow-unsigned");
    contains(&shown, 0, &["kept <DIR>/project/.ai/tools/mcp/own/rye_load.yaml"]);
    assert!(!shown.contains("wrote"), "{shown}");
    let kept = fs::read_to_string(session.project().join(".ai/tools/mcp/own/rye_load.yaml"));
    assert_eq!(kept.unwrap(), "mine");
    let shown = session.rye("mcp discover own --write --into team/own --allow-unsigned");
    contains(&shown, 0, &["wrote <DIR>/project/.ai/tools/team/own/rye_load.yaml"]);
    let checked = session.rye("check .ai/tools/team .ai/config/mcp");
    contains(&checked, 0, &["7 checked: 0 errors"]);
}

#[test]
fn what_a_server_offers_is_shown() {
    let session = Session::new();
    session.put(SERVERS, &servers(&session, ""));
    insta::assert_snapshot!(session.rye("mcp discover own --allow-unsigned"));
    insta::assert_snapshot!(session.rye("mcp discover own"));
    insta::assert_snapshot!(session.rye("mcp discover other --allow-unsigned"));
    for line in ["mcp discover onw", "lock --server onw"] {
        let message =
            "no configuration has a server `onw`; did you mean `own`? else add it to `servers`";
        contains(&session.rye(&format!("{line} --allow-unsigned")), 1, &[message]);
    }
    session.put(
        SERVERS,
        "servers: {own: {command: /bin/sh, args: [-c, 'echo no configuration >&2']}}\n",
    );
    insta::assert_snapshot!(session.rye("mcp discover own --allow-unsigned"));
    session.put(SERVERS, "servers: {own: {comand: sh}}\n");
    insta::assert_snapshot!(session.rye("mcp discover own --allow-unsigned"));
}

#[test]
fn a_project_brings_servers_and_changes_none() {
    let session = session();
    let user = session.home().join(SERVERS);
    fs::create_dir_all(user.parent().unwrap()).unwrap();
    fs::write(&user, "servers: {own: {command: 'true'}}\n").unwrap();
    let message = "a project may not change server `own` of the user space or the system; call it something else";
    contains(&run(&session), 1, &[message]);
    fs::remove_file(&user).unwrap();
    let text = servers(&session, "") + "    variables: [ANTHROPIC_API_KEY]\n";
    session.put(SERVERS, &text);
    let message = "a project may not say which variables a server is handed";
    contains(&run(&session), 1, &[message]);
}

#[test]
fn who_may_start_no_program_starts_no_server() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    let policy = session.home().join(".ai/config/trust.yaml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(&policy, "grants: [rye.execute.tool.mcp.*]\n").unwrap();
    let message =
        "server `own` of `<DIR>/project/.ai/config/mcp/servers.yaml` may not be started: ";
    contains(&run(&session), 3, &[message]);
    contains(&session.rye("mcp discover own --allow-unsigned"), 3, &[message]);
    contains(&session.rye("lock --server own --allow-unsigned"), 3, &[message]);
}

/// A server whose configuration is signed by a key that may not grant a shell is not started, and `check` says so before the run does.
#[test]
fn a_server_of_a_key_which_may_not_start_it_is_told() {
    let session = session();
    contains(&session.rye("lock --server own --allow-unsigned"), 0, &[]);
    crate::gates::apply(&session, "trust-narrow [\"rye.execute.tool.mcp.*\"]");
    crate::gates::apply(&session, &format!("sign-by-narrow {SERVERS}"));
    let reason =
        "may not be started: `rye.execute.tool.rye.bash.bash` is not allowed by the signing key";
    let told = session.rye("check --allow-unsigned --json");
    contains(&told, 1, &[reason, "\"refused-server\"", "step `a` calls `mcp/own/rye_load`"]);
    contains(&session.rye("run work --allow-unsigned --provider steps"), 3, &[reason]);
}
