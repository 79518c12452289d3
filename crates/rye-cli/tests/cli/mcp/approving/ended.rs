//! A client that gives up on a thread that waits.

use rye::Approvals;
use serde_json::json;

use super::super::wire::{Era, Wire};
use super::{FIRST, arguments, asking, decisions, server};

#[tokio::test]
async fn a_thread_that_waits_is_ended_for_good() {
    for era in [Era::Initialize, Era::Inline] {
        let session = asking();
        let mut wire = Wire::begin(server(&session, Approvals::Operator), era).await;
        let begun = wire.call("rye_execute", arguments()).await;
        assert_eq!(begun["structuredContent"]["state"], "suspended", "{begun}");
        let thread = json!({ "thread": FIRST });
        let ended = wire.call("rye_thread_cancel", thread.clone()).await;
        let told = json!({
            "thread": FIRST,
            "state": "cancelled",
            "went_on_in": null,
            "cancelled_below": [],
        });
        assert_eq!((&ended["structuredContent"], &ended["isError"]), (&told, &json!(false)));
        for tool in ["rye_thread_status", "rye_thread_cancel"] {
            assert_eq!(wire.call(tool, thread.clone()).await["structuredContent"], told, "{tool}");
        }
        // Nobody can approve of the call any more, or go on.
        for command in ["approve", "resume"] {
            let refused = session.rye(&format!("{command} {FIRST} --trust TRUST"));
            assert!(refused.contains("cancelled") && !refused.ends_with("exit 0\n"), "{refused}");
        }
        assert_eq!(decisions(&session, FIRST), Vec::<[String; 3]>::new());
        assert!(!session.project().join("INDEX.md").exists());
    }
}
