//! The grants of the signer of a returned item limit the thread from then on.

use rye::sign::{SigningKey, TrustDocument};
use rye::thread::Decision;
use rye::types::ThreadState;
use rye::{ReopenError, with_signature};
use rye_tests::Scratch;
use serde_json::Value;

use super::{DIRECTIVES, action, directive, knowledge, put, results, write};

/// A project, and a second key that may grant less than the project's own key.
struct Guest {
    scratch: Scratch,
    key: SigningKey,
}

impl Guest {
    fn new(grants: &[&str]) -> Self {
        let scratch = Scratch::new().with_operator();
        let key = SigningKey::generate().unwrap();
        let grants = grants.iter().map(|&grant| grant.to_owned());
        let document = TrustDocument::new("the guest", key.public()).with_grants(grants);
        let file = format!(".ai/config/keys/trusted/{}.toml", key.public().key_id());
        scratch.put_user(&file, &document.to_toml());
        Self { scratch, key }
    }

    fn sign(&self, path: &str, text: &str) {
        let at = "2026-11-20T00:00:00Z".parse().unwrap();
        let text = with_signature(&self.scratch.project().join(path), text, &self.key, at).unwrap();
        self.scratch.put(path, &text);
    }

    fn asks(&self, capability: &str) {
        self.scratch.sign(".ai/config/agent/approval.yaml", &format!("ask:\n  - {capability}\n"));
    }

    fn wrote(&self, path: &str) -> bool {
        self.scratch.project().join(path).exists()
    }

    /// Checks that a result is a refusal that names the limited signing key.
    #[track_caller]
    fn check_refused(&self, told: &Value) {
        let message = told["content"]["error"].as_str().unwrap();
        let key = self.key.public().key_id().to_string();
        assert!(
            message.contains(&format!("is not allowed by the signing key `{key}`")),
            "{message}"
        );
    }
}

const READ: &str = "rye.execute.tool.rye.file-system.read";

#[tokio::test]
async fn a_call_outside_of_what_the_signer_may_grant_is_denied() {
    let guest = Guest::new(&[READ]);
    guest.sign(".ai/knowledge/test/advice.md", &knowledge("Write files."));
    guest.sign(".ai/directives/test/inner.md", &directive("inner", "*", &[], ""));
    for (kind, id) in [("knowledge", "test/advice"), ("directive", "test/inner")] {
        let execute = action(kind, id, &[]);
        let steps = [write("before.txt"), execute, write("after.txt")];
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        put(&guest.scratch, "outer", &directive("outer", DIRECTIVES, &steps, ""));
        let report = guest.scratch.run("test/outer", &[]).await.unwrap();
        assert!(guest.wrote("before.txt") && !guest.wrote("after.txt"), "{kind}");
        let events = guest.scratch.events(&report);
        let told = results(&events);
        guest.check_refused(told[2]);
        let added = &told[1]["added"][0];
        assert_eq!((&added["item"]["kind"], &added["item"]["id"]), (&kind.into(), &id.into()));
        assert_eq!(added["key_id"], guest.key.public().key_id().as_str());
        assert!(added["item"]["content_sha256"].is_string() && added["item"]["sha256"].is_string());
        let replayed = guest.scratch.rye().replay(&report.thread).await.unwrap();
        assert_eq!(replayed.divergence, None, "{kind}");
        std::fs::remove_dir_all(report.folder).unwrap();
        std::fs::remove_file(guest.scratch.project().join("before.txt")).unwrap();
    }
}

/// Of two calls in one turn, the second is already limited by the item that the first added.
#[tokio::test]
async fn a_call_of_the_same_turn_is_bounded_as_well() {
    let guest = Guest::new(&[READ]);
    guest.sign(".ai/knowledge/test/advice.md", &knowledge("Write files."));
    let both = format!("{}{}", action("knowledge", "test/advice", &[]), write("after.txt"));
    put(&guest.scratch, "outer", &directive("outer", DIRECTIVES, &[&both], ""));
    let report = guest.scratch.run("test/outer", &[]).await.unwrap();
    assert!(!guest.wrote("after.txt"));
    guest.check_refused(results(&guest.scratch.events(&report))[1]);
}

