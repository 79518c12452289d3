//! The era with the handshake: the server asks by a request of its own, within the call.

use std::time::Duration;

use rye::Approvals;
use serde_json::{Value, json};

use super::super::equality::{put_caller, row};
use super::super::wire::{Era, Wire};
use super::{
    BY_CLIENT, FIRST, accepted, arguments, asking, asking_twice, call, decisions, form,
    is_the_question, server, waits,
};
use crate::hooking::with_hooks;
use crate::session::Session;

async fn begun(session: &Session, approvals: Approvals, capabilities: Value) -> Wire {
    Wire::able(server(session, approvals), Era::Initialize, capabilities).await
}

/// The next request of the server, past whatever it notifies of.
async fn question(wire: &mut Wire) -> Value {
    loop {
        let message = wire.next().await;
        if message["method"].is_string() && message["id"] != Value::Null {
            return message;
        }
        assert!(message["method"].is_string(), "{message}");
    }
}

/// Calls, has the question answered with the members of an answer, and gives the result.
async fn told(wire: &mut Wire, answer: &Value) -> Value {
    let id = wire.begin_to_ask("tools/call", call()).await;
    let asked = question(wire).await;
    is_the_question(&asked);
    let mut message = json!({ "jsonrpc": "2.0", "id": asked["id"] });
    message.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
    wire.send(&message).await;
    wire.answer(id).await["result"].clone()
}

#[tokio::test]
async fn what_is_approved_runs_within_the_call() {
    for keys in [false, true] {
        let session = asking();
        if keys {
            session.rye("keys generate --owner me");
        }
        let mut wire = begun(&session, BY_CLIENT, form()).await;
        let result = told(&mut wire, &json!({ "result": accepted("approve") })).await;
        let told = &result["structuredContent"];
        assert_eq!(
            (&told["state"], &told["thread"]),
            (&json!("completed"), &json!(FIRST)),
            "{result}"
        );
        assert_eq!(told.get("undecided"), None, "{result}");
        assert!(session.project().join("INDEX.md").is_file());
        let made = decisions(&session, FIRST);
        let [[decision, by, sha256]] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!(
            (decision.as_str(), by.as_str(), sha256.len()),
            ("approved", "mcp client lines", 64)
        );
        let status = wire.call("rye_thread_status", json!({ "thread": FIRST })).await;
        assert_eq!(status["structuredContent"], *told, "{status}");
        let verified = session.rye("threads verify");
        assert!(verified.contains("ok ") && verified.ends_with("exit 0\n"), "{verified}");
    }
}

#[tokio::test]
async fn what_is_denied_does_not_run() {
    let session = asking();
    let mut wire = begun(&session, BY_CLIENT, form()).await;
    let result = told(&mut wire, &json!({ "result": accepted("deny") })).await;
    assert_eq!(result["structuredContent"]["waits_for"], Value::Null, "{result}");
    assert_ne!(result["structuredContent"]["state"], "suspended", "{result}");
    assert!(!session.project().join("INDEX.md").exists());
    let made = decisions(&session, FIRST);
    let [[decision, by, _]] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!((decision.as_str(), by.as_str()), ("denied", "mcp client lines"));
}

#[tokio::test]
async fn an_answer_that_is_none_decides_nothing() {
    let accept = |content: Value| json!({ "result": { "action": "accept", "content": content } });
    let none = "the client's answer is none to the question";
    let rows = [
        (
            "declined",
            json!({ "result": { "action": "decline" } }),
            "whoever was asked declined to decide",
        ),
        (
            "declined with an answer in it",
            json!({ "result": { "action": "decline", "content": { "decision": "approve" } } }),
            "whoever was asked declined to decide",
        ),
        (
            "cancelled",
            json!({ "result": { "action": "cancel" } }),
            "whoever was asked went away without deciding",
        ),
        ("without content", json!({ "result": { "action": "accept" } }), none),
        ("without a decision", accept(json!({})), none),
        ("another word", accept(json!({ "decision": "yes" })), none),
        ("a word in capitals", accept(json!({ "decision": "Approve" })), none),
        ("no word", accept(json!({ "decision": true })), none),
        ("a list", accept(json!(["approve"])), none),
        ("a member too many", accept(json!({ "decision": "approve", "always": true })), none),
        ("another action", json!({ "result": { "action": "approve" } }), none),
        ("nothing", json!({ "result": {} }), none),
        (
            "an error",
            json!({ "error": { "code": -32601, "message": "approve" } }),
            "the client cannot ask",
        ),
    ];
    for (name, answer, why) in rows {
        let session = asking();
        let mut wire = begun(&session, BY_CLIENT, form()).await;
        let result = told(&mut wire, &answer).await;
        assert_eq!(result["isError"], false, "{name}: {result}");
        waits(&session, &result, why);
    }
}

