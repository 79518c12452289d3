//! Texts of others with line ends in them: none makes a line of its own in what the program prints.

use std::fs;
use std::path::Path;

use rye::sign::{SigningKey, sign_json};
use serde_json::{Value, json};

use crate::session::{Session, example_key};

/// A value with a line end, after which stands what would be taken for a line of the program's.
const FORGED: &str = "x\nFORGED  a trusted key";

/// Signs the record of a thread anew after `change`, as whoever writes a whole repository can.
fn forge(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join("thread.json");
    let mut record: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let key = SigningKey::generate().unwrap();
    let old = record["facts"]["signed_by"]["public_key"].take();
    let pem = key.public().to_pem();
    record["facts"]["signed_by"] = json!({ "public_key": pem, "earlier": [old] });
    record["facts"].as_object_mut().unwrap().remove("token");
    change(&mut record);
    record.as_object_mut().unwrap().remove("_signature");
    let signed = sign_json(&record, &key, "2026-11-20T18:00:00Z".parse().unwrap()).unwrap();
    fs::write(&path, signed.to_string()).unwrap();
}

/// A project whose files and record have line ends wherever their author may write some.
fn hostile() -> Session {
    let session = Session::new();
    session.rye("run notes/index --provider steps --trust TRUST");
    let thread = session.project().join(".ai/threads").join(session.thread());
    forge(&thread, |record| {
        record["provider"] = FORGED.into();
        record["model"] = FORGED.into();
        record["outputs"] = json!({ FORGED: FORGED, "b": [FORGED] });
    });
    session.rye("trust policy --accept");
    for file in [
        format!(".ai/directives/{FORGED}.md"),
        format!(".ai/directives/notes/{FORGED}.md"),
        format!(".ai/config/{FORGED}.yaml"),
        format!(".ai/tools/{FORGED}.py"),
    ] {
        session.put(&file, "x");
    }
    let title = FORGED.replace('\n', "\\n");
    let text =
        format!("```yaml\nname: forged\ntitle: \"{title}\"\ntags: [\"{title}\"]\n```\n\nForged.\n");
    session.put(".ai/knowledge/notes/forged.md", &text);
    session.sign_file_as_it_is(".ai/knowledge/notes/forged.md", &example_key());
    session
}

#[test]
fn a_text_with_a_line_end_makes_no_line() {
    let session = hostile();
    for command in [
        "threads show",
        "threads verify",
        "threads tail",
        "threads list",
        "threads tree",
        "threads prune",
        "verify",
        "verify --trust TRUST",
        "search forged --trust TRUST",
        "search forged --kind knowledge --trust TRUST",
        "list --trust TRUST",
        "load notes/forged --json --trust TRUST",
        "check --trust TRUST",
        "lock --trust TRUST",
        "check --locked --trust TRUST",
        "explain notes/index --trust TRUST",
        "caps explain notes/index --trust TRUST",
        "caps tighten notes/index --trust TRUST",
        "sign .ai --key KEY",
        "trust policy",
        "trust list",
        "doctor --trust TRUST",
        "replay THREAD --trust TRUST",
        "resume THREAD --trust TRUST",
        "run notes/index --provider steps --trust TRUST",
    ] {
        let told = session.rye(command);
        let forged = told.lines().find(|line| line.starts_with("FORGED"));
        assert_eq!(forged, None, "{command}: {told}");
    }
    let shown = session.rye("threads show");
    assert!(shown.contains("x\\nFORGED  a trusted key"), "{shown}");
}

/// The id of a directive is one line, so that a record with another one is none.
#[test]
fn a_record_that_names_no_directive_is_refused() {
    let session = Session::new();
    session.rye("run notes/index --provider steps --trust TRUST");
    let thread = session.project().join(".ai/threads").join(session.thread());
    forge(&thread, |record| record["directive"] = FORGED.into());
    for command in ["threads show", "threads verify", "threads tail", "resume THREAD --trust TRUST"]
    {
        let told = session.rye(command);
        assert!(told.contains("names no directive: what it names is no id"), "{command}: {told}");
        assert!(told.ends_with("--- exit 3\n"), "{command}: {told}");
    }
}
