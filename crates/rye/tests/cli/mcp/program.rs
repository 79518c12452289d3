//! How the program starts a server, and when it does not.

use crate::session::Session;

#[test]
fn a_client_that_says_nothing_is_no_failure() {
    insta::assert_snapshot!(Session::new().rye("mcp --trust TRUST"));
}

#[test]
fn what_is_too_dangerous_is_refused_unless_it_is_acknowledged() {
    let session = Session::new();
    insta::assert_snapshot!(session.rye("mcp --allow rye.*"));
    insta::assert_snapshot!(
        session
            .rye("mcp --allow rye.* --acknowledge unrestricted=tests --acknowledge elevated=tests")
    );
    insta::assert_snapshot!(session.rye("mcp --allow rye.* --acknowledge unrestricted"));
}

#[test]
fn a_port_takes_a_token_once_more_than_reading_is_allowed() {
    let session = Session::new();
    let line = "mcp --http 127.0.0.1:0 --allow rye.execute.tool.rye.file-system.read";
    insta::assert_snapshot!(session.rye(line));
    insta::assert_snapshot!(session.rye_with(line, &[("RYE_MCP_TOKEN", "short")]));
}

#[test]
fn a_client_approves_of_nothing_where_nothing_can_wait() {
    let session = Session::new();
    insta::assert_snapshot!(
        session.rye("mcp --approve-by-client --allow rye.execute.tool.rye.file-system.read")
    );
    let served =
        session.rye("mcp --trust TRUST --approve-by-client --allow rye.execute.directive.notes.*");
    assert!(served.ends_with("exit 0\n"), "{served}");
}

#[test]
fn an_address_that_other_machines_reach_is_refused() {
    insta::assert_snapshot!(Session::new().rye("mcp --http 0.0.0.0:0"));
}

#[test]
fn an_origin_is_a_whole_one() {
    for origin in ["*", "http://*:1", "localhost:6274", "http://localhost", "http://a/b:1", "null"]
    {
        let output = Session::new().rye(&format!("mcp --http 127.0.0.1:0 --allow-origin {origin}"));
        assert!(
            output.contains("write scheme, host and port") && output.ends_with("exit 2\n"),
            "{output}"
        );
    }
}

/// Whoever lets clients start programs is told what those are not kept from, and so are the clients.
#[test]
fn a_weak_sandbox_is_told_of_at_the_start() {
    let session = Session::new();
    session.put("../home/.ai/config/agent/processes.yaml", "sandbox: off\n");
    let own = [("RYE_DEV_MODE", "1")];
    let warning = "warning: programs run in the sandbox `none`, which does not keep everything in";
    let served = session.rye_with("mcp --trust TRUST --allow rye.execute.directive.notes.*", &own);
    assert!(served.contains(warning) && served.ends_with("exit 0\n"), "{served}");
    let reading = session.rye_with("mcp --trust TRUST", &own);
    assert!(!reading.contains("sandbox"), "{reading}");
}
