//! A call that comes again, word for word and with the same id.

use rye::{McpServer, ProviderChoice};
use serde_json::{Value, json};

use super::super::granted;
use super::super::wire::{Era, Wire, host};
use super::{BY_CLIENT, accepted, decisions, form};
use crate::children::family::{CHILD, Family};
use crate::children::model::{Asked, Model, Says};

/// It wants to write the same twice, and gives both calls one id, as there are providers that do.
fn model() -> Model {
    Model::new(|asked: &Asked| match asked.results().len() {
        0 | 1 => {
            let arguments = json!({ "path": "a.txt", "content": "x" });
            Says::CallsAs("call_0", "rye_file_system_write", arguments)
        }
        _ => Says::Text("Written."),
    })
}

/// The thread as the question about its call names it.
fn asked_in(request: &Value) -> String {
    let message = request["params"]["message"].as_str().unwrap();
    let (_, thread) = message.split_once("in thread `").unwrap();
    thread.split_once('`').unwrap().0.to_owned()
}

/// The operator decided on the call that a client was asked about, and the thread waits with one that says the same: the client's
/// answer is none about that one.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_none_about_a_call_that_says_the_same() {
    for era in [Era::Initialize, Era::Inline] {
        let model = model();
        let family = Family::new(&model);
        let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
        family.config(".ai/config/agent/approval.yaml", ask);
        family.directive("one", CHILD);
        let mut host = host(&family, granted(&["rye.execute.directive.test.*"]));
        (host.approvals, host.provider) = (BY_CLIENT, ProviderChoice::from_name("small"));
        let mut wire = Wire::able(McpServer::new(host), era, form()).await;
        let call = json!({ "item_type": "directive", "item_id": "test/one", "thread": "fork" });
        let mut params = json!({ "name": "rye_execute", "arguments": call });
        let id = wire.begin_to_ask("tools/call", params.clone()).await;
        let asked = wire.next().await;
        let is_request = asked["method"] == "elicitation/create";
        let question = match is_request {
            true => &asked,
            false => &asked["result"]["inputRequests"]["approval"],
        };
        let thread = asked_in(question);
        let approved = family.rye("approve ONE");
        assert!(approved.ends_with("exit 0\n"), "{approved}");
        let resumed = family.rye("resume ONE");
        assert!(resumed.contains("rye approve"), "{resumed}");
        std::fs::remove_file(family.project().join("a.txt")).unwrap();
        let answer = if is_request {
            let answer = accepted("approve");
            wire.send(&json!({ "jsonrpc": "2.0", "id": asked["id"], "result": answer })).await;
            wire.answer(id).await
        } else {
            params["inputResponses"] = json!({ "approval": accepted("approve") });
            params["requestState"] = asked["result"]["requestState"].clone();
            wire.ask("tools/call", params).await
        };
        let result = &answer["result"];
        assert_eq!(result["isError"], true, "{answer}");
        assert!(result.to_string().contains("waits with another call by now"), "{answer}");
        assert!(!family.project().join("a.txt").exists());
        let made = decisions(&family, &thread);
        let [[_, by, _]] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!(by, "command");
    }
}
