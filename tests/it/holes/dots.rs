//! `..` in ids, in every place where a file or a caller writes one.

use std::error::Error;

use rye::parse::ParseError;
use rye::resolve::ItemId;
use rye::thread::ThreadId;
use rye::{ProviderChoice, RunError};
use rye_tests::Scratch;

use super::{innermost, sound, writing};

/// Ids that try to leave a folder.
const CLIMBING: [&str; 7] =
    ["../secret", "..", "a/../../secret", "a/..", "./secret", "a/./b", "..\\secret"];

#[test]
fn dots_in_an_id() {
    for id in CLIMBING {
        assert!(id.parse::<ItemId>().is_err(), "{id}");
        assert!(id.parse::<ThreadId>().is_err(), "{id}");
        assert!(ThreadId::new(id, "../019a0000-0000-7000-8000-000000000001").is_err(), "{id}");
        let scratch = Scratch::new();
        assert!(scratch.rye().library().config(id).is_err(), "{id}");
    }
    assert!("a..b/c".parse::<ItemId>().is_ok(), "dots inside of a name lead nowhere");
}

/// The id of a thread is the name of a folder.
#[test]
fn dots_in_a_thread_s_id() {
    let uuid = "019a0000-0000-7000-8000-000000000001";
    for text in
        [format!("../x-{uuid}"), format!("..-{uuid}"), format!("a/b-{uuid}"), uuid.to_owned()]
    {
        assert!(text.parse::<ThreadId>().is_err(), "{text}");
    }
}

/// The problems of a file that does not parse.
fn problems(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<ParseError>() {
        Some(error) => {
            Some(error.problems().iter().map(|problem| problem.kind.to_string()).collect())
        }
        None => error.source().and_then(problems),
    }
}

/// A project in which the file that each id would lead to exists, unsigned.
fn with_secret() -> Scratch {
    let scratch = sound();
    for path in [".ai/secret.md", ".ai/secret.yaml", "secret.md", ".ai/directives/secret.md"] {
        scratch.put(path, "The secret.\n");
    }
    scratch
}

#[track_caller]
fn check_refused(error: &RunError, id: &str) {
    let told = problems(error).unwrap_or_else(|| innermost(error));
    assert!(!told.contains("The secret"), "{told}");
    let is_of_the_id = told.contains("not an item id") || told.contains("segment");
    assert!(is_of_the_id, "{id}: {told}");
}

#[tokio::test]
async fn dots_in_what_a_directive_refers_to() {
    for id in CLIMBING {
        let scratch = with_secret();
        let extends = format!("version=\"1.0.0\" extends=\"{id}\"");
        let knowledge = format!("<context><system><knowledge>{id}</knowledge></system></context>");
        let provider = format!("<model provider=\"{id}\" id=\"m\" />");
        for text in [
            writing("", "").replace("version=\"1.0.0\"", &extends),
            writing(&knowledge, ""),
            writing(&provider, ""),
        ] {
            scratch.sign_unchecked(".ai/directives/test/write.md", &text);
            let run = scratch.run_with("test/write", &[], |request| {
                request.provider = match text.contains("provider=") {
                    true => ProviderChoice::Directive,
                    false => ProviderChoice::Steps,
                };
            });
            check_refused(&run.await.unwrap_err(), id);
            std::fs::remove_dir_all(scratch.project().join(".ai/threads")).unwrap();
        }
    }
}

#[tokio::test]
async fn dots_in_what_a_hook_extends() {
    for id in CLIMBING {
        let scratch = with_secret();
        let hooks = format!("hooks:\n  - {{id: a, event: resolve_extends, extends: '{id}'}}\n");
        scratch.sign_unchecked(".ai/config/agent/hooks.yaml", &hooks);
        check_refused(&scratch.run("test/write", &[]).await.unwrap_err(), id);
    }
}

#[tokio::test]
async fn dots_in_the_tool_that_a_step_names() {
    for id in CLIMBING {
        let scratch = with_secret();
        let text = writing("", "")
            .replace("item_id=\"rye/file-system/write\"", &format!("item_id=\"{id}\""));
        scratch.sign_unchecked(".ai/directives/test/write.md", &text);
        let report = scratch.run("test/write", &[]).await.unwrap();
        let results = scratch.events(&report);
        let result = results.iter().find(|(name, _)| name == "tool_call_result").unwrap();
        assert_eq!(result.1["is_error"], true, "{id}: {}", result.1);
    }
}

#[tokio::test]
async fn dots_in_the_provider_that_the_operator_names() {
    let scratch = with_secret();
    for id in CLIMBING {
        let run = scratch.run_with("test/write", &[], |request| {
            request.provider = ProviderChoice::from_name(id);
        });
        check_refused(&run.await.unwrap_err(), id);
        std::fs::remove_dir_all(scratch.project().join(".ai/threads")).unwrap();
    }
}
