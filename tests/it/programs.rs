//! Programs as tools in whole threads: what the model reads of them, and what the record keeps.

use rye::ProviderChoice;
use rye::types::ThreadState;
use rye_tests::Scratch;
use serde_json::json;

use super::model;

/// A script that succeeds and complains, with control characters.
const SCRIPT: &str = "#!/bin/sh\n# /// rye\n# description: Complains.\n# input_schema: {type: object}\n# ///\n\
                      printf 'a warning \\033[31mred\\n' >&2\nprintf done\n";

const DIRECTIVE: &str = r#"# Work

```xml
<directive name="work" version="1.0.0">
  <metadata>
    <description>Works.</description>
    <author>tests</author>
    <model tier="fast" />
    <permissions>
      <execute><tool>team.*</tool></execute>
      <acknowledge risk="elevated">A test.</acknowledge>
    </permissions>
  </metadata>
</directive>
```

Work.
"#;

#[tokio::test]
async fn the_record_keeps_the_standard_error_of_a_success_and_no_model_reads_it() {
    let call = model::tool_use("call_1", "team_complain", &json!({}));
    let server = model::server(vec![
        model::answer(&json!([call]), "tool_use"),
        model::answer(&json!([{ "type": "text", "text": "Done." }]), "end_turn"),
    ]);
    let scratch = Scratch::new().with_operator().with_programs();
    scratch.sign(".ai/directives/work.md", DIRECTIVE);
    scratch.sign(".ai/tools/team/complain.sh", SCRIPT);
    scratch.sign(".ai/tools/rye/agent/providers/local.yaml", &model::provider(&server));
    let local = |request: &mut rye::RunRequest| {
        request.provider = ProviderChoice::Named("local".to_owned());
    };
    let report = scratch.run_with("work", &[], local).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    let events = scratch.events(&report);
    let (_, receipt) = events.iter().find(|(event, _)| event == "tool_call_result").unwrap();
    assert_eq!(receipt["content"], "done");
    assert_eq!(receipt["standard_error"], "a warning \u{1b}[31mred");
    let sent = server.received();
    assert!(sent[1].text().contains("done") && !sent[1].text().contains("a warning"));
}