#[tokio::test]
async fn nobody_waits_for_ever_for_an_answer() {
    let session = asking();
    let at_once = Approvals::Clients { within: Duration::ZERO };
    let mut wire = begun(&session, at_once, form()).await;
    let result = wire.call("rye_execute", arguments()).await;
    waits(&session, &result, "nobody answered in time");
    // The operator can, by the commands that the result names.
    let approved = session.rye(&format!("approve {FIRST}"));
    assert!(approved.ends_with("exit 0\n"), "{approved}");
    let resumed = session.rye(&format!("resume {FIRST} --trust TRUST"));
    assert!(resumed.ends_with("exit 0\n"), "{resumed}");
    assert!(session.project().join("INDEX.md").is_file());
}

/// Who approves has to have seen all of it.
#[tokio::test]
async fn nobody_is_asked_about_more_than_can_be_looked_at() {
    for era in [Era::Initialize, Era::Inline] {
        let session = asking();
        for n in 0..60 {
            session.put(&format!("notes/{n}.md"), &format!("# {}\n", "A long title ".repeat(6)));
        }
        let mut wire = Wire::able(server(&session, BY_CLIENT), era, form()).await;
        let result = wire.call("rye_execute", arguments()).await;
        waits(&session, &result, "the arguments are too long to be looked at in a client");
        assert_eq!(wire.notifications, Vec::<Value>::new());
    }
}

/// The operator's key is lent by the operator alone, whatever clients may decide on.
#[tokio::test]
async fn nobody_is_asked_about_signatures() {
    let note = "```yaml\nname: mine\ntitle: Mine\ncategory: notes\n```\n\nText.\n";
    for era in [Era::Initialize, Era::Inline] {
        let session = Session::new();
        session.put(".ai/knowledge/notes/mine.md", note);
        let sign = json!({
            "item_type": "knowledge", "item_id": "notes/mine", "sha256": rye::sign::Digest::of(note.as_bytes()).to_string(),
        });
        let permissions = "<sign><knowledge>notes.*</knowledge></sign>";
        put_caller(&session, permissions, &[row("", "rye_sign", sign)]);
        let mut wire = Wire::able(server(&session, BY_CLIENT), era, form()).await;
        let call = json!({ "item_type": "directive", "item_id": "notes/calls", "thread": "fork" });
        let result = wire.call("rye_execute", call).await;
        let told = &result["structuredContent"];
        assert_eq!(told["waits_for"]["item_id"], "rye_sign", "{result}");
        let why = "what is signed with the operator's key is for the operator to look at; ";
        assert!(told["undecided"].as_str().unwrap().starts_with(why), "{result}");
        assert_eq!(wire.notifications, Vec::<Value>::new());
    }
}

/// What is approved there may be that the thread goes beyond its limits, which no client changes.
#[tokio::test]
async fn nobody_is_asked_what_a_hook_asks() {
    let hook = r#"<hook id="look" event="directive_return" effect="escalate"><when>outputs.count gt 1</when></hook>"#;
    for era in [Era::Initialize, Era::Inline] {
        let session = with_hooks(hook);
        let mut wire = Wire::able(server(&session, BY_CLIENT), era, form()).await;
        let result = wire.call("rye_execute", arguments()).await;
        let told = &result["structuredContent"];
        assert_eq!(told["waits_for"]["reason"], "escalated", "{result}");
        let why = "what a hook asks is for the operator to look at; ";
        assert!(told["undecided"].as_str().unwrap().starts_with(why), "{result}");
        assert_eq!(wire.notifications, Vec::<Value>::new());
    }
}

