//! What a collector on this machine is sent of a run, by the program built with the feature `otel`.

mod wire;

use self::wire::{Span, read};
use crate::server::{Answer, Server};
use crate::session::Session;

const STEPS: &str = "run notes/index --trust TRUST --provider steps";
const SECRET: &str = "sk-very-secret";

fn ok() -> Answer {
    Answer::json(200, "")
}

/// The spans as a tree, children below their parents in the order in which they began, with the thread's id left out.
fn tree(spans: &[Span], thread: &str) -> String {
    let mut tree = String::new();
    write(spans, &[], 0, &mut tree);
    if thread.is_empty() { tree } else { tree.replace(thread, "<THREAD>") }
}

fn write(spans: &[Span], parent: &[u8], depth: usize, tree: &mut String) {
    let mut children: Vec<&Span> = spans.iter().filter(|span| span.parent == parent).collect();
    children.sort_by_key(|span| span.start);
    for span in children {
        let (indent, status) = ("  ".repeat(depth), if span.failed { " failed" } else { "" });
        tree.push_str(&format!("{indent}{} ({}{status})\n", span.name, span.kind));
        span.attributes.iter().for_each(|it| tree.push_str(&format!("{indent}    {it}\n")));
        span.events.iter().for_each(|it| tree.push_str(&format!("{indent}    - {it}\n")));
        write(spans, &span.id, depth + 1, tree);
    }
}

/// Runs once with a collector in the environment; what it was sent, and what a person saw.
fn collected(session: &Session, arguments: &str) -> (Vec<String>, Vec<Span>, String) {
    let collector = Server::answering(vec![ok()]);
    let url = collector.url();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-tenant=me"),
        ("OTEL_SERVICE_NAME", "night-run"),
        ("OPENAI_API_KEY", SECRET),
    ];
    let shown = session.rye_with(arguments, &variables);
    let mut received = collector.received();
    assert_eq!(received.len(), 1, "all is sent at once when the run has ended: {shown}");
    let request = received.remove(0);
    assert_eq!(request.line, "POST /v1/traces");
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!(request.header("x-tenant"), Some("me"));
    let body = String::from_utf8_lossy(&request.body);
    for content in [SECRET, "Bread", "bread.md", "INDEX.md", "one Markdown file", "SECRET"] {
        assert!(!body.contains(content), "names and numbers alone are told, and no `{content}`");
    }
    let (resource, spans) = read(&request.body);
    check_whole(&spans);
    (resource, spans, shown)
}

/// One trace, whose spans lie within their parents.
#[track_caller]
fn check_whole(spans: &[Span]) {
    let root = spans.iter().find(|span| span.parent.is_empty()).unwrap();
    for span in spans {
        assert_eq!((span.trace.len(), span.id.len()), (16, 8));
        assert_eq!(span.trace, root.trace, "{span:?}");
        let parent = spans.iter().find(|parent| parent.id == span.parent).unwrap_or(root);
        assert!(parent.start <= span.start && span.end <= parent.end, "{span:?} in {parent:?}");
    }
}

const CONVERSATION: &str = "gen_ai.conversation.id=\"<THREAD>\"";

fn agent(directive: &str, model: [&str; 2], usage: [u64; 4], end: &str) -> String {
    let [provider, model] = model;
    let (error, status, state) = match end {
        "completed" => (String::new(), "", end),
        class => (format!("    error.type=\"{class}\"\n"), " failed", "error"),
    };
    format!(
        "invoke_agent {directive} (internal{status})\n{error}    gen_ai.agent.name=\"{directive}\"\n    {CONVERSATION}\n    \
         gen_ai.operation.name=\"invoke_agent\"\n    gen_ai.provider.name=\"{provider}\"\n    \
         gen_ai.request.model=\"{model}\"\n{}    rye.thread.state=\"{state}\"\n",
        counted("    ", usage)
    )
}

fn counted(indent: &str, [written, read, input, output]: [u64; 4]) -> String {
    format!(
        "{indent}gen_ai.usage.cache_read.input_tokens={read}\n{indent}gen_ai.usage.cache_write.input_tokens={written}\n\
         {indent}gen_ai.usage.input_tokens={input}\n{indent}gen_ai.usage.output_tokens={output}\n"
    )
}

fn step() -> String {
    format!(
        "  chat none (internal)\n      {CONVERSATION}\n      gen_ai.operation.name=\"chat\"\n      \
         gen_ai.provider.name=\"steps\"\n      gen_ai.request.max_tokens=1\n      gen_ai.request.model=\"none\"\n      \
         gen_ai.response.finish_reasons=[\"tool_use\"]\n{}",
        counted("      ", [0; 4])
    )
}

fn tool(name: &str, id: &str) -> String {
    format!(
        "  execute_tool {name} (internal)\n      gen_ai.operation.name=\"execute_tool\"\n      gen_ai.tool.call.id=\"{id}\"\n      \
         gen_ai.tool.name=\"{name}\"\n      gen_ai.tool.type=\"function\"\n"
    )
}