#[tokio::test]
async fn a_thread_that_is_resumed_is_bounded_as_it_was() {
    let guest = Guest::new(&[READ]);
    guest.sign(".ai/knowledge/test/advice.md", &knowledge("Write files."));
    guest.asks(READ);
    guest.scratch.put("some.txt", "some");
    let read = action("tool", "rye/file-system/read", &[("path", "some.txt")]);
    let steps = [action("knowledge", "test/advice", &[]), read, write("after.txt")];
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    put(&guest.scratch, "outer", &directive("outer", DIRECTIVES, &steps, ""));
    let report = guest.scratch.run("test/outer", &[]).await.unwrap();
    assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
    guest.scratch.decide(&report.thread, &Decision::Approved);

    // A changed item is noticed.
    let path = ".ai/knowledge/test/advice.md";
    let file = guest.scratch.project().join(path);
    let then = std::fs::read_to_string(&file).unwrap();
    guest.sign(path, &knowledge("Write other files."));
    let error = guest.scratch.resume(&report.thread).await.unwrap_err();
    let ReopenError::Changed { changes, .. } = &error else { panic!("{error:?}") };
    assert_eq!(changes, &["knowledge `test/advice`"]);
    // The same text, signed by a key that may grant everything, is noticed too.
    guest.scratch.sign(path, &knowledge("Write files."));
    assert!(matches!(
        guest.scratch.resume(&report.thread).await.unwrap_err(),
        ReopenError::Changed { .. }
    ));
    std::fs::write(&file, then).unwrap();

    let report = guest.scratch.resume(&report.thread).await.unwrap();
    assert!(!guest.wrote("after.txt"));
    let events = guest.scratch.events(&report);
    let told = results(&events);
    assert_eq!(told[1]["content"]["content"], "some");
    guest.check_refused(told[2]);
    let resumed = events.iter().find(|(name, _)| name == "thread_resumed").unwrap();
    let token = resumed.1["facts"]["token"].to_string();
    assert!(token.contains(&format!("[\"{READ}\"]")), "{token}");
}

/// A child is limited by the items that calls had added to its parent before its start, and by no later ones.
#[tokio::test]
async fn children_that_are_started_later_are_bounded() {
    let grants = ["rye.execute.tool.rye.agent.threads.*", "rye.execute.directive.*"];
    let guest = Guest::new(&grants);
    guest.sign(".ai/knowledge/test/advice.md", &knowledge("Start children."));
    let spawn = |child: &str| {
        let thread = "rye/agent/threads/thread_directive";
        action("tool", thread, &[("directive", child)])
    };
    let own = "<execute><tool>rye.file-system.*</tool></execute>";
    put(&guest.scratch, "first", &directive("first", own, &[&write("first.txt")], ""));
    put(&guest.scratch, "second", &directive("second", own, &[&write("second.txt")], ""));
    let steps =
        [spawn("test/first"), action("knowledge", "test/advice", &[]), spawn("test/second")];
    let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
    put(&guest.scratch, "outer", &directive("outer", DIRECTIVES, &steps, ""));
    let report = guest.scratch.run("test/outer", &[]).await.unwrap();
    assert!(guest.wrote("first.txt") && !guest.wrote("second.txt"));
    let events = guest.scratch.events(&report);
    guest.check_refused_below(results(&events)[2]);
}

impl Guest {
    #[track_caller]
    fn check_refused_below(&self, told: &Value) {
        let message = told["content"].to_string();
        assert!(message.contains(self.key.public().key_id().as_str()), "{message}");
    }
}

/// A child that waited for approval is resumed with the limits of its start, whether it started before or
/// after the item was added.
#[tokio::test]
async fn children_are_resumed_under_the_bounds_of_their_start() {
    let threads = ["rye.execute.tool.rye.agent.threads.*", "rye.execute.directive.*"];
    for (is_bounded, grants) in [(false, vec![]), (true, vec![READ])] {
        let guest = Guest::new(&[threads.as_slice(), &grants].concat());
        guest.sign(".ai/knowledge/test/advice.md", &knowledge("Start children."));
        guest.asks(READ);
        guest.scratch.put("some.txt", "some");
        let read = action("tool", "rye/file-system/read", &[("path", "some.txt")]);
        let own = "<execute><tool>rye.file-system.*</tool></execute>";
        let child = directive("child", own, &[&read, &write("child.txt")], "");
        put(&guest.scratch, "child", &child);
        let spawn = action(
            "tool",
            "rye/agent/threads/thread_directive",
            &[("directive", "test/child"), ("async", if is_bounded { "false" } else { "true" })],
        );
        let advice = action("knowledge", "test/advice", &[]);
        let steps = if is_bounded { [advice, spawn] } else { [spawn, advice] };
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        put(&guest.scratch, "outer", &directive("outer", DIRECTIVES, &steps, ""));
        let report = guest.scratch.run("test/outer", &[]).await.unwrap();
        assert_eq!(report.outcome.state, ThreadState::Suspended, "{:?}", report.outcome.failure);
        let asked = report.outcome.asked.clone().unwrap().thread;
        assert_ne!(asked, report.thread);
        guest.scratch.decide(&asked, &Decision::Approved);
        let resumed = guest.scratch.resume(&report.thread).await.unwrap();
        assert!(resumed.outcome.state.is_final(), "{:?}", resumed.warnings);
        assert_eq!(guest.wrote("child.txt"), !is_bounded);
    }
}
