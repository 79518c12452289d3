//! What a thread that searches, loads and signs is refused.

use serde_json::{Value, json};

use super::equality::{put_caller, row};
use crate::session::Session;

/// Each line of the table: the tool, its arguments, what lies there to be signed, and how the thread ends.
#[test]
fn what_a_thread_is_refused() {
    for line in include_str!("in_threads.txt").lines() {
        let columns: Vec<&str> = line.splitn(5, " | ").collect();
        let [tool, arguments, sort, what, expected] = columns.try_into().unwrap();
        let (path, text) = item(sort, what);
        let session = Session::new();
        session.put(path, &text);
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        put_caller(&session, PERMISSIONS, &[row("", tool, arguments)]);
        let ran = ran(&session);
        assert!(ran.contains(expected), "{line}: {ran}");
        assert_eq!(ran.ends_with("exit 3\n"), expected != "exit 0", "{line}: {ran}");
        let left = std::fs::read_to_string(session.project().join(path)).unwrap();
        assert_eq!(left == text, expected != "exit 0", "{line}: {left}");
    }
}

/// Runs it to its end, with everything approved.
fn ran(session: &Session) -> String {
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    if !ran.ends_with("exit 4\n") {
        return ran;
    }
    session.rye("approve THREAD --trust TRUST");
    session.rye("resume THREAD --trust TRUST")
}

const PERMISSIONS: &str = "<sign><directive>notes.*</directive><tool>*</tool><knowledge>notes.*</knowledge></sign>\
     <execute><tool>rye.file-system.read</tool></execute>";

/// A file that nobody signed, with its place in the project.
fn item(sort: &str, what: &str) -> (&'static str, String) {
    let what = what.trim_start_matches('-');
    match sort {
        "directive" => (
            ".ai/directives/notes/mine.md",
            format!(
                "# Mine\n\n```xml\n<directive name=\"mine\" version=\"1.0.0\">\n  <metadata>\n    <description>Mine.</description>\n    \
                 <category>notes</category>\n    <author>me</author>\n    {what}\n  </metadata>\n</directive>\n```\n"
            ),
        ),
        "tool" => {
            let what = what.replace(", ", "\n");
            let text = format!(
                "description: Mine.\nversion: 1.0.0\n{what}\ninput_schema: {{type: object}}\n"
            );
            (".ai/tools/notes/mine.yaml", text)
        }
        "provider" => (".ai/tools/rye/agent/providers/mine.yaml", "category: x\n".to_owned()),
        _ => ("../home/.ai/knowledge/notes/home.md", "Home.\n".to_owned()),
    }
}

/// Without the operator's key there is nothing to sign with; the key that a thread seals its own record with is not it.
#[test]
fn a_thread_signs_with_the_operator_s_key_or_not_at_all() {
    let session = Session::new();
    let text = "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n";
    session.put(".ai/knowledge/notes/mine.md", text);
    let arguments = json!({ "item_type": "knowledge", "item_id": "notes/mine" });
    let rows = [row("", "rye_sign", arguments)];
    put_caller(&session, "<sign><knowledge>notes.*</knowledge></sign>", &rows);
    std::fs::remove_file(session.home().join(".ai/config/keys/signing/private_key.pem")).unwrap();
    session.rye("run notes/calls --trust TRUST --provider steps");
    session.rye("approve THREAD --trust TRUST");
    let resumed = session.rye("resume THREAD --trust TRUST");
    assert!(resumed.contains("there is no signing key here"), "{resumed}");
    let left = std::fs::read_to_string(session.project().join(".ai/knowledge/notes/mine.md"));
    assert_eq!(left.unwrap(), text);
}