/// Each call is asked about by itself: who approved one said nothing of the next.
#[tokio::test]
async fn each_call_is_asked_about() {
    let session = asking_twice();
    let mut wire = begun(&session, BY_CLIENT, form()).await;
    let id = wire.begin_to_ask("tools/call", call()).await;
    for (item, answer) in [
        ("rye/file-system/write", accepted("approve")),
        ("rye/file-system/read", json!({ "action": "decline" })),
    ] {
        let asked = question(&mut wire).await;
        assert!(asked["params"]["message"].as_str().unwrap().contains(item), "{asked}");
        wire.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
    }
    let result = wire.answer(id).await["result"].clone();
    let told = &result["structuredContent"];
    assert_eq!(told["waits_for"]["item_id"], "rye/file-system/read", "{result}");
    assert!(session.project().join("INDEX.md").is_file());
    assert_eq!(decisions(&session, FIRST).len(), 1);
}

/// Whoever is not asked finds everything as it was before clients could be asked.
#[tokio::test]
async fn who_cannot_be_asked_or_must_not_be_is_not() {
    for (name, approvals, capabilities) in [
        ("the operator alone decides", Approvals::Operator, form()),
        ("a client that cannot ask", BY_CLIENT, json!({})),
        ("a client that opens pages alone", BY_CLIENT, json!({ "elicitation": { "url": {} } })),
    ] {
        for era in [Era::Initialize, Era::Inline] {
            let session = asking();
            let mut wire = Wire::able(server(&session, approvals), era, capabilities.clone()).await;
            let result = wire.call("rye_execute", arguments()).await;
            let told = &result["structuredContent"];
            assert_eq!(told["state"], "suspended", "{name}: {result}");
            assert_eq!(told.get("undecided"), None, "{name}: {result}");
            assert_eq!(wire.notifications, Vec::<Value>::new(), "{name}");
        }
    }
    let session = asking();
    let mut wire = begun(&session, BY_CLIENT, json!({ "elicitation": {} })).await;
    let result = told(&mut wire, &json!({ "result": accepted("approve") })).await;
    assert_eq!(result["structuredContent"]["state"], "completed", "{result}");
}

/// Who did not wait for the thread is not asked, and the thread cannot be decided on by asking about it.
#[tokio::test]
async fn who_does_not_wait_is_not_asked() {
    let session = asking();
    let mut wire = begun(&session, BY_CLIENT, form()).await;
    let mut call = arguments();
    call["async"] = true.into();
    wire.call("rye_execute", call).await;
    let status = json!({ "thread": FIRST, "wait_seconds": 50 });
    let result = wire.call("rye_thread_status", status).await;
    assert_eq!(result["structuredContent"]["state"], "suspended", "{result}");
    assert_eq!(wire.notifications, Vec::<Value>::new());
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_somebody_is_asked_decides_nothing() {
    let session = asking();
    let mut wire = begun(&session, BY_CLIENT, form()).await;
    let id = wire.begin_to_ask("tools/call", call()).await;
    let asked = question(&mut wire).await;
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    wire.send(&cancel).await;
    let taken_back = wire.next().await;
    assert_eq!(taken_back["method"], "notifications/cancelled", "{taken_back}");
    assert_eq!(taken_back["params"]["requestId"], asked["id"], "{taken_back}");
    // What comes too late is an answer to nothing.
    let late = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted("approve") });
    wire.call("rye_search", json!({ "query": "index" })).await;
    wire.send(&late).await;
    let status = wire.call("rye_thread_status", json!({ "thread": FIRST })).await;
    assert_eq!(status["structuredContent"]["state"], "suspended", "{status}");
    assert_eq!(decisions(&session, FIRST).len(), 0);
}

