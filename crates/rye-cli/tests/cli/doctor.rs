//! `rye doctor`: what it finds, and what it says to do.

#[cfg(feature = "git")]
mod revisions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::session::Session;

const PRIVATE: &str = ".ai/config/keys/signing/private_key.pem";

/// Checks that the finding and its advice are told, with this exit code.
#[track_caller]
fn check(session: &Session, variables: &[(&str, &str)], finding: [&str; 2], code: i32) {
    is_told(&session.rye_with("doctor", variables), finding, code);
}

#[track_caller]
fn is_told(output: &str, finding: [&str; 2], code: i32) {
    let squeezed = output.split_whitespace().collect::<Vec<_>>().join(" ");
    let [text, advice] = finding;
    let told = if advice.is_empty() { text.to_owned() } else { format!("{text} to do: {advice}") };
    assert!(squeezed.contains(&told), "{told}\n{output}");
    assert!(output.ends_with(&format!("--- exit {code}\n")), "{output}");
}

#[test]
fn a_machine_that_is_ready() {
    let session = Session::new();
    session.rye("keys import KEY --owner example");
    let found = session.rye_with("doctor", &[("ANTHROPIC_API_KEY", "sk-secret")]);
    insta::assert_snapshot!(without_sandbox(&found));
    let data = session.rye_with("doctor --json", &[("ANTHROPIC_API_KEY", "sk-secret")]);
    assert!(data.contains("\"ok\": true") && !data.contains("sk-secret"), "{data}");
}

#[test]
fn a_machine_that_is_new() {
    insta::assert_snapshot!(without_sandbox(&Session::new().rye("doctor")));
}

/// What is found on every machine: which sandbox there is differs, but one is told.
fn without_sandbox(output: &str) -> String {
    let (before, rest) = output.split_once("  sandbox  ").expect("the sandbox is told");
    let before = &before[..before.rfind('\n').unwrap() + 1];
    format!("{before}{}", &rest[rest.find("--- standard error").unwrap()..])
}

#[test]
fn a_sandbox_that_is_wanted_and_not_there_starts_nothing() {
    let session = Session::new();
    session.put("../home/.ai/config/agent/processes.yaml", "sandbox: off\n");
    check(&session, &[("RYE_DEV_MODE", "1")], ["note sandbox none, off:", ""], 0);
}

#[test]
fn the_bounds_of_programs_are_told() {
    let session = Session::new();
    let told = |most: &str| {
        let doctor = session.rye_with("doctor", &[("RYE_DEV_MODE", "1")]);
        let squeezed = doctor.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            squeezed.contains(&format!("ok programs a call gets at most {most}, kept by")),
            "{doctor}"
        );
    };
    told("4096 MiB of memory and 1024 processes");
    session.put("../home/.ai/config/agent/processes.yaml", "memory_mib: 512\nprocesses: 64\n");
    told("512 MiB of memory and 64 processes");
}

#[test]
fn a_key_that_others_may_read() {
    let session = Session::new();
    session.rye("keys import KEY");
    let private = session.home().join(PRIVATE);
    fs::set_permissions(&private, fs::Permissions::from_mode(0o644)).unwrap();
    let found = [
        "wrong keys others on this machine may open `<DIR>/home/.ai/config/keys/signing/private_key.pem`",
        "chmod 600 '<DIR>/home/.ai/config/keys/signing/private_key.pem'; if another user did, make a new key",
    ];
    check(&session, &[], found, 1);
}

#[test]
fn a_key_that_has_ended() {
    let session = Session::new();
    session.rye("keys import KEY");
    session.rye("trust revoke 56dbf7b2d9ce86ed");
    check(&session, &[], ["wrong keys signing key 56dbf7b2d9ce86ed, which was revoked at", ""], 1);
}

#[test]
fn a_key_that_nothing_trusts() {
    let session = Session::new();
    session.rye("keys import KEY");
    session.rye("trust remove 56dbf7b2d9ce86ed");
    let found = [
        "wrong keys signing key 56dbf7b2d9ce86ed, which nothing here trusts",
        "`rye keys export > FILE` and `rye trust add FILE` trust it",
    ];
    check(&session, &[], found, 1);
}