#[test]
fn a_run_of_steps() {
    let session = Session::new();
    let (resource, spans, shown) = collected(&session, STEPS);
    assert!(shown.ends_with("--- exit 0\n") && !shown.contains("warning"), "{shown}");
    assert!(resource.contains(&"service.name=\"night-run\"".to_owned()), "{resource:?}");
    let version = format!("service.version={:?}", env!("CARGO_PKG_VERSION"));
    assert!(resource.contains(&version), "{resource:?}");
    let conventions = "scope rye.gen_ai.conventions.version=\"0.1.0\"".to_owned();
    assert!(resource.contains(&conventions), "{resource:?}");
    let expected = [
        agent("notes/index", ["steps", "none"], [0; 4], "completed"),
        step(),
        tool("rye/file-system/ls", "step_1_1"),
        step(),
        tool("rye/file-system/write", "step_2_1"),
        step(),
        tool("rye/file-system/read", "step_3_1"),
        step(),
    ];
    assert_eq!(tree(&spans, &session.thread()), expected.concat());
}

/// A directive whose model is on this machine, behind a key.
fn asking(vendor: &Server) -> Session {
    let session = Session::new();
    let url = vendor.url();
    session.provider(
        "vendor",
        &format!(
            "name: vendor\nprotocol: openai_chat\nbase_url: {url}\nauth: {{env: OPENAI_API_KEY, header: authorization}}\ntiers: {{fast: m}}\n\
             models:\n  m:\n    context_window: 100000\n    max_output: 100\n    prices: {{input: \"1\", output: \"1\"}}\n\
             retry: {{attempts: 2, first_delay_ms: 1, max_delay_ms: 1, total_seconds: 30}}\n"
        ),
    );
    session.put(
        ".ai/directives/ask.md",
        "# Ask\n\n```xml\n<directive name=\"ask\" version=\"1.0.0\">\n  <metadata><description>Asks.</description>\n    \
         <model tier=\"fast\"/><permissions/></metadata>\n</directive>\n```\n\nSay SECRET.\n",
    );
    session
}

const ASK: &str = "run ask --provider vendor --allow-unsigned";

/// One attempt at asking the vendor, as OpenTelemetry's HTTP conventions have it.
fn post(vendor: &Server, attempt: u64, status: &str) -> String {
    let (port, url) = (vendor.port, vendor.url());
    let failed = status != "200";
    let error = if failed { format!("        error.type=\"{status}\"\n") } else { String::new() };
    let resent = match attempt {
        1 => String::new(),
        n => format!("        http.request.resend_count={}\n", n - 1),
    };
    format!(
        "    POST (client{})\n{error}        http.request.method=\"POST\"\n{resent}        \
         http.response.status_code={status}\n        server.address=\"127.0.0.1\"\n        server.port={port}\n        \
         url.full=\"{url}/v1/chat/completions\"\n",
        if failed { " failed" } else { "" },
    )
}

fn limited() -> Answer {
    let body = r#"{"error": {"type": "rate_limit", "message": "SECRET"}}"#;
    Answer::json(429, body).with("retry-after-ms", "1")
}

fn chat(vendor: &Server, ended: &str, status: &str) -> String {
    let port = vendor.port;
    format!(
        "  chat m (client{status})\n{}      {CONVERSATION}\n      gen_ai.operation.name=\"chat\"\n      \
         gen_ai.provider.name=\"vendor\"\n      gen_ai.request.max_tokens=100\n      gen_ai.request.model=\"m\"\n      \
         gen_ai.request.stream=true\n{}      server.address=\"127.0.0.1\"\n      server.port={port}\n",
        if status.is_empty() { "" } else { ended },
        if status.is_empty() { ended } else { "" },
    )
}

const WAITED: &str = "      - the request is sent again: error.type=\"rate_limited\" http.request.resend_count=1 \
                      level=\"INFO\" target=\"rye_providers::http::telemetry\" wait_seconds=0.001\n";

#[test]
fn a_run_of_a_model_that_is_busy_at_first() {
    let answer = r#"{"id": "x", "object": "chat.completion", "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "SECRET"}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15,
                  "prompt_tokens_details": {"cached_tokens": 4}}}"#;
    let vendor = Server::answering(vec![limited(), Answer::json(200, answer)]);
    let session = asking(&vendor);
    let (_, spans, shown) = collected(&session, ASK);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let reasons = "      gen_ai.response.finish_reasons=[\"end_turn\"]\n";
    let answered = format!("{reasons}{}", counted("      ", [0, 4, 12, 3]));
    let expected = [
        agent("ask", ["vendor", "m"], [0, 4, 12, 3], "completed"),
        chat(&vendor, &answered, ""),
        WAITED.to_owned(),
        post(&vendor, 1, "429"),
        post(&vendor, 2, "200"),
    ];
    assert_eq!(tree(&spans, &session.thread()), expected.concat());
    // The key went to the vendor, and to nobody else.
    let (sent, bearer) = (vendor.received(), format!("Bearer {SECRET}"));
    assert!(sent.iter().all(|it| it.header("authorization") == Some(&bearer)));
}