/// What the thread rests on is verified again before it goes on, and what somebody decided elsewhere stands.
#[tokio::test]
async fn an_answer_comes_too_late_once_something_changed() {
    for (name, part) in [
        ("a text was changed", "index-style"),
        ("the operator was quicker", "was denied already (command"),
    ] {
        let session = asking();
        let mut wire = begun(&session, BY_CLIENT, form()).await;
        let id = wire.begin_to_ask("tools/call", call()).await;
        let asked = question(&mut wire).await;
        if part == "index-style" {
            session.change(".ai/knowledge/notes/index-style.md", "one Markdown", "two Markdown");
        } else {
            let denied = session.rye(&format!("deny {FIRST}"));
            assert!(denied.ends_with("exit 0\n"), "{denied}");
        }
        wire.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted("approve") }))
            .await;
        let result = wire.answer(id).await["result"].clone();
        assert_eq!(result["isError"], true, "{name}: {result}");
        let told = &result["structuredContent"];
        assert_eq!(
            (&told["state"], &told["thread"]),
            (&json!("suspended"), &json!(FIRST)),
            "{result}"
        );
        assert!(told.to_string().contains(part), "{name}: {result}");
        let made = decisions(&session, FIRST);
        let [[decision, by, _]] = made.as_slice() else { panic!("{made:?}") };
        if part == "index-style" {
            assert_eq!((decision.as_str(), by.as_str()), ("approved", "mcp client lines"));
            let recorded = "the decision is recorded";
            let goes_on = format!("{recorded}; `rye resume {FIRST}` goes on with it");
            assert_eq!(told["decided"], goes_on, "{result}");
        } else {
            assert_eq!((decision.as_str(), by.as_str()), ("denied", "command"));
            assert_eq!(told.get("decided"), None, "{result}");
            session.rye(&format!("resume {FIRST} --trust TRUST"));
            let status = wire.call("rye_thread_status", json!({ "thread": FIRST })).await;
            assert_ne!(status["structuredContent"]["state"], "suspended", "{status}");
        }
        assert!(!session.project().join("INDEX.md").exists(), "{name}");
    }
}

/// A client may answer for threads of its own calls alone: what it says to no question is lost.
#[tokio::test]
async fn an_answer_without_a_question_decides_nothing() {
    let session = asking();
    let shared = server(&session, BY_CLIENT);
    let mut first = Wire::able(shared.clone(), Era::Initialize, form()).await;
    let mut other = Wire::able(shared, Era::Initialize, form()).await;
    let id = first.begin_to_ask("tools/call", call()).await;
    let asked = question(&mut first).await;
    let mut answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted("approve") });
    other.send(&answer).await;
    other.call("rye_search", json!({ "query": "index" })).await;
    assert_eq!(decisions(&session, FIRST).len(), 0);
    answer["result"] = json!({ "action": "decline" });
    first.send(&answer).await;
    let result = first.answer(id).await["result"].clone();
    waits(&session, &result, "whoever was asked declined to decide");
}

/// Progress tells that somebody is asked, which keeps a client from giving the call up.
#[tokio::test]
async fn who_wants_progress_is_told_that_somebody_is_asked() {
    let session = asking();
    let mut wire = begun(&session, BY_CLIENT, form()).await;
    let mut params = call();
    params["_meta"] = json!({ "progressToken": "p" });
    let id = wire.begin_to_ask("tools/call", params).await;
    let mut told = Vec::new();
    let asked = loop {
        let message = wire.next().await;
        if message["method"] == "elicitation/create" {
            break message;
        }
        told.push(message);
    };
    wire.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": accepted("approve") })).await;
    wire.answer(id).await;
    let last = told.last().unwrap();
    assert_eq!(last["params"]["message"], "asks whether rye/file-system/write may be called");
    told.append(&mut wire.notifications);
    let numbers: Vec<f64> =
        told.iter().map(|it| it["params"]["progress"].as_f64().unwrap()).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}
