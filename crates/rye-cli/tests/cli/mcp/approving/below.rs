//! Calls of threads below the one that a client waits for.

use rye::{McpServer, ProviderChoice};
use serde_json::{Value, json};

use super::super::granted;
use super::super::wire::{Era, Wire, host};
use super::{BY_CLIENT, accepted, form};
use crate::children::waiting::two_that_ask;

/// Each is asked about by itself, with the thread that it is of, and they decide nothing of each other.
#[tokio::test(flavor = "multi_thread")]
async fn each_child_that_waits_is_asked_about() {
    let (family, _model) = two_that_ask();
    let mut host = host(&family, granted(&["rye.execute.directive.test.*"]));
    (host.approvals, host.provider) = (BY_CLIENT, ProviderChoice::from_name("small"));
    let mut wire = Wire::able(McpServer::new(host), Era::Inline, form()).await;
    let call = json!({ "item_type": "directive", "item_id": "test/parent", "thread": "fork" });
    let mut params = json!({ "name": "rye_execute", "arguments": call });
    let mut answers = Vec::new();
    let result = loop {
        let result = wire.ask("tools/call", params.clone()).await["result"].clone();
        if result["resultType"] != "input_required" {
            break result;
        }
        let message = result["inputRequests"]["approval"]["params"]["message"].as_str().unwrap();
        assert!(message.contains(" below thread `parent-"), "{message}");
        let is_left = message.contains("in thread `left-");
        assert!(message.contains(if is_left { "\"a.txt\"" } else { "\"b.txt\"" }), "{message}");
        let answer = accepted(if is_left { "approve" } else { "deny" });
        answers.push(is_left);
        params["inputResponses"] = json!({ "approval": answer });
        params["requestState"] = result["requestState"].clone();
    };
    answers.sort_unstable();
    assert_eq!(answers, [false, true]);
    assert_eq!(result["structuredContent"]["waits_for"], Value::Null, "{result}");
    assert_eq!(result["structuredContent"]["state"], "completed", "{result}");
    assert!(family.project().join("a.txt").is_file());
    assert!(!family.project().join("b.txt").exists());
}