#[test]
fn a_key_that_is_none() {
    let session = Session::new();
    session.rye("keys import KEY");
    fs::write(session.home().join(PRIVATE), "nothing").unwrap();
    check(
        &session,
        &[],
        ["wrong keys `<DIR>/home/.ai/config/keys/signing/private_key.pem`:", ""],
        1,
    );
}

#[test]
fn a_switch_that_lowers_a_guard() {
    let session = Session::new();
    let found = [
        "note trust 0 trust documents counted; unsigned items are accepted, too",
        "unset `RYE_DEV_MODE` unless you write items here",
    ];
    check(&session, &[("RYE_DEV_MODE", "1")], found, 0);
}

#[test]
fn a_provider_that_nobody_signed() {
    let session = Session::new();
    session.put(".ai/tools/rye/agent/providers/mine.yaml", "protocol: openai_chat\n");
    check(&session, &[], ["note provider mine:", ""], 0);
}

/// What is wrong is told with its place, and nothing of a file in which a secret may stand.
#[test]
fn configuration_that_does_not_parse() {
    let servers = "servers:\n  own:\n    url: https://a.test\n    auth: {env: sk-1: sk-1}\n";
    let mut told = String::new();
    for (path, text, at, is_shown) in [
        (".ai/config/mcp/servers.yaml", servers, "4:21", false),
        (".ai/config/agent/web.yaml", "credentials:\n  a: [sk-1\n  b: 1\n", "3:4", false),
        (".ai/config/agent/approval.yaml", "ask:\n  - rye.execute.*\n - a\n", "3:2", true),
        (".ai/config/trust.yaml", "grants: [\n", "2:1", true),
        (".ai/tools/rye/agent/providers/mine.yaml", "auth:\n  sk-1\n  env: sk-1\n", "3:6", false),
    ] {
        let session = Session::new();
        session.put(path, text);
        let run = session.rye("run notes/index --provider mine --trust TRUST --allow-unsigned");
        let doctor = session.rye("doctor --allow-unsigned");
        let parsed = doctor.lines().filter(|line| line.contains("parsed"));
        told.push_str(&format!("{run}{}\n", parsed.collect::<Vec<_>>().join("\n")));
        for command in ["check", "sign --key KEY"] {
            let output = session.rye(&format!("{command} {path}"));
            // A long line is broken anywhere.
            let joined: String = output.split(|c: char| c.is_whitespace() || c == '│').collect();
            assert!(joined.contains(&format!("{path}:{at}")), "{output}");
            assert_eq!(joined.contains("╭─["), is_shown, "{output}");
            assert!(!output.contains("sk-1"), "{output}");
        }
    }
    assert!(!told.contains("sk-1"), "{told}");
    insta::assert_snapshot!(told);
}

/// Every problem of every file is told at its place, and nothing that may be a secret.
#[test]
fn configuration_that_says_what_it_may_not() {
    let files = [
        (
            ".ai/config/agent/approval.yaml",
            "ask:\n  - rye.execute.tool.[\n  - rye.load.*\n  - x.\n",
        ),
        ("../home/.ai/config/agent/approval.yaml", "asks: []\nask: 3\n"),
        (
            ".ai/config/mcp/servers.yaml",
            "servers:\n  one: {url: 'https://a.test', auth: {token: sk-1}, headers: {x-key: sk-1}}\n  two: {comand: sk-1}\n",
        ),
        (
            "../home/.ai/config/mcp/servers.yaml",
            "servers:\n  three: {command: a, startup_seconds: sk-1}\n  four: sk-1\n",
        ),
    ];
    let session = Session::new();
    for (path, text) in files {
        session.put(path, text);
    }
    let told = session.rye("doctor --allow-unsigned");
    assert!(!told.contains("sk-1") && told.ends_with("--- exit 1\n"), "{told}");
    let is_of = |line: &&str| line.contains("  approval ") || line.contains("  servers ");
    let told: Vec<&str> = told.lines().filter(is_of).collect();
    insta::assert_snapshot!(told.join("\n"));
}

