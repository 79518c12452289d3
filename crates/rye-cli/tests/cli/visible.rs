//! What happened in a thread and was not asked for is said: on standard error, as data, and in what stays.

use serde_json::{Value, json};

use crate::hooking::with_hooks;
use crate::server::{Answer, Server};
use crate::session::Session;
use crate::streaming::all_fit;
use crate::watching::DIRECTIVE;

const RUN: &str = "run notes/index --trust TRUST --provider steps";

/// The readable transcript of the only thread.
fn readable(session: &Session) -> String {
    let path = format!(".ai/threads/{}/transcript.md", session.thread());
    std::fs::read_to_string(session.project().join(path)).unwrap()
}

#[test]
fn an_action_of_a_hook_that_is_refused_or_fails_is_a_warning() {
    let actions = [
        (
            r#"<execute item_type="tool">rye/bash/bash</execute><inputs><command>true</command></inputs>"#,
            "an action of hook `act` was refused: ",
        ),
        (
            r#"<execute item_type="tool">rye/file-system/write</execute><inputs><path>../x</path><content>x</content></inputs>"#,
            "an action of hook `act` ",
        ),
    ];
    for (action, warning) in actions {
        let hook = format!(r#"<hook id="act" event="after_complete">{action}</hook>"#);
        let session = with_hooks(&hook);
        let told = session.rye(RUN);
        assert!(told.contains(&format!("warning: {warning}")), "{told}");
        assert!(told.ends_with("--- exit 0\n"), "{told}");
        let shown = session.rye("threads show");
        assert!(shown.contains(&format!("warning    {warning}")), "{shown}");
        let data = session.rye("threads show --json");
        assert!(data.contains(&format!("\"{warning}")), "{data}");
        let text = readable(&session);
        assert!(text.contains("**Warning: an action of hook `act` "), "{text}");
        let lines = with_hooks(&hook).rye(&format!("{RUN} --json"));
        assert!(lines.contains("\"warnings\":[") && lines.contains(warning), "{lines}");
    }
}

#[test]
fn a_hook_is_named_that_ends_a_thread_or_lacks_an_item() {
    let session = with_hooks(r#"<hook id="stop" event="after_step" effect="abort"/>"#);
    let told = session.rye(RUN);
    let reason = "hook `stop` of directive `notes/index` aborted the thread";
    assert!(told.contains(&format!("error: {reason}\n")), "{told}");
    let shown = session.rye("threads show");
    assert!(shown.contains(&format!("failure    {reason}\n")), "{shown}");
    let session = with_hooks(
        r#"<hook id="read" event="thread_started"><load item_type="knowledge" item_id="notes/gone"/></hook>"#,
    );
    let told = session.rye(RUN);
    let named = "an item that a hook names cannot be had: hook `read` of directive `notes/index`";
    assert!(told.contains(named) && told.contains("notes/gone"), "{told}");
}

#[test]
fn a_thread_that_ran_unsigned_says_so() {
    let session = Session::new();
    session.rye(RUN);
    let signed = session.rye("threads list");
    assert!(!signed.contains("unverified"), "{signed}");
    assert!(!readable(&session).contains("Unverified"));
    let session = Session::new();
    let directive = ".ai/directives/notes/index.md";
    let text = std::fs::read_to_string(session.project().join(directive)).unwrap();
    let (_signature, unsigned) = text.split_once('\n').unwrap();
    session.put(directive, unsigned);
    session.rye(&format!("{RUN} --allow-unsigned"));
    let listed = session.rye("threads list");
    assert!(listed.contains("  unverified\n"), "{listed}");
    the_mark_is_taken_from_no_changed_record(&session);
    let listed = session.rye("threads list --json");
    assert!(listed.contains("\"used_unsigned\": true"), "{listed}");
    let shown = session.rye("threads show");
    assert!(shown.contains("unverified it used items that nobody signed\n"), "{shown}");
    let shown = session.rye("threads show --json");
    assert!(shown.contains("\"used_unsigned\": true"), "{shown}");
    let text = readable(&session);
    assert!(text.contains("**Unverified: this thread used unsigned items.**"), "{text}");
}

/// A model's server that gives these statuses in turn, and then an answer of so many tokens.
fn provider(session: &Session, statuses: &[u16], tokens: u64) {
    let answer = json!({
        "choices": [{ "message": { "role": "assistant", "content": "Hello." }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 5, "completion_tokens": tokens },
    });
    let refusal = |status: &u16| Answer::json(*status, "{}").with("retry-after-ms", "2");
    let answers = statuses.iter().map(refusal).chain([Answer::json(200, answer)]);
    let url = Server::answering(answers.collect()).url();
    session.put(".ai/directives/notes/talk.md", DIRECTIVE);
    session.put(
        ".ai/tools/rye/agent/providers/own.yaml",
        &format!(
            "name: own\nprotocol: openai_chat\nbase_url: {url}\ntiers: {{fast: m}}\nstream: false\nmodels:\n  \
             m: {{context_window: 100000, max_output: 1000, prices: {{input: \"1\", output: \"1\"}}}}\n\
             retry: {{attempts: 4, first_delay_ms: 1, max_delay_ms: 1, total_seconds: 30}}\n"
        ),
    );
}

const TALK: &str = "run notes/talk --provider own --allow-unsigned";

#[test]
fn retries_are_seen_as_they_happen_and_afterwards() {
    let session = Session::new();
    provider(&session, &[429, 500], 2);
    let lines = session.rye(&format!("{TALK} --json"));
    for told in [
        "rate limited, next attempt in 2 ms (2 of 4)\n",
        "server error, next attempt in 2 ms (3 of 4); ",
        "\"event\":\"request_retried\"",
        "\"class\":\"rate_limited\"",
        "\"hint_millis\":2,\"wait_millis\":2,\"cost_nanos\":0",
        "counts as spent, because the provider may charge for it",
    ] {
        assert!(lines.contains(told), "{told}: {lines}");
    }
    assert!(all_fit(&session).contains("request_retried"));
    let shown = session.rye("threads show");
    assert!(shown.contains("request_retried    rate_limited (2 of 4)\n"), "{shown}");
    let text = readable(&session);
    assert!(text.contains(": rate limited, next attempt in 2 ms (2 of 4)*\n"), "{text}");
    let session = Session::new();
    provider(&session, &[429], 2);
    let quiet = session.rye(&format!("{TALK} --quiet"));
    assert!(!quiet.contains("next attempt"), "{quiet}");
}

#[test]
fn a_provider_that_charges_more_than_was_reserved_ends_the_thread_as_a_limit() {
    for (claimed, cost) in [(200_000, "0.200005 USD"), (1 << 62, "4294.967301 USD")] {
        let session = Session::new();
        provider(&session, &[], claimed);
        let told = session.rye(TALK);
        assert!(told.ends_with("--- exit 5\n"), "{told}");
        let limit = format!("error: limit `spend` reached: the answer cost {cost}, which is ");
        assert!(told.contains(&limit), "{told}");
        assert!(told.contains(" that was reserved for it"), "{told}");
    }
}

#[test]
fn an_answer_that_claims_no_tokens_counts_as_its_reservation() {
    let session = Session::new();
    provider(&session, &[], 0);
    let told = session.rye(TALK);
    let warning = "warning: the provider did not count all tokens of turn 1, so that the most that it may have cost, ";
    assert!(told.contains(warning) && told.ends_with("--- exit 0\n"), "{told}");
    let data: Value = serde_json::from_slice(&session.raw("threads show --json").stdout).unwrap();
    let data = &data["threads"][0];
    let records = data["records"].as_array().unwrap().iter();
    let mut reserved = records.filter_map(|record| record["payload"]["reserved_nanos"].as_u64());
    assert_eq!(data["cost_nanos"].as_u64(), reserved.next_back(), "{data}");
}

#[test]
fn what_clients_are_allowed_is_looked_up() {
    let session = Session::new();
    let told = session.rye("mcp --trust TRUST --allow rye.execute.directive.nots.*");
    let warning = "warning: `--allow rye.execute.directive.nots.*` covers no item that is there and no function behind a tool; did you mean `--allow rye.execute.directive.notes.*`?\n";
    let spelled = "mcp --trust TRUST --allow rye.execute.directive.notes.indx";
    assert!(
        session.rye(spelled).contains("did you mean `--allow rye.execute.directive.notes.index`?")
    );
    let by_id = session.rye("mcp --trust TRUST --allow notes.index");
    assert!(by_id.contains("did you mean `--allow rye.execute.directive.notes.index`?"), "{by_id}");
    assert!(told.contains(warning) && told.ends_with("exit 0\n"), "{told}");
    let told = session.rye("mcp --trust TRUST --allow rye.execute.directive.notes.*");
    assert!(!told.contains("covers no item"), "{told}");
    // Functions behind tools have to be allowed too, an alias means its tool, and what is to be signed may be still to come.
    for pattern in [
        "execute.tool.rye.web.fetch",
        "execute.tool.rye.bash.bash",
        "execute.tool.fs_*",
        "sign.knowledge.new.*",
    ] {
        let told = session.rye(&format!("mcp --trust TRUST --allow rye.{pattern}"));
        assert!(!told.contains("covers no item"), "{told}");
    }
    session.put(
        ".ai/tools/ops/call.yaml",
        "description: C.\nexecutor: mcp\nserver: s\ntool: t\ninput_schema: {type: object}\n",
    );
    let allow = "mcp --trust TRUST --allow-unsigned --allow rye.execute.tool.mcp.s.";
    assert!(!session.rye(&format!("{allow}t")).contains("covers no item"));
    assert!(session.rye(&format!("{allow}u")).contains("covers no item"));
    let told = session.rye("mcp --trust TRUST --allow rye.execute.[");
    assert!(told.ends_with("exit 2\n"), "{told}");
}

/// The list has the mark of its own. Without it, a record that was changed says nothing, which the list shows. One that was removed is
/// read from the transcript.
#[track_caller]
fn the_mark_is_taken_from_no_changed_record(session: &Session) {
    let threads = std::fs::read_dir(session.project().join(".ai/threads")).unwrap();
    let records = threads.map(|entry| entry.unwrap().path().join("thread.json"));
    let read = |path: &std::path::PathBuf| std::fs::read_to_string(path).ok();
    let record = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    let mut texts = records.filter_map(|path| read(&path).map(|text| (path, text)));
    let is_meant = |text: &String| record(text)["facts"]["verified"] == false;
    let (path, text) = texts.find(|(_, text)| is_meant(text)).unwrap();
    let mut changed = record(&text);
    changed["facts"]["verified"] = true.into();
    std::fs::write(&path, changed.to_string()).unwrap();
    let listed = session.rye("threads list");
    assert!(listed.contains("  unverified\n"), "{listed}");
    let list = session.project().join(".ai/threads/registry.db");
    std::fs::remove_file(&list).unwrap();
    let changed = session.rye("threads list");
    assert!(changed.contains("cannot be read"), "{changed}");
    session.rye("threads reindex");
    let changed = session.rye("threads list");
    assert!(changed.contains("  unverified?\n"), "{changed}");
    let data = session.rye("threads list --json");
    assert!(data.contains("\"used_unsigned\": null"), "{data}");
    std::fs::remove_file(&path).unwrap();
    let removed = session.rye("threads list");
    assert!(removed.contains("  unverified\n"), "{removed}");
    std::fs::write(path, text).unwrap();
}

/// A model's server that answers with this message and for this reason so many times, and then with a text.
fn spoilt_provider(session: &Session, message: &Value, reason: &str, count: usize) {
    provider(session, &[], 2);
    let answer = |message: &Value, reason: &str| {
        let usage = json!({ "prompt_tokens": 5, "completion_tokens": 2 });
        let choice = json!({ "message": message, "finish_reason": reason });
        Answer::json(200, json!({ "choices": [choice], "usage": usage }))
    };
    let spoilt = std::iter::repeat_n(answer(message, reason), count);
    let said = answer(&json!({ "role": "assistant", "content": "Hello." }), "stop");
    let url = Server::answering(spoilt.chain([said]).collect()).url();
    let path = ".ai/tools/rye/agent/providers/own.yaml";
    let own = std::fs::read_to_string(session.project().join(path)).unwrap();
    let lines = own.lines().map(|line| match line.strip_prefix("base_url: ") {
        Some(_) => format!("base_url: {url}\n"),
        None => format!("{line}\n"),
    });
    session.put(path, &lines.collect::<String>());
}

/// An answer that cannot be used is seen, the end after several of them says what to do, and the command that it names works.
#[test]
fn an_answer_that_cannot_be_used_is_seen_and_the_thread_goes_on() {
    let function = json!({ "name": "rye_execute", "arguments": "{\"item_id\": \"no" });
    let call = json!([{ "id": "c", "type": "function", "function": function }]);
    let called = json!({ "role": "assistant", "content": null, "tool_calls": call });
    let empty = json!({ "role": "assistant", "content": "" });
    let raise = "raise `max_output` of `m` in the file of the provider `own`";
    for (message, reason, most, seen, advice) in [
        (&called, "length", 3, "call cut off, asked again (2 of 3)", raise),
        (
            &called,
            "tool_calls",
            3,
            "malformed answer, asked again (3 of 3)",
            "it was asked three times",
        ),
        (&empty, "stop", 2, "empty answer, asked again (2 of 2)", "it was asked twice"),
    ] {
        let session = Session::new();
        spoilt_provider(&session, message, reason, most);
        let told = session.rye(TALK);
        assert!(told.contains(seen) && told.ends_with("--- exit 1\n"), "{told}");
        assert!(told.contains(&format!("; {advice}\n")), "{told}");
        assert!(told.contains("go on with `rye resume "), "{told}");
        assert!(told.contains("warning: an answer of turn 1 was not used"), "{told}");
        let resumed = session.rye("resume THREAD --allow-unsigned --json");
        assert!(resumed.ends_with("--- exit 0\n") && resumed.contains("Hello."), "{resumed}");
        let replayed = session.rye("replay THREAD --allow-unsigned");
        assert!(replayed.ends_with("--- exit 0\n"), "{replayed}");

        let session = Session::new();
        spoilt_provider(&session, message, reason, most - 1);
        let told = session.rye(&format!("{TALK} --json"));
        assert!(
            told.ends_with("--- exit 0\n") && told.contains("\"event\":\"request_retried\""),
            "{told}"
        );
        let text = readable(&session);
        let last = seen.replace(" (2 of 3)", "").replace(" (3 of 3)", "").replace(" (2 of 2)", "");
        assert!(text.contains(&last), "{text}");
        assert!(all_fit(&session).contains("request_retried"));
    }
}
