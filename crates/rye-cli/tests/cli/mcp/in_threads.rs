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
        let mut arguments: Value = serde_json::from_str(arguments).unwrap();
        if tool == "rye_sign" {
            arguments["sha256"] = sha256(&text);
        }
        put_caller(&session, PERMISSIONS, &[row("", tool, arguments)]);
        let ran = session.rye("run notes/calls --trust TRUST --provider steps");
        // Nobody is asked about what would be refused anyway.
        assert_eq!(ran.ends_with("exit 4\n"), expected == "exit 0", "{line}: {ran}");
        let ran = approved(&session, ran);
        assert!(ran.contains(expected), "{line}: {ran}");
        // Arguments that contradict each other, and an item with errors, are a failure of the step, and no refusal.
        let is_failure = expected.starts_with("`scope`") || expected == "has problems";
        let exit = if is_failure { "exit 1\n" } else { "exit 3\n" };
        assert_eq!(ran.ends_with(exit), expected != "exit 0", "{line}: {ran}");
        let left = std::fs::read_to_string(session.project().join(path)).unwrap();
        assert_eq!(left == text, expected != "exit 0", "{line}: {left}");
    }
}

/// What names the text.
pub(super) fn sha256(text: &str) -> Value {
    rye::sign::Digest::of(text.as_bytes()).to_string().into()
}

/// Runs it to its end, with everything approved.
fn ran(session: &Session) -> String {
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    approved(session, ran)
}

fn approved(session: &Session, ran: String) -> String {
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
    let arguments =
        json!({ "item_type": "knowledge", "item_id": "notes/mine", "sha256": sha256(text) });
    let rows = [row("", "rye_sign", arguments)];
    put_caller(&session, "<sign><knowledge>notes.*</knowledge></sign>", &rows);
    std::fs::remove_file(session.home().join(".ai/config/keys/signing/private_key.pem")).unwrap();
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    assert!(ran.contains("there is no signing key here") && !ran.ends_with("exit 4\n"), "{ran}");
    let left = std::fs::read_to_string(session.project().join(".ai/knowledge/notes/mine.md"));
    assert_eq!(left.unwrap(), text);
}

/// A plain file is context and nothing else (SPEC 17.3), whatever a thread is granted.
#[test]
fn a_thread_neither_signs_nor_reads_a_plain_file_as_an_item() {
    let everything = "<sign><knowledge>*</knowledge></sign><load><knowledge>*</knowledge></load>\
         <execute><knowledge>*</knowledge></execute>";
    for tool in ["rye_sign", "rye_load", "rye_execute"] {
        for id in ["file:AGENTS.md", "AGENTS.md", "AGENTS"] {
            let session = Session::new();
            session.put("AGENTS.md", "Use tabs.\n");
            let mut arguments = json!({ "item_type": "knowledge", "item_id": id });
            if tool == "rye_sign" {
                arguments["sha256"] = sha256("Use tabs.\n");
            }
            put_caller(&session, everything, &[row("", tool, arguments)]);
            let ran = ran(&session);
            let is_refused = ran.ends_with("exit 1\n") || ran.ends_with("exit 3\n");
            assert!(is_refused && !ran.contains("Use tabs."), "{tool} {id}: {ran}");
            assert!(!session.project().join(".ai/signed").exists(), "{tool} {id}: {ran}");
        }
    }
}

/// What another key signed has the authority of that key, which no thread changes.
#[test]
fn a_thread_signs_nothing_that_another_key_signed() {
    let session = Session::new();
    let path = ".ai/knowledge/notes/index-style.md";
    let read = || std::fs::read_to_string(session.project().join(path)).unwrap();
    let before = read();
    let arguments = json!({ "item_type": "knowledge", "item_id": "notes/index-style", "sha256": sha256(&before) });
    put_caller(
        &session,
        "<sign><knowledge>notes.*</knowledge></sign>",
        &[row("", "rye_sign", arguments)],
    );
    // Nobody is asked about it.
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    assert!(ran.contains("index-style.md` is signed by the key `56dbf7b2d9ce86ed`"), "{ran}");
    assert!(ran.ends_with("exit 3\n"), "{ran}");
    assert_eq!(read(), before);
}

const NOTE: &str = "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n";
const NOTE_PATH: &str = ".ai/knowledge/notes/mine.md";

fn note(session: &Session) -> String {
    std::fs::read_to_string(session.project().join(NOTE_PATH)).unwrap()
}

/// A thread that asks for the signature of a note, with these further arguments.
fn asking(session: &Session, more: &Value) -> String {
    session.put(NOTE_PATH, NOTE);
    let mut arguments = json!({ "item_type": "knowledge", "item_id": "notes/mine" });
    for (name, value) in more.as_object().unwrap() {
        arguments[name] = value.clone();
    }
    put_caller(
        session,
        "<sign><knowledge>notes.*</knowledge></sign>",
        &[row("", "rye_sign", arguments)],
    );
    session.rye("run notes/calls --trust TRUST --provider steps")
}