/// What only shows when all servers are put together is told with its place, too.
#[test]
fn servers_that_cannot_be() {
    let session = Session::new();
    let file = ".ai/config/mcp/servers.yaml";
    session.put(file, "servers:\n  own: {command: a, variables: [A]}\n  none: {}\n");
    let allowed = [("RYE_DEV_MODE", "1")];
    let found = [
        "wrong servers `<DIR>/project/.ai/config/mcp/servers.yaml` is not a valid mcp_servers file: at `/servers/own`: a \
         project may not say which variables a server is handed",
        "",
    ];
    check(&session, &allowed, found, 1);
    session.put(file, "servers:\n  own: {command: a}\n  other: {url: 'https://a.test'}\n");
    check(&session, &allowed, ["ok servers 2 MCP servers: other, own", ""], 0);
    session.put(".ai/config/agent/approval.yaml", "ask: [rye.execute.*, rye.sign.*]\n");
    check(&session, &allowed, ["ok approval calls wait for approval by 2 patterns", ""], 0);
}

#[test]
fn configuration_that_keeps_everything_from_running() {
    let session = Session::new();
    session.put(".ai/config/trust.yaml", "grants: 3\n");
    check(&session, &[], ["wrong trust", ""], 1);
}

#[test]
fn which_hosts_tools_may_reach_is_told() {
    let session = Session::new();
    check(&session, &[], ["ok web tools may reach every public host", ""], 0);
    let file = "../home/.ai/config/agent/web.yaml";
    session.put(file, "hosts: [a.example]\nports: [8443]\nprivate: ['localhost:80']\n");
    let told = "ok web tools may reach the hosts that `config/agent/web.yaml` lists, on port 8443 too, and here localhost:80";
    let variables = [("RYE_DEV_MODE", "1")];
    check(&session, &variables, [told, ""], 0);
    session.put(file, "hosts: a\n");
    check(&session, &variables, ["wrong web", ""], 1);
}

/// What records need, each with what to do about it.
#[test]
fn a_project_in_which_nothing_can_be_recorded() {
    let session = Session::new();
    session.put(".ai/threads", "This is no folder.\n");
    let found = [
        "wrong records `<DIR>/project/.ai/threads` cannot be written, so that no run can be recorded",
        "make it a folder that you may write into; until then, items can be looked at and nothing runs",
    ];
    check(&session, &[], found, 1);
}

#[test]
fn a_registry_that_cannot_be_read() {
    let session = Session::new();
    session.put(".ai/threads/registry.db", "This is no database, whatever its name says.\n");
    let found = [
        "note threads the list cannot be read: cannot use the store of threads; check the disk and the permissions of `registry.db`: the \
         database cannot be used: file is not a database: Error code 26: file is not a database",
        "`rye threads reindex` writes the list anew; so does the next run",
    ];
    is_told(&session.rye("doctor"), found, 0);
}

#[test]
fn threads_that_wait_for_somebody() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye("run notes/index --trust TRUST --provider steps");
    let found = [
        "note threads 1 thread suspended, 0 stopped",
        "`rye threads list` names them; `rye approve` or `rye deny` decides what a suspended one waits for, `rye resume` \
         goes on, `rye cancel` ends",
    ];
    is_told(&session.rye("doctor --trust TRUST"), found, 0);
    session.rye("cancel THREAD --trust TRUST");
    assert!(!session.rye("doctor").contains("suspended"));
}

/// A folder that was copied or committed has threads that no list has.
#[test]
fn threads_without_a_list_are_counted() {
    let session = Session::new();
    session.asks_before_it_writes();
    session.rye("run notes/index --trust TRUST --provider steps");
    std::fs::remove_file(session.project().join(".ai/threads/registry.db")).unwrap();
    let doctor = session.rye("doctor --trust TRUST");
    assert!(doctor.contains("note   threads    1 thread suspended, 0 stopped\n"), "{doctor}");
    let record = format!(".ai/threads/{}/thread.json", session.thread());
    session.change(&record, "suspended", "completed");
    let found = ["note threads 1 thread that cannot be read", "`rye threads verify` says why"];
    is_told(&session.rye("doctor --trust TRUST"), found, 0);
    assert!(!session.project().join(".ai/threads/registry.db").exists(), "who looks makes no list");
}