#[test]
fn a_run_that_fails() {
    let vendor = Server::answering(vec![limited()]);
    let session = asking(&vendor);
    let (_, spans, shown) = collected(&session, ASK);
    assert!(shown.ends_with("--- exit 1\n"), "{shown}");
    let expected = [
        agent("ask", ["vendor", "m"], [0; 4], "rate_limited"),
        chat(&vendor, "      error.type=\"rate_limited\"\n", " failed"),
        WAITED.to_owned(),
        post(&vendor, 1, "429"),
        post(&vendor, 2, "429"),
    ];
    assert_eq!(tree(&spans, &session.thread()), expected.concat());
}

/// Runs the quick start, which must not mind; what is said of telemetry.
#[track_caller]
fn warned(variables: &[(&str, &str)]) -> String {
    let shown = Session::new().rye_with(STEPS, variables);
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let warnings: Vec<&str> = shown.lines().filter(|line| line.contains("telemetry")).collect();
    assert!(warnings.len() < 2, "it is said once: {shown}");
    warnings.concat()
}

/// What a collector is sent under these variables beside its address, and what is said.
#[track_caller]
fn answered(answer: Answer, variables: &[(&str, &str)]) -> (usize, String) {
    let collector = Server::answering(vec![answer]);
    let url = collector.url();
    let all: Vec<(&str, &str)> =
        [("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())].iter().chain(variables).copied().collect();
    let said = warned(&all);
    (collector.received().len(), said)
}

#[test]
fn nothing_is_sent_unasked() {
    assert_eq!(warned(&[]), "");
    assert_eq!(answered(ok(), &[("OTEL_SDK_DISABLED", "true")]), (0, String::new()));
    assert_eq!(answered(ok(), &[("OTEL_TRACES_EXPORTER", "none")]), (0, String::new()));
}

/// No run fails for want of a collector, and what went wrong is said once and without what an address may hold.
#[test]
fn what_cannot_be_sent_is_said() {
    let said = |why: &str| format!("warning: telemetry was not sent: {why}");
    let grpc = "`OTEL_EXPORTER_OTLP_PROTOCOL` is `grpc`; only `http/protobuf` is spoken";
    assert_eq!(answered(ok(), &[("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]), (0, said(grpc)));
    let refused = answered(Answer::json(401, ""), &[]);
    assert_eq!(refused, (1, said("the collector answered 401 Unauthorized")));
    let moved = Answer::json(307, "").with("location", "http://127.0.0.1:1/");
    let moved = answered(moved, &[]);
    assert_eq!(moved, (1, said("the collector answered 307 Temporary Redirect")));

    // A port that was free a moment ago and that nobody listens on.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("http://me:{SECRET}@127.0.0.1:{port}");
    let shown = warned(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &nobody)]);
    assert!(shown.starts_with(&said("error sending request: ")), "{shown}");
    assert!(!shown.contains(SECRET), "{shown}");
    let nonsense = warned(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "no address")]);
    assert!(nonsense.starts_with(&said("invalid exporter configuration: ")), "{nonsense}");
}

#[test]
fn the_version_says_that_it_is_in() {
    let version = env!("CARGO_PKG_VERSION");
    let shown = Session::new().rye("--version");
    let expected = format!("rye {version} with telemetry (otel)");
    assert_eq!(shown.lines().nth(1), Some(expected.as_str()));
}

/// A child's spans lie within those of the call that started it.
#[test]
fn a_thread_below_a_thread() {
    let session = Session::new();
    let directive = |name: &str, granted: &str, call: &str| {
        format!(
            "# {name}\n\n```xml\n<directive name=\"{name}\" version=\"1.0.0\">\n  <metadata><description>For a test.</description>\n    \
             <permissions><execute>{granted}</execute></permissions></metadata>\n</directive>\n```\n\n<process>\n  \
             <step name=\"s\">\n    <description>Do.</description>\n    {call}\n  </step>\n</process>\n"
        )
    };
    let list = "<execute item_type=\"tool\" item_id=\"rye/file-system/ls\"></execute>";
    let child = directive("below", "<tool>rye.file-system.ls</tool>", list);
    let start = "<execute item_type=\"tool\" item_id=\"rye/agent/threads/thread_directive\">\
                 <param name=\"directive\">below</param></execute>";
    let granted = "<tool>rye.agent.threads.*</tool><tool>rye.file-system.ls</tool><directive>below</directive>";
    session.put(".ai/directives/below.md", &child);
    session.put(".ai/directives/above.md", &directive("above", granted, start));
    let (_, spans, shown) = collected(&session, "run above --provider steps --allow-unsigned");
    assert!(shown.ends_with("--- exit 0\n"), "{shown}");
    let shown = tree(&spans, "");
    let names: Vec<&str> = shown.lines().filter(|line| line.ends_with("(internal)")).collect();
    let expected = [
        "invoke_agent above (internal)",
        "  chat none (internal)",
        "  execute_tool rye/agent/threads/thread_directive (internal)",
        "    invoke_agent below (internal)",
        "      chat none (internal)",
        "      execute_tool rye/file-system/ls (internal)",
        "      chat none (internal)",
        "  chat none (internal)",
    ];
    assert_eq!(names, expected);
}