#[test]
fn what_was_approved_is_what_is_signed() {
    // Another text than the call names is not asked about.
    let session = Session::new();
    let ran = asking(&session, &json!({ "sha256": sha256("Other.") }));
    assert!(ran.contains("is another text by now") && !ran.ends_with("exit 4\n"), "{ran}");
    // What is another text by the time is not signed, be it changed before or after somebody approved, and whether the call
    // names the digest or leaves it to what is shown.
    for (change_before, named) in [(true, true), (false, true), (true, false), (false, false)] {
        let session = Session::new();
        let named = if named { json!({ "sha256": sha256(NOTE) }) } else { json!({}) };
        let ran = asking(&session, &named);
        assert!(ran.ends_with("exit 4\n") && ran.contains(sha256(NOTE).as_str().unwrap()), "{ran}");
        let other = NOTE.replace("Text", "Do as I say");
        if change_before {
            session.put(NOTE_PATH, &other);
        }
        session.rye("approve THREAD --trust TRUST");
        session.put(NOTE_PATH, &other);
        let resumed = session.rye("resume THREAD --trust TRUST");
        assert!(resumed.contains("knowledge `notes/mine` is another text by now"), "{resumed}");
        assert!(resumed.ends_with("exit 3\n"), "{resumed}");
        assert_eq!(note(&session), other);
    }
    for named in [json!({ "sha256": sha256(NOTE) }), json!({})] {
        let session = Session::new();
        asking(&session, &named);
        session.rye("approve THREAD --trust TRUST");
        let resumed = session.rye("resume THREAD --trust TRUST");
        let is_signed = note(&session).contains("rye:signed");
        assert!(resumed.ends_with("exit 0\n") && is_signed, "{resumed}");
        let replayed = session.rye("replay THREAD --trust TRUST");
        assert!(replayed.ends_with("exit 0\n"), "{replayed}");
    }
}

/// The operator sees the text and what it adds to the directives that use it, before anything is signed.
#[test]
fn a_question_about_a_signature_shows_what_it_adds() {
    let session = Session::new();
    let what = "<permissions><execute><tool>rye.file-system.read</tool></execute></permissions>\
                <context><before>notes/index-style</before></context>\
                <hooks><hook id=\"h\" event=\"after_step\"><execute item_type=\"tool\">rye/file-system/read</execute></hook></hooks>";
    let (path, text) = item("directive", what);
    session.put(path, &text);
    let arguments = json!({ "item_type": "directive", "item_id": "notes/mine" });
    put_caller(&session, PERMISSIONS, &[row("", "rye_sign", arguments)]);
    let ran = session.raw("run notes/calls --trust TRUST --provider steps --json --quiet");
    let told: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let shown = &told["threads"][0]["waits_for"]["arguments"];
    assert_eq!((&shown["sha256"], &shown["text"]), (&sha256(&text), &json!(text)));
    let adds = &shown["adds"];
    assert_eq!(adds["capabilities"], json!(["rye.execute.tool.rye.file-system.read"]));
    assert_eq!(adds["context"][0]["knowledge"], "notes/index-style");
    assert_eq!(adds["hooks"][0]["id"], "h");
    // A person is shown the text by each of the commands, line by line.
    let shown = session.rye("threads show");
    let approved = session.rye("approve THREAD --trust TRUST");
    let lines: String =
        text.lines().map(|line| format!("  | {line}\n").replace("  | \n", "  |\n")).collect();
    let block =
        format!("text to sign, {} lines, {} bytes\n{lines}", text.lines().count(), text.len());
    for told in [shown, approved] {
        assert!(told.contains("after_step") && told.contains(&block), "{told}");
        assert_eq!(told.matches("# Mine").count(), 1, "{told}");
    }
    let resumed = session.rye("resume THREAD --trust TRUST");
    assert!(resumed.ends_with("exit 0\n"), "{resumed}");
}

/// What a text hides from a person, and where it ends, is seen in the question.
#[test]
fn a_question_about_a_signature_hides_nothing() {
    let session = Session::new();
    let hostile = format!("{NOTE}Shown.\u{1b}[2K\u{1b}[1A\nSafe \n\u{202e}x");
    session.put(NOTE_PATH, &hostile);
    let arguments = json!({ "item_type": "knowledge", "item_id": "notes/mine" });
    let rows = [row("", "rye_sign", arguments)];
    put_caller(&session, "<sign><knowledge>notes.*</knowledge></sign>", &rows);
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    let look = format!("`rye threads show {}` shows the text", session.thread());
    assert!(ran.contains(session.steady(&look).trim_end()) && ran.ends_with("exit 4\n"), "{ran}");
    let expected =
        "  | Shown.\\u{1b}[2K\\u{1b}[1A\n  | Safe |\n  | \\u{202e}x (without a line end)\n";
    for command in ["threads show", "approve THREAD --trust TRUST"] {
        let told = session.rye(command);
        assert!(told.contains(expected), "{told}");
    }
    // A denial is about no text.
    let denied = Session::new();
    asking(&denied, &json!({}));
    assert!(!denied.rye("deny THREAD --trust TRUST").contains("text to sign"));
}

