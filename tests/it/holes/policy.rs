//! A program's changes to the project's policy do not count until the operator accepts them (SPEC 4.3, 5.6).

use rye::ProjectPolicy;
use rye::types::ThreadState;

use super::*;

/// A directive whose only step runs `command` in a shell.
fn shell(command: &str) -> String {
    let permissions = "<permissions><execute><tool>rye.bash.*</tool></execute><acknowledge risk=\"elevated\">It tidies up.</acknowledge></permissions>";
    format!(
        r#"# Shell

```xml
<directive name="shell" version="1.0.0">
  <metadata><description>Runs a command.</description>{permissions}</metadata>
</directive>
```

<process>
  <step name="run">
    <execute item_type="tool" item_id="rye/bash/bash"><param name="command" value="{command}" /></execute>
  </step>
</process>
"#
    )
}

async fn run(scratch: &Scratch, id: &str, number: u8) -> Result<RunReport, RunError> {
    let run = scratch.run_with(id, &[], |request| {
        request.provider = ProviderChoice::Steps;
        let (_, name) = id.split_once('/').unwrap();
        let thread = format!("{name}-019a0000-0000-7000-8000-0000000000{number:02}");
        request.thread = thread.parse().unwrap();
    });
    run.await
}

#[tokio::test]
async fn a_program_that_changes_policy() {
    for (name, command, change) in [
        (
            "removes",
            "rm .ai/config/agent/approval.yaml",
            "removed `.ai/config/agent/approval.yaml`",
        ),
        ("adds", "touch .ai/config/keys.toml", "added `.ai/config/keys.toml`"),
        ("locks", "touch .ai/rye.lock", "added `.ai/rye.lock`"),
        (
            "provides",
            "mkdir -p .ai/tools/rye/agent/providers; touch .ai/tools/rye/agent/providers/x.yaml",
            "added `.ai/tools/rye/agent/providers/x.yaml`",
        ),
    ] {
        let scratch = sound().with_programs();
        scratch.sign(
            ".ai/config/agent/approval.yaml",
            "ask: [rye.execute.tool.rye.file-system.write]\n",
        );
        scratch.sign(".ai/directives/test/shell.md", &shell(command));
        let report = run(&scratch, "test/shell", 1).await.unwrap();
        assert_eq!(report.outcome.state, ThreadState::Completed, "{name}: {:?}", report.outcome);
        // The next run is refused with the difference, whether or not it starts programs.
        for id in ["test/shell", "test/write"] {
            let error = run(&scratch, id, 2).await.unwrap_err();
            assert_eq!(error.class(), Class::Refused, "{name}");
            let told = innermost(&error);
            assert!(told.contains(change) && told.contains("rye trust policy --accept"), "{told}");
            fs::remove_dir_all(scratch.project().join(".ai/threads")).unwrap();
        }
        assert!(!wrote(&scratch), "{name}");
        let policy = ProjectPolicy::new(&scratch.project(), &scratch.pins()).unwrap();
        policy.accept().unwrap();
        run(&scratch, "test/write", 3).await.unwrap();
    }
}