#[cfg(not(feature = "git"))]
#[test]
fn a_program_without_git_says_so_in_a_repository() {
    let session = Session::new();
    let clean = session.rye("doctor");
    assert!(!clean.contains("git"), "{clean}");
    fs::create_dir(session.project().join(".git")).unwrap();
    let found = [
        "note git this program was built without the feature `git`, so it finds no committed threads and keys",
        "`cargo install --path crates/rye-cli` in its repository installs one with it; `git ls-files` lists what is committed",
    ];
    check(&session, &[], found, 0);
}

/// A key that cannot be looked at is not told as missing, so that nobody makes another one.
#[test]
fn a_key_that_cannot_be_looked_at() {
    let session = Session::new();
    session.rye("keys import KEY");
    let private = session.home().join(PRIVATE);
    fs::remove_file(&private).unwrap();
    std::os::unix::fs::symlink(&private, &private).unwrap();
    let found =
        ["wrong keys cannot look for `<DIR>/home/.ai/config/keys/signing/private_key.pem`: ", ""];
    check(&session, &[], found, 1);
    let signed = session.rye("sign .ai/directives");
    assert!(signed.contains("cannot look for") && signed.ends_with("--- exit 1\n"), "{signed}");
}

/// Two weeks before a trust ends, those who look are told. The signatures count until then.
#[test]
#[expect(clippy::disallowed_methods, reason = "the program judges by the clock of the machine")]
fn a_trust_that_ends_soon() {
    let session = Session::new();
    let path = session.home().join(".ai/config/keys/trusted/56dbf7b2d9ce86ed.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let document = fs::read_to_string(session.trust()).unwrap();
    let (_, document) = document.split_once('\n').unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    for (days, is_told) in [(3, true), (13, true), (20, false), (400, false)] {
        let at = i64::try_from(now + days * 86_400).unwrap();
        let at = rye::types::Timestamp::from_unix(at);
        let ending = document.replacen("owner", &format!("expires = \"{at}\"\nowner"), 1);
        fs::write(&path, ending).unwrap();
        for command in ["doctor", "check"] {
            let told = session.rye(command);
            assert_eq!(
                told.contains("the trust in the key `56dbf7b2d9ce86ed` expires at"),
                is_told,
                "{days}: {told}"
            );
        }
    }
}

/// A document of this command counts, as it does for the items that are counted below.
#[test]
fn a_document_of_this_command_is_counted() {
    let told = Session::new().rye("doctor --trust TRUST");
    assert!(told.contains("trust      1 trust document counted"), "{told}");
}

/// A folder for temporary files that is not there is no refusal, and no disk space helps.
#[test]
fn a_missing_folder_for_temporary_files() {
    let session = Session::new();
    let nowhere = session.home().join("nowhere").display().to_string();
    let variables = [("TMPDIR", nowhere.as_str())];
    let told = session.rye_with("call rye/bash/bash command=true", &variables);
    assert!(
        told.contains("set `TMPDIR` to a folder outside of the project that you may write"),
        "{told}"
    );
    assert!(!told.contains("free") && told.ends_with("--- exit 1\n"), "{told}");
    let told = session.rye_with("doctor", &variables);
    assert!(
        told.contains(
            "to do: set `TMPDIR` to a folder outside of the project that you may write, or unset it"
        ),
        "{told}"
    );
}

/// Caches go where the desktop keeps them, but never into the project.
#[test]
fn caches_go_where_the_variable_says() {
    for (place, is_heeded) in [("../caches", true), ("caches", false)] {
        let session = Session::new();
        let folder = session.project().join(place);
        fs::create_dir_all(&folder).unwrap();
        let named = folder.canonicalize().unwrap().display().to_string();
        session.rye_with("search index --trust TRUST", &[("XDG_CACHE_HOME", &named)]);
        assert_eq!(folder.join("rye/search").exists(), is_heeded, "{place}");
        assert_eq!(session.home().join(".ai/cache/search").exists(), !is_heeded, "{place}");
    }
}

/// A user space that cannot be written is told.
#[cfg(unix)]
#[test]
fn a_user_space_that_cannot_be_written() {
    let session = Session::new();
    fs::write(session.home().join(".ai"), "in the way").unwrap();
    let told = session.rye("doctor");
    assert!(told.contains("home` cannot be written: keys and trust stay as they are"), "{told}");
}