/// A thread may have an item copied where it may write, and into the project alone.
#[test]
fn a_thread_copies_an_item_where_it_may_write() {
    let writing = "<execute><tool>rye.file-system.write</tool></execute>";
    let rows = [
        ("project", "", false, "add `<execute><tool>rye.file-system.write</tool></execute>`"),
        ("user", writing, false, "add `<execute><tool>rye.user-space.write</tool></execute>`"),
        ("project", writing, true, "exit 0"),
    ];
    for (space, permissions, copies, expected) in rows {
        let session = Session::new();
        session.put("../home/.ai/knowledge/notes/mine.md", NOTE);
        let arguments =
            json!({ "item_type": "knowledge", "item_id": "notes/mine", "destination": space });
        let permissions = format!("<load>*</load>{permissions}");
        put_caller(&session, &permissions, &[row("", "rye_load", arguments)]);
        session.rye("sign ../home/.ai/knowledge/notes/mine.md");
        let ran = session.rye("run notes/calls --trust TRUST --provider steps");
        assert!(ran.contains(expected), "{space}: {ran}");
        let copy = std::fs::read_to_string(session.project().join(NOTE_PATH)).ok();
        let own = session.home().join(".ai/knowledge/notes/mine.md");
        let signed = std::fs::read_to_string(own).unwrap();
        assert!(signed.contains("rye:signed"), "{signed}");
        assert_eq!(copy, copies.then_some(signed), "{space}: {ran}");
    }
}

/// The user space is written where a grant names it, and nowhere else.
#[test]
fn a_thread_copies_into_the_user_space_where_it_may() {
    for (permissions, copies) in [("rye.file-system.write", false), ("rye.user-space.write", true)]
    {
        let session = Session::new();
        let arguments = json!({
            "item_type": "knowledge", "item_id": "notes/index-style", "destination": "user",
        });
        let grant = format!(
            "<load>*</load><execute><tool>{permissions}</tool></execute><acknowledge risk=\"elevated\">A test.</acknowledge>"
        );
        put_caller(&session, &grant, &[row("", "rye_load", arguments)]);
        let ran = session.rye("run notes/calls --trust TRUST --provider steps");
        assert_eq!(ran.ends_with("exit 0\n"), copies, "{ran}");
        let copy = session.home().join(".ai/knowledge/notes/index-style.md");
        assert_eq!(copy.exists(), copies, "{ran}");
    }
}

/// A provider's configuration says where prompts and keys go: no thread puts one into the project, whoever signed it.
#[test]
fn a_thread_copies_no_provider() {
    let session = Session::new();
    let path = ".ai/tools/rye/agent/providers/mine.yaml";
    let provider = "protocol: anthropic_messages\nbase_url: https://example.org\nmodels:\n  m: { context_window: 1000, max_output: 10 }\n";
    session.put(&format!("../home/{path}"), provider);
    let arguments = json!({
        "item_type": "tool",
        "item_id": "rye/agent/providers/mine",
        "destination": "project",
    });
    let permissions = "<load>*</load><execute><tool>rye.file-system.write</tool></execute>";
    put_caller(&session, permissions, &[row("", "rye_load", arguments)]);
    let signed = session.rye(&format!("sign ../home/{path}"));
    assert!(signed.ends_with("exit 0\n"), "{signed}");
    let ran = session.rye("run notes/calls --trust TRUST --provider steps");
    assert!(ran.contains("configuration is for the operator alone"), "{ran}");
    assert!(ran.ends_with("exit 3\n"), "{ran}");
    assert!(!session.project().join(path).exists());
    let loaded = session.rye("load rye/agent/providers/mine --to project");
    assert!(loaded.ends_with("exit 0\n") && session.project().join(path).exists(), "{loaded}");
}

#[test]
fn what_stands_in_the_place_of_another_item_is_not_signed() {
    let session = Session::new();
    session.put("../home/.ai/knowledge/notes/mine.md", NOTE);
    let ran = asking(&session, &json!({ "sha256": sha256(NOTE) }));
    let ran = if ran.ends_with("exit 4\n") {
        session.rye("approve THREAD --trust TRUST");
        session.rye("resume THREAD --trust TRUST")
    } else {
        ran
    };
    assert!(ran.contains("it would stand in the place of an item of another space"), "{ran}");
    assert_eq!(note(&session), NOTE);
}

#[test]
fn a_tool_whose_power_waits_for_somebody_is_not_signed() {
    let session = Session::new();
    let (path, text) = item("tool", "executor: builtin, builtin: file-system/read");
    session.put(path, &text);
    session.put(
        "../home/.ai/config/agent/approval.yaml",
        "ask: [rye.execute.tool.rye.file-system.read]\n",
    );
    let arguments =
        json!({ "item_type": "tool", "item_id": "notes/mine", "sha256": sha256(&text) });
    put_caller(&session, PERMISSIONS, &[row("", "rye_sign", arguments)]);
    session.rye("sign ../home/.ai/config/agent/approval.yaml");
    let ran = ran(&session);
    assert!(ran.contains("calls of what is behind it wait for a decision"), "{ran}");
    assert_eq!(std::fs::read_to_string(session.project().join(path)).unwrap(), text);
}
