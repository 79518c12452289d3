//! The era without a handshake: the result asks, and the client sends its request again with the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use rye::thread::Clock;
use rye::types::Moment;
use rye::{Approvals, McpServer};
use serde_json::{Value, json};

use super::super::granted;
use super::super::wire::{Era, Wire, host};
use super::{
    BY_CLIENT, FIRST, accepted, asking, asking_twice, call, decisions, form, is_the_question,
    server, waits,
};
use crate::children::model::Gate;
use crate::session::Session;

async fn begun(session: &Session) -> Wire {
    Wire::able(server(session, BY_CLIENT), Era::Inline, form()).await
}

/// Calls, and gives what the result asks to bring back.
async fn state(wire: &mut Wire) -> String {
    let result = wire.ask("tools/call", call()).await["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    is_the_question(&result["inputRequests"]["approval"]);
    assert_eq!(wire.notifications, Vec::<Value>::new());
    result["requestState"].as_str().unwrap().to_owned()
}

fn again(state: &str, answer: &Value) -> Value {
    let mut params = call();
    params["inputResponses"] = json!({ "approval": answer });
    params["requestState"] = state.into();
    params
}

#[tokio::test]
async fn what_is_asked_is_all_that_there_is_to_know() {
    let session = asking();
    let mut wire = begun(&session).await;
    let result = wire.ask("tools/call", call()).await["result"].clone();
    insta::assert_snapshot!(
        result["inputRequests"]["approval"]["params"]["message"].as_str().unwrap()
    );
}

#[tokio::test]
async fn what_is_approved_runs_with_the_request_that_comes_again() {
    for era in [Era::Inline, Era::Discover] {
        let session = asking();
        let mut wire = Wire::able(server(&session, BY_CLIENT), era, form()).await;
        let state = state(&mut wire).await;
        let status = wire.call("rye_thread_status", json!({ "thread": FIRST })).await;
        assert_eq!(status["structuredContent"]["state"], "suspended", "{status}");
        let result =
            wire.ask("tools/call", again(&state, &accepted("approve"))).await["result"].clone();
        let told = &result["structuredContent"];
        assert_eq!(result["resultType"], "complete", "{result}");
        assert_eq!(
            (&told["state"], &told["thread"]),
            (&json!("completed"), &json!(FIRST)),
            "{result}"
        );
        assert!(session.project().join("INDEX.md").is_file());
        let made = decisions(&session, FIRST);
        let [[decision, by, _]] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!((decision.as_str(), by.as_str()), ("approved", "mcp client lines"));
        let verified = session.rye("threads verify");
        assert!(verified.contains("ok ") && verified.ends_with("exit 0\n"), "{verified}");
    }
}

#[tokio::test]
async fn what_is_denied_does_not_run() {
    let session = asking();
    let mut wire = begun(&session).await;
    let state = state(&mut wire).await;
    let result = wire.ask("tools/call", again(&state, &accepted("deny"))).await["result"].clone();
    assert_ne!(result["structuredContent"]["state"], "suspended", "{result}");
    assert!(!session.project().join("INDEX.md").exists());
    assert_eq!(decisions(&session, FIRST)[0][0], "denied");
}

/// The state is used up with the answer, whatever the answer is.
#[tokio::test]
async fn an_answer_that_is_none_decides_nothing() {
    let none = "the client's answer is none to the question";
    let rows = [
        (json!({ "approval": { "action": "decline" } }), "whoever was asked declined to decide"),
        (
            json!({ "approval": { "action": "cancel" } }),
            "whoever was asked went away without deciding",
        ),
        (json!({ "approval": { "action": "accept" } }), none),
        (json!({ "approval": { "action": "accept", "content": { "decision": "yes" } } }), none),
        (json!({ "approval": { "action": "accept", "content": ["approve"] } }), none),
        (json!({ "approval": "approve" }), none),
        (json!({ "approval": ["accept", { "decision": "approve" }] }), none),
        (json!({ "other": accepted("approve") }), "the client gave no answer to the question"),
        (json!({}), "the client gave no answer to the question"),
        (Value::Null, "the client gave no answer to the question"),
    ];
    for (answers, why) in rows {
        let session = asking();
        let mut wire = begun(&session).await;
        let state = state(&mut wire).await;
        let mut params = again(&state, &Value::Null);
        params["inputResponses"] = answers;
        let result = wire.ask("tools/call", params).await["result"].clone();
        waits(&session, &result, why);
        let late = wire.ask("tools/call", again(&state, &accepted("approve"))).await;
        assert!(late.to_string().contains("was used before"), "{late}");
        assert_eq!(decisions(&session, FIRST).len(), 0);
    }
}

/// Every change of what was given, and what was never given, decides nothing and uses nothing up.
#[tokio::test]
async fn a_state_that_is_not_what_was_given_is_refused() {
    let session = asking();
    let mut wire = begun(&session).await;
    let state = state(&mut wire).await;
    let own: Value = serde_json::from_str(&state).unwrap();
    let changed = |name: &str, value: Value| {
        let mut changed = own.clone();
        assert!(changed.get(name).is_some(), "{name} in {own}");
        changed[name] = value;
        changed.to_string()
    };
    let elsewhere = asking();
    let mut other = begun(&elsewhere).await;
    let of_another = self::state(&mut other).await;
    for (name, given) in [
        ("nothing", String::new()),
        ("no JSON", "state".to_owned()),
        ("an empty object", "{}".to_owned()),
        ("another purpose", changed("purpose", json!("x"))),
        ("another number", changed("number", json!(7))),
        ("a later end", changed("expires", json!(i64::MAX))),
        ("another request", changed("request", json!("0"))),
        ("another thread", changed("thread", json!("index-019a0000-0000-7000-8000-000000000009"))),
        ("another call", changed("call", json!("0"))),
        ("another signature", changed("_signature", json!("rye:signed:x"))),
        ("that of another process", of_another),
        ("a long one", format!("{state}{}", " ".repeat(4_096))),
    ] {
        let answer = wire.ask("tools/call", again(&given, &accepted("approve"))).await;
        assert_eq!(answer["error"]["code"], -32602, "{name}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(
            message, "`requestState` is not what this server gave; nothing was decided",
            "{name}"
        );
        assert_eq!(decisions(&session, FIRST).len(), 0, "{name}");
    }
    let result = wire.ask("tools/call", again(&state, &accepted("approve"))).await;
    assert_eq!(result["result"]["structuredContent"]["state"], "completed", "{result}");
}

/// It belongs to one request of one client.
#[tokio::test]
async fn a_state_of_another_request_is_refused() {
    let session = asking();
    let shared = server(&session, BY_CLIENT);
    let mut wire = Wire::able(shared.clone(), Era::Inline, form()).await;
    let state = state(&mut wire).await;
    let mut stranger = Wire::able(shared, Era::Inline, form()).await;
    stranger.name = "strange";
    let mut folder = again(&state, &accepted("approve"));
    folder["arguments"]["parameters"]["folder"] = ".".into();
    let mut tool = again(&state, &accepted("approve"));
    tool["name"] = "rye_search".into();
    tool["arguments"] = json!({ "query": "index" });
    let mut other = again(&state, &accepted("approve"));
    other["arguments"]["item_id"] = "notes/base".into();
    let told = "`requestState` belongs to another request or client; nothing was decided";
    for (name, answer) in [
        ("other inputs", wire.ask("tools/call", folder).await),
        ("another tool", wire.ask("tools/call", tool).await),
        ("another directive", wire.ask("tools/call", other).await),
        ("another client", stranger.ask("tools/call", again(&state, &accepted("approve"))).await),
    ] {
        assert_eq!(answer["error"]["message"], told, "{name}: {answer}");
        assert_eq!(decisions(&session, FIRST).len(), 0, "{name}");
    }
    // The same request in another order is the same request.
    let mut turned = again(&state, &accepted("approve"));
    let members = turned["arguments"].as_object().unwrap().clone();
    turned["arguments"] = Value::Object(members.into_iter().rev().collect());
    let result = wire.ask("tools/call", turned).await;
    assert_eq!(result["result"]["structuredContent"]["state"], "completed", "{result}");
}

#[tokio::test]
async fn a_state_counts_once() {
    let session = asking();
    let mut wire = begun(&session).await;
    let state = state(&mut wire).await;
    wire.ask("tools/call", again(&state, &accepted("approve"))).await;
    for decision in ["approve", "deny"] {
        let answer = wire.ask("tools/call", again(&state, &accepted(decision))).await;
        let message = answer["error"]["message"].as_str().unwrap();
        assert_eq!(message, "`requestState` was used before; nothing was decided by this request");
    }
    assert_eq!(decisions(&session, FIRST).len(), 1);
}

/// Two at once are one and one too many.
#[tokio::test]
async fn a_state_counts_once_however_fast_it_comes_again() {
    let session = asking();
    let mut wire = begun(&session).await;
    let state = state(&mut wire).await;
    let first = wire.begin_to_ask("tools/call", again(&state, &accepted("approve"))).await;
    let second = wire.begin_to_ask("tools/call", again(&state, &accepted("approve"))).await;
    let answers = [wire.next().await, wire.next().await];
    let refused = answers.iter().filter(|it| it["error"]["code"] == -32602).count();
    assert_eq!(refused, 1, "{answers:?} to {first} and {second}");
    assert_eq!(decisions(&session, FIRST).len(), 1);
}

/// The answer to one question is none to the next.
#[tokio::test]
async fn each_call_is_asked_about() {
    let session = asking_twice();
    let mut wire = begun(&session).await;
    let first = state(&mut wire).await;
    let result =
        wire.ask("tools/call", again(&first, &accepted("approve"))).await["result"].clone();
    assert_eq!(result["resultType"], "input_required", "{result}");
    let message = &result["inputRequests"]["approval"]["params"]["message"];
    assert!(message.as_str().unwrap().contains("`rye/file-system/read`"), "{result}");
    let second = result["requestState"].as_str().unwrap();
    let old = wire.ask("tools/call", again(&first, &accepted("approve"))).await;
    assert!(old.to_string().contains("was used before"), "{old}");
    assert_eq!(decisions(&session, FIRST).len(), 1);
    let ended = wire.ask("tools/call", again(second, &accepted("approve"))).await;
    assert_eq!(ended["result"]["structuredContent"]["state"], "completed", "{ended}");
    assert_eq!(decisions(&session, FIRST).len(), 2);
}

#[tokio::test]
async fn a_state_has_an_end() {
    let session = asking();
    let now = Arc::new(AtomicI64::new(1_795_300_000_000));
    let mut host = host(&session, granted(&["rye.execute.directive.notes.*"]));
    host.approvals = Approvals::Clients { within: Duration::from_secs(60) };
    host.clock = Arc::new(Moved(Arc::clone(&now)));
    let mut wire = Wire::able(McpServer::new(host), Era::Inline, form()).await;
    let state = state(&mut wire).await;
    now.fetch_add(60_000, Ordering::Relaxed);
    let answer = wire.ask("tools/call", again(&state, &accepted("approve"))).await;
    assert_eq!(
        answer["error"]["message"], "`requestState` has expired; nothing was decided",
        "{answer}"
    );
    now.fetch_sub(1, Ordering::Relaxed);
    let answer = wire.ask("tools/call", again(&state, &accepted("approve"))).await;
    assert!(answer.to_string().contains("was used before"), "{answer}");
    assert_eq!(decisions(&session, FIRST).len(), 0);
}

/// It is cancelled while the server reads what came back.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_cancelled_decides_nothing() {
    let session = asking();
    let held = Arc::new(Held::default());
    let mut host = host(&session, granted(&["rye.execute.directive.notes.*"]));
    (host.approvals, host.clock) = (BY_CLIENT, Arc::clone(&held) as Arc<dyn Clock>);
    let mut wire = Wire::able(McpServer::new(host), Era::Inline, form()).await;
    let state = state(&mut wire).await;
    held.holds.store(true, Ordering::SeqCst);
    let id = wire.begin_to_ask("tools/call", again(&state, &accepted("approve"))).await;
    held.gate.reached();
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": id } });
    wire.send(&cancel).await;
    // Who gets an answer knows that what was said before was heard.
    wire.call("rye_search", json!({ "query": "index" })).await;
    held.gate.open();
    wire.call("rye_search", json!({ "query": "index" })).await;
    let status =
        wire.call("rye_thread_status", json!({ "thread": FIRST, "wait_seconds": 5 })).await;
    assert_eq!(status["structuredContent"]["state"], "suspended", "{status}");
    wire.stop().await;
    assert_eq!(decisions(&session, FIRST).len(), 0);
}

