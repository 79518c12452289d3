//! The provider of runs that name none: `default` of `config/agent/providers.yaml`.

use rye::types::ThreadState;
use rye_tests::Scratch;
use serde_json::json;

use super::model;
use super::server::Server;

const FILE: &str = ".ai/config/agent/providers.yaml";

const DIRECTIVE: &str = r#"# Say

```xml
<directive name="say" version="1.0.0">
  <metadata>
    <description>Says a word.</description>
    <category>test</category>
    <author>tests</author>
    <model tier="fast" />
    <permissions></permissions>
  </metadata>
</directive>
```

Say a word.
"#;

/// A server that says a word, however often it is asked.
fn server() -> Server {
    Server::new(|_| model::answer(&json!([{ "type": "text", "text": "Word." }]), "end_turn"))
}

/// The error with everything that caused it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

fn configuration(name: &str) -> String {
    format!(".ai/tools/rye/agent/providers/{name}.yaml")
}

/// The places of the providers and of the choice.
struct Places {
    /// The spaces that have a default, each with the provider's name.
    project: Option<&'static str>,
    user: Option<&'static str>,
}

/// Runs the directive without a provider's name, over a provider `mine` of the user space and `theirs` of the project. Returns
/// the provider that was asked, or the error.
async fn asked(places: &Places) -> Result<&'static str, String> {
    let (mine, theirs) = (server(), server());
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/say.md", DIRECTIVE);
    scratch.sign_user(&configuration("mine"), &model::provider(&mine));
    scratch.sign(&configuration("theirs"), &model::provider(&theirs));
    if let Some(name) = places.user {
        scratch.sign_user(FILE, &format!("default: {name}\n"));
    }
    if let Some(name) = places.project {
        scratch.sign(FILE, &format!("default: {name}\n"));
    }
    let report = scratch.run_with("test/say", &[], |_| ()).await;
    let report = report.map_err(|error| with_causes(&error))?;
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    match (mine.received().len(), theirs.received().len()) {
        (1, 0) => Ok("mine"),
        (0, 1) => Ok("theirs"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_nearest_default_answers_and_a_project_names_what_the_user_has() {
    let rows = [
        (None, Some("mine"), Ok("mine")),
        (Some("mine"), None, Ok("mine")),
        (Some("mine"), Some("theirs"), Ok("mine")),
        // The user names a provider of the project knowingly.
        (None, Some("theirs"), Ok("theirs")),
        (
            Some("theirs"),
            Some("mine"),
            Err("makes `theirs` the default, which is the project's own"),
        ),
        (Some("nobody"), Some("mine"), Err("nobody")),
        (None, Some("nobody"), Err("nobody")),
        (None, Some("steps"), Err("`steps` is no provider")),
    ];
    for (project, user, expected) in rows {
        let asked = asked(&Places { project, user }).await;
        match expected {
            Ok(name) => assert_eq!(asked.as_deref(), Ok(&name).copied(), "{project:?} {user:?}"),
            Err(part) => {
                let error = asked.unwrap_err();
                assert!(error.contains(part), "{project:?} {user:?}: {error}");
            }
        }
    }
}

/// A file that decides where prompts go is verified like an item.
#[tokio::test]
async fn an_unsigned_default_is_refused() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/say.md", DIRECTIVE);
    scratch.put(FILE, "default: mine\n");
    let error = scratch.run_with("test/say", &[], |_| ()).await.unwrap_err();
    let error = with_causes(&error);
    assert!(error.contains("unsigned") && error.contains("providers.yaml"), "{error}");
}

/// A thread that stopped goes on with the provider that it began with, whatever the default is by then.
#[tokio::test]
async fn a_thread_keeps_its_provider() {
    let mut turn = 0;
    let mine = Server::new(move |_| {
        turn += 1;
        match turn {
            1 => model::answer(
                &json!([model::tool_use("call_1", "rye_file_system_ls", &json!({}))]),
                "tool_use",
            ),
            _ => model::answer(&json!([{ "type": "text", "text": "Word." }]), "end_turn"),
        }
    });
    let other = server();
    let scratch = Scratch::new().with_operator();
    let granting = DIRECTIVE.replace(
        "<permissions></permissions>",
        "<permissions><execute><tool>rye.file-system.ls</tool></execute></permissions>",
    );
    scratch.sign(".ai/directives/test/say.md", &granting);
    scratch.sign_user(&configuration("mine"), &model::provider(&mine));
    scratch.sign_user(&configuration("other"), &model::provider(&other));
    scratch.sign(".ai/config/agent/approval.yaml", "ask: [rye.execute.tool.rye.file-system.ls]\n");
    scratch.sign_user(FILE, "default: mine\n");
    let report = scratch.run_with("test/say", &[], |_| ()).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    scratch.sign_user(FILE, "default: other\n");
    scratch.decide(&report.thread, &rye::thread::Decision::Approved);
    let report = scratch.resume(&report.thread).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Completed, "{:?}", report.outcome.failure);
    assert_eq!((mine.received().len(), other.received().len()), (2, 0));
}
