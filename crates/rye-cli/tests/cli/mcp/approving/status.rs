//! What clients are told of threads on whose calls the operator decides meanwhile.

use rye::{Approvals, McpServer, ProviderChoice};
use serde_json::{Value, json};

use super::super::granted;
use super::super::wire::{Era, Wire, host};
use super::{FIRST, arguments, asking_twice, server};
use crate::children::family::{CHILD, Family};
use crate::children::model::{Asked, Model, Says};
use crate::children::waiting::two_that_ask;

async fn status(wire: &mut Wire, thread: &Value) -> Value {
    let status = wire.call("rye_thread_status", json!({ "thread": thread })).await;
    status["structuredContent"].clone()
}

/// The state, and the item that is called in the call that waits, if any.
#[track_caller]
fn check(told: &Value, state: &str, waits_for: Option<&str>) {
    let item = told["waits_for"].get("item_id").and_then(Value::as_str);
    assert_eq!((told["state"].as_str(), item), (Some(state), waits_for), "{told}");
}

#[track_caller]
fn fine(told: &str, exit: u8) {
    assert!(told.ends_with(&format!("--- exit {exit}\n")), "{told}");
}

const WRITE: &str = "rye/file-system/write";

/// The call that is told of is the one that waits now.
#[tokio::test]
async fn who_asks_is_told_which_call_waits_by_now() {
    let session = asking_twice();
    let mut wire = Wire::begin(server(&session, Approvals::Operator), Era::Inline).await;
    let begun = wire.call("rye_execute", arguments()).await["structuredContent"].clone();
    check(&begun, "suspended", Some(WRITE));
    let first = json!(FIRST);
    assert_eq!(status(&mut wire, &first).await, begun, "nothing has happened since");
    fine(&session.rye("approve THREAD --trust TRUST"), 0);
    let told = status(&mut wire, &first).await;
    check(&told, "suspended", None);
    let decided = told["decided"].as_str().unwrap();
    assert!(decided.starts_with("approved: `rye/file-system/write` (command, "), "{decided}");
    assert!(decided.ends_with(&format!("; `rye resume {FIRST}` goes on")), "{decided}");
    fine(&session.rye("resume THREAD --trust TRUST"), 4);
    let told = status(&mut wire, &first).await;
    check(&told, "suspended", Some("rye/file-system/read"));
    assert_eq!((&told["thread"], told.get("decided")), (&first, None), "{told}");
    fine(&session.rye("approve THREAD --trust TRUST"), 0);
    fine(&session.rye("resume THREAD --trust TRUST"), 0);
    check(&status(&mut wire, &first).await, "completed", None);
}

/// The same where the calls are of threads below the one that was started.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_told_which_call_below_waits_by_now() {
    let (family, _model) = two_that_ask();
    let mut wire = by_model(&family).await;
    let begun = begin(&mut wire).await;
    check(&begun, "suspended", Some(WRITE));
    let thread = begun["thread"].clone();
    let of = |told: &Value| told["waits_for"]["thread"].as_str().unwrap().to_owned();
    let first = of(&begun);
    fine(&family.rye(&format!("approve {first}")), 0);
    let other = of(&status(&mut wire, &thread).await);
    assert_ne!(other, first);
    fine(&family.rye("resume PARENT"), 4);
    let told = status(&mut wire, &thread).await;
    assert_eq!((of(&told), told.get("decided")), (other.clone(), None), "{told}");
    fine(&family.rye(&format!("deny {other}")), 0);
    let told = status(&mut wire, &thread).await;
    check(&told, "suspended", None);
    assert!(told["decided"].as_str().unwrap().starts_with("denied: "), "{told}");
    fine(&family.rye("resume PARENT"), 0);
    check(&status(&mut wire, &thread).await, "completed", None);
}

/// A conversation that grew too long waits in the thread in which it goes on.
#[tokio::test(flavor = "multi_thread")]
async fn who_asks_is_told_of_the_thread_in_which_a_conversation_waits() {
    let model = Model::new(|asked: &Asked| match (asked.goes_on(), asked.results().len()) {
        (false, 0) => Says::Calls("rye_file_system_ls", json!({ "path": "notes" })),
        (true, 0) => {
            Says::Calls("rye_file_system_write", json!({ "path": "a.txt", "content": "x" }))
        }
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    let small = model.provider().replace("100000", "1000").replace("output: 1000", "output: 50");
    family.config(".ai/tools/rye/agent/providers/small.yaml", &small);
    family.config(
        ".ai/config/agent/approval.yaml",
        "ask:\n  - rye.execute.tool.rye.file-system.write\n",
    );
    let permissions = CHILD.replace("write", "*");
    family.directive("parent", &permissions);
    let mut wire = by_model(&family).await;
    let begun = begin(&mut wire).await;
    check(&begun, "suspended", Some(WRITE));
    let last = begun["thread"].as_str().unwrap();
    let [first] = begun["continues"].as_array().unwrap().as_slice() else { panic!("{begun}") };
    assert_eq!(status(&mut wire, first).await, begun, "nothing has happened since");
    fine(&family.rye(&format!("approve {last}")), 0);
    let told = status(&mut wire, first).await;
    check(&told, "suspended", None);
    assert_eq!((&told["thread"], told["went_on_in"].as_str()), (first, Some(last)), "{told}");
    assert!(told["decided"].as_str().unwrap().starts_with("approved: "), "{told}");
}

async fn by_model(family: &Family) -> Wire {
    let mut host = host(family, granted(&["rye.execute.directive.test.*"]));
    host.provider = ProviderChoice::from_name("small");
    Wire::begin(McpServer::new(host), Era::Inline).await
}

async fn begin(wire: &mut Wire) -> Value {
    let call = json!({ "item_type": "directive", "item_id": "test/parent", "thread": "fork" });
    wire.call("rye_execute", call).await["structuredContent"].clone()
}