/// A clock that can be held once.
#[derive(Default)]
struct Held {
    holds: AtomicBool,
    gate: Gate,
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Held")
    }
}

impl Clock for Held {
    fn now(&self) -> Moment {
        if self.holds.swap(false, Ordering::SeqCst) {
            self.gate.pass();
        }
        Moment::from_unix_millis(1_795_300_000_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

#[derive(Debug)]
struct Moved(Arc<AtomicI64>);

impl Clock for Moved {
    fn now(&self) -> Moment {
        Moment::from_unix_millis(self.0.load(Ordering::Relaxed))
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

/// Where nothing was asked, there is nothing to answer.
#[tokio::test]
async fn an_answer_to_nothing_is_refused() {
    let session = asking();
    let mut wire = begun(&session).await;
    let state = state(&mut wire).await;
    let mut lacking = again(&state, &accepted("approve"));
    lacking.as_object_mut().unwrap().remove("requestState");
    let answer = wire.ask("tools/call", lacking).await;
    assert_eq!(answer["error"]["message"], "`requestState` is missing", "{answer}");
    let nothing = "nothing was asked here, so that there is nothing to answer";
    for (approvals, era) in [(Approvals::Operator, Era::Inline), (BY_CLIENT, Era::Initialize)] {
        let mut other = Wire::able(server(&session, approvals), era, form()).await;
        let answer = other.ask("tools/call", again(&state, &accepted("approve"))).await;
        assert_eq!(answer["error"]["message"], nothing, "{era:?}: {answer}");
    }
    assert_eq!(decisions(&session, FIRST).len(), 0);
}

/// The operator decided meanwhile, or something that the thread rests on changed: the answer comes too late.
#[tokio::test]
async fn an_answer_comes_too_late_once_something_changed() {
    for (changes, part) in [(true, "index-style"), (false, "was denied already (command")] {
        let session = asking();
        let mut wire = begun(&session).await;
        let state = state(&mut wire).await;
        if changes {
            session.change(".ai/knowledge/notes/index-style.md", "one Markdown", "two Markdown");
        } else {
            let denied = session.rye(&format!("deny {FIRST}"));
            assert!(denied.ends_with("exit 0\n"), "{denied}");
        }
        let answer = wire.ask("tools/call", again(&state, &accepted("approve"))).await;
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert!(result["structuredContent"].to_string().contains(part), "{answer}");
        assert!(!session.project().join("INDEX.md").exists());
    }
}
