//! The same with a model, in each wire protocol.

use rye::ProviderChoice;
use rye::types::ThreadState;
use rye_tests::Scratch;
use serde_json::json;

use super::{DIRECTIVES, directive, knowledge, put, results};
use crate::server::Received;
use crate::wires::{PROTOCOLS, provider, server};

#[tokio::test]
async fn a_model_follows_a_directive_and_reads_knowledge_in_its_own_thread() {
    let inputs = "<inputs><input name=\"who\" type=\"string\" required=\"true\">Name</input></inputs><outputs><output name=\"said\" type=\"string\">Said</output></outputs>";
    for protocol in PROTOCOLS {
        let inner =
            json!({"item_type": "directive", "item_id": "test/inner", "inputs": {"who": "Ada"}});
        let advice = json!({"item_type": "knowledge", "item_id": "test/advice"});
        let calls = [("rye_execute", inner), ("rye_execute", advice)];
        let server = server(protocol, &calls);
        let scratch = Scratch::new();
        let inner = directive("inner", "*", &[], inputs).replace("Do it", "Greet {input:who}");
        put(&scratch, "inner", &inner);
        scratch.sign(".ai/knowledge/test/advice.md", &knowledge("Be brief."));
        put(&scratch, "outer", &directive("outer", DIRECTIVES, &[], ""));
        scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider(protocol, &server));
        let report = scratch
            .run_with("test/outer", &[], |request| {
                request.provider = ProviderChoice::Named("local".to_owned());
            })
            .await
            .unwrap();
        let failure = &report.outcome.failure;
        assert_eq!(report.outcome.state, ThreadState::Completed, "{protocol}: {failure:?}");
        let events = scratch.events(&report);
        let told = results(&events);
        let mut content = told[0]["content"].clone();
        let directions = content["your_directions"].take();
        let directions = directions.as_str().unwrap();
        assert!(directions.starts_with("Greet Ada for inner."), "{directions}");
        assert!(!directions.contains("rye:signed") && !directions.contains("```"), "{directions}");
        let note = content["note"].take();
        assert!(note.as_str().unwrap().contains("is decided as before"), "{note}");
        let expected = json!({
            "kind": "directive", "id": "test/inner", "name": "inner", "version": "1.0.0", "description": "For a test.",
            "your_directions": null, "inputs": {"who": "Ada"}, "permissions": "<permissions>*</permissions>", "note": null,
            "outputs": content["outputs"],
        });
        assert_eq!(content, expected, "{protocol}");
        assert!(content["outputs"].to_string().contains("said"), "{content}");
        assert_eq!(told[1]["content"]["content"], "Be brief.");
        assert_eq!(told[1]["content"]["metadata"]["title"], "Advice");
        let capability = "rye.execute.directive.test.inner";
        let start = events.iter().find(|(name, _)| name == "tool_call_start").unwrap();
        assert_eq!(start.1["target"]["capability"], capability);

        let sent = server.received();
        let bodies: Vec<&str> = sent.iter().map(Received::text).collect();
        assert!(bodies[0].contains("returns the directions of a directive"), "{protocol}");
        assert!(!bodies[0].contains("Greet Ada"), "{protocol}");
        assert!(bodies[1].contains("Greet Ada") && bodies[2].contains("Be brief."), "{protocol}");
        let replayed = scratch.rye().replay(&report.thread).await.unwrap();
        assert_eq!(replayed.divergence, None, "{protocol}");
        assert_eq!(server.received().len(), 3);
    }
}

/// All problems of the arguments are reported at once, and the model may try again.
#[tokio::test]
async fn wrong_arguments_are_a_result_that_tells_all_problems() {
    let both = json!({
        "item_type": "directive", "item_id": "test/inner", "inputs": {}, "parameters": {}, "async": true, "why": 1,
    });
    let server = server("openai_chat", &[("rye_execute", both)]);
    let scratch = Scratch::new();
    put(&scratch, "outer", &directive("outer", DIRECTIVES, &[], ""));
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &provider("openai_chat", &server));
    let report = scratch
        .run_with("test/outer", &[], |request| {
            request.provider = ProviderChoice::Named("local".to_owned());
        })
        .await
        .unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed);
    let events = scratch.events(&report);
    let problems = json!([
        "`async` is for `thread: \"fork\"`; leave it out",
        "`why` is not an argument of `rye_execute`; use `item_type`, `item_id`, `parameters`",
        "`inputs` is another name of `parameters`; give one of the two",
    ]);
    assert_eq!(results(&events)[0]["content"]["problems"], problems);
}
