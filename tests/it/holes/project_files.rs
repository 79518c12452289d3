//! Files of a project that a file tool must not write, because they run programs or change policy.

use std::fs;

use rye::types::ThreadState;
use rye_tests::Scratch;

use super::writing;

/// Runs a directive that writes `hello` to `path` in a project with these files, checks that it is refused,
/// and returns the project.
async fn attempt(path: &str, files: &[(&str, &str)]) -> Scratch {
    let scratch = Scratch::new();
    for (path, text) in files {
        scratch.put(path, text);
    }
    scratch.sign(".ai/directives/test/write.md", &writing("", "").replace("out.txt", path));
    let report = scratch.run("test/write", &[]).await.unwrap();
    let results = scratch.events(&report);
    let result = results.iter().find(|(name, _)| name == "tool_call_result").unwrap();
    let said = result.1.to_string();
    assert!(said.contains(" is refused: "), "{path}: {said}");
    assert_ne!(report.outcome.state, ThreadState::Running);
    scratch
}

/// Checks that the file was not created or changed.
async fn check(path: &str, files: &[(&str, &str)]) {
    let scratch = attempt(path, files).await;
    let before = files.iter().find(|(file, _)| *file == path).map(|(_, text)| (*text).to_owned());
    assert_eq!(fs::read_to_string(scratch.project().join(path)).ok(), before, "{path}");
}

const HEAD: (&str, &str) = ("docs/HEAD", "ref: refs/heads/main\n");

#[tokio::test]
async fn a_file_that_the_next_git_runs() {
    check(".git/hooks/pre-commit", &[]).await;
    check("sub/.git/hooks/post-checkout", &[("sub/.git/HEAD", "ref: refs/heads/main\n")]).await;
    check("module/.git", &[("module/.git", "gitdir: ../.git/modules/module\n")]).await;
    check("new/.git/config", &[]).await;
    check("new/.GiT/config", &[]).await;
    check("new/.g\u{200d}it/config", &[]).await;
    check(".git/worktrees/tree/config.worktree", &[]).await;
}

#[tokio::test]
async fn a_bare_repository_made_piece_by_piece() {
    let objects = ("docs/objects/x", "x");
    let refs = ("docs/refs/x", "x");
    check("docs/HEAD", &[objects, refs]).await;
    check("docs/HEAD", &[]).await;
    check("HEAD", &[]).await;
    check("docs/objects/x", &[HEAD, refs]).await;
    check("docs/refs/x", &[HEAD, objects]).await;
    check("docs/commondir", &[HEAD]).await;
    check("docs/config", &[HEAD, objects, refs, ("docs/config", "[core]\n")]).await;
    check("docs/hooks/post-checkout", &[HEAD, objects, refs]).await;
}

#[tokio::test]
async fn a_file_that_decides_about_later_runs() {
    check(".ai/config/agent/approval.yaml", &[]).await;
    check(".ai/config/keys/trusted/mine.toml", &[]).await;
    check(".ai/rye.lock", &[(".ai/rye.lock", "version = 1\n")]).await;
    check(".ai/tools/rye/agent/providers/local.yaml", &[]).await;
    check(".ai/threads/x/transcript.jsonl", &[]).await;
}

#[tokio::test]
async fn a_file_that_starts_by_itself_is_named() {
    let scratch = Scratch::new();
    scratch.sign(".ai/directives/test/write.md", &writing("", "").replace("out.txt", ".envrc"));
    let report = scratch.run("test/write", &[]).await.unwrap();
    assert_eq!(report.self_starting, [".envrc"]);
    assert_eq!(report.to_json()["self_starting"], serde_json::json!([".envrc"]));
    let threads = scratch.project().join(".ai/threads");
    let reading = scratch.rye().thread(&threads, &report.thread).unwrap();
    assert_eq!(reading.self_starting(), [".envrc"]);
    let page = fs::read_to_string(report.folder.join("transcript.md")).unwrap();
    assert!(page.contains("\"self_starting\""), "{page}");
}

/// Such a reason would acknowledge a risk without any text that a reviewer can see.
#[tokio::test]
async fn an_acknowledgement_without_a_visible_reason() {
    for reason in ["\u{200b}", "\u{3164}", "\u{2800}", "\u{a0}", "\u{202e}\u{2060}"] {
        let scratch = Scratch::new();
        let grant = format!(
            "<permissions><execute>*</execute><acknowledge risk=\"unrestricted\">{reason}</acknowledge></permissions>"
        );
        let text = rye_tests::writing(&grant, "");
        scratch.sign_unchecked(".ai/directives/test/write.md", &text);
        assert!(scratch.run("test/write", &[]).await.is_err(), "{reason:?}");
        assert!(!super::wrote(&scratch));
    }
}
