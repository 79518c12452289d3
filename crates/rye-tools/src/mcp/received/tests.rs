use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientJsonRpcMessage, ClientRequest, DiscoverRequest, DiscoverRequestParams, JsonRpcMessage,
    ListToolsRequest, PingRequest, ServerJsonRpcMessage, ServerResult,
};
use serde_json::Value;

use super::*;

const PING: i64 = 1;
const TOOLS: i64 = 2;
const CALL: i64 = 3;
const REVISIONS: i64 = 4;

fn id(number: i64) -> RequestId {
    RequestId::Number(number)
}

/// The open requests of these ids.
fn open(ids: &[i64]) -> Awaited {
    let awaited = Awaited::default();
    for number in ids {
        let request: ClientRequest = match *number {
            TOOLS => ListToolsRequest::default().into(),
            CALL => CallToolRequest::new(CallToolRequestParams::new("echo")).into(),
            REVISIONS => DiscoverRequest::new(DiscoverRequestParams {}).into(),
            _ => PingRequest::default().into(),
        };
        awaited.note(&ClientJsonRpcMessage::request(request, id(*number)));
    }
    awaited
}

/// The lines as JSON. The library reads each of them.
fn read(lines: &[String]) -> Vec<Value> {
    let read = lines.iter().map(|line| {
        assert_eq!(line.find('\n'), Some(line.len() - 1), "{line:?}");
        serde_json::from_str::<ServerJsonRpcMessage>(line).unwrap();
        serde_json::from_str(line).unwrap()
    });
    read.collect()
}

fn unreadable(number: i64, problem: &str) -> Value {
    serde_json::from_str(&unreadable_line(&id(number), problem)).unwrap()
}

fn error(number: i64, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": number, "error": { "code": code, "message": message } })
}

/// The result of a call in the form in which the client takes it.
fn called(written: &str) -> Value {
    let result = json!({ "content": [], "_meta": { WRITTEN: written } });
    json!({ "jsonrpc": "2.0", "id": CALL, "result": result })
}

const RESULT: &str = r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]}}"#;

/// What is harmless is read, while two requests are open.
#[test]
fn an_answer_that_can_be_read_is_used() {
    let result = || called(r#"{"content":[]}"#);
    let ping = || json!({ "jsonrpc": "2.0", "id": PING, "result": {} });
    let note = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let told = || serde_json::from_str::<Value>(note).unwrap();
    for (text, expected) in [
        (RESULT.to_owned(), vec![result()]),
        (format!("\u{feff} {RESULT}\r\n"), vec![result()]),
        (RESULT.replace("\"2.0\"", "\"1.0\""), vec![result()]),
        (RESULT.replace("\"jsonrpc\":\"2.0\",", ""), vec![result()]),
        (RESULT.replace(":3", ":3.0"), vec![result()]),
        (RESULT.replace(":3", ":\"3\""), vec![result()]),
        (RESULT.replace("\"id\"", "\"error\":null,\"id\""), vec![result()]),
        (format!("{note}{RESULT}"), vec![told(), result()]),
        (format!("[{note}, {RESULT}]"), vec![told(), result()]),
        (format!("{RESULT}{}", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), vec![result(), ping()]),
        (
            RESULT.replace("[]", r#"["\ud83d \ud83d\ude00"]"#),
            vec![called(r#"{"content":["\ufffd \ud83d\ude00"]}"#)],
        ),
        // An answer to a request that is not open any more.
        (RESULT.replace(":3", ":9"), vec![]),
        // Notes of a program that writes them in the wrong place.
        ("Welcome!".to_owned(), vec![]),
        ("[INFO] {".to_owned(), vec![]),
        (r#"{"level":"info"}"#.to_owned(), vec![]),
        ("\u{e9} {".to_owned(), vec![]),
        (String::new(), vec![]),
    ] {
        let lines = messages(text.as_bytes(), &open(&[PING, CALL]), None);
        assert_eq!(read(&lines), expected, "{text}");
    }
}

#[test]
fn an_error_is_read_in_every_form() {
    for (written, code, message) in [
        (r#"{"code":-32000,"message":"no"}"#, -32000, "no"),
        (r#"{"code":-32000.0,"message":"no"}"#, -32000, "no"),
        (r#"{"code":"-32000","message":"no"}"#, -32000, "no"),
        (r#"{"code":"EFAIL","message":"no"}"#, -32603, "EFAIL: no"),
        (r#"{"code":1.5,"message":"no"}"#, -32603, "1.5: no"),
        (r#"{"code":99999999999,"message":"no"}"#, -32603, "99999999999: no"),
        (r#"{"message":"no"}"#, -32603, "no"),
        (r#"{"code":1}"#, 1, "it gives no reason"),
        (r#"{"code":1,"message":{"a":1}}"#, 1, r#"{"a":1}"#),
        (r#""no""#, -32603, "no"),
        (r#"["no"]"#, -32603, r#"["no"]"#),
        (r#"{"code":1,"message":"no","data":{"rye/unreadable":true}}"#, 1, "no"),
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":3,"result":null,"error":{written}}}"#);
        let lines = messages(text.as_bytes(), &open(&[PING, CALL]), None);
        assert_eq!(read(&lines), [error(CALL, code, message)], "{text}");
        let nobody = text.replace("\"id\":3", "\"id\":null");
        let lines = messages(nobody.as_bytes(), &open(&[PING, CALL]), None);
        let both = [error(PING, code, message), error(CALL, code, message)];
        assert_eq!(read(&lines), both, "{nobody}");
    }
    // A notification has no answer.
    let unknown = br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"no"}}"#;
    assert_eq!(messages(unknown, &open(&[CALL]), None), Vec::<String>::new());
}

#[test]
fn an_answer_that_cannot_be_read_is_an_error_at_once() {
    let latin = RESULT.replace("[]", "\"caf\u{e9}\"");
    let latin: Vec<u8> = latin.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
    let text = |text: &str| text.as_bytes().to_vec();
    for (written, problem) in [
        (latin, "it is not UTF-8"),
        (
            text(&RESULT.replace("}}", "}")),
            "it is no JSON: EOF while parsing an object at line 1 column 47",
        ),
        (
            text(&RESULT.replace(r#""result""#, r#""result":1,"error""#)),
            "it has a result and an error",
        ),
        (text(r#"{"jsonrpc":"2.0","id":3}"#), "it has neither a result nor an error"),
        (text(&RESULT.replace(r#"{"content":[]}"#, "[]")), "its result is no object"),
    ] {
        let shown = String::from_utf8_lossy(&written);
        let lines = messages(&written, &open(&[PING, CALL]), None);
        assert_eq!(read(&lines), [unreadable(CALL, problem)], "{shown}");
        // It may answer each open request if it names none of them.
        let nameless = String::from_utf8_lossy(&written).replace("\"id\":3", "\"id\":null");
        if !nameless.contains('\u{fffd}') && !problem.contains("no object") {
            let lines = messages(nameless.as_bytes(), &open(&[PING, CALL]), None);
            assert_eq!(lines.len(), 2, "{nameless}");
        }
        // The transport of HTTP tells the request.
        let lines = messages(&written, &open(&[PING, CALL]), Some(&id(CALL)));
        assert_eq!(read(&lines), [unreadable(CALL, problem)], "{shown}");
    }
    for (written, problem) in [
        ("<p>Sign in</p>", "it is no JSON: expected value at line 1 column 1"),
        ("7", "it is no object"),
        ("[[]]", "it is no object"),
    ] {
        let lines = messages(written.as_bytes(), &open(&[PING, CALL]), Some(&id(CALL)));
        assert_eq!(read(&lines), [unreadable(CALL, problem)], "{written}");
    }
    let told = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"#;
    assert_eq!(messages(told, &open(&[CALL]), None), Vec::<String>::new());
}

#[test]
fn a_message_has_a_bound_on_its_values() {
    let many = "[],".repeat(VALUES);
    let problem = "its answer has more than 100000 values";
    for (text, answered) in [
        (format!(r#"{{"id":3,"result":{{"content":[{many}0]}}}}"#), vec![CALL]),
        (format!(r#"{{"id":[{many}0],"result":{{}}}}"#), vec![PING, CALL]),
        (format!(r#"{{"id":3,"method":"ping","params":[{many}0]}}"#), vec![CALL]),
        (format!(r#"{{"method":"ping","params":[{many}0]}}"#), vec![]),
    ] {
        let lines = messages(text.as_bytes(), &open(&[PING, CALL]), None);
        let expected: Vec<_> = answered.iter().map(|id| error(*id, -32600, problem)).collect();
        assert_eq!(read(&lines), expected, "{}", &text[..40]);
    }
}

/// The tools that the library reads, and those that the server wrote.
#[track_caller]
fn listed(result: &str) -> Result<(Value, String), Value> {
    let text = format!(r#"{{"jsonrpc":"2.0","id":2,"result":{result}}}"#);
    let lines = messages(text.as_bytes(), &open(&[TOOLS]), None);
    let [line] = read(&lines).try_into().unwrap();
    let message: ServerJsonRpcMessage = serde_json::from_value(line.clone()).unwrap();
    let JsonRpcMessage::Response(response) = message else { return Err(line) };
    let ServerResult::ListToolsResult(page) = response.result else { panic!("{line}") };
    let written = page.meta.unwrap().0[WRITTEN].as_str().unwrap().to_owned();
    Ok((line["result"].clone(), written))
}

#[test]
fn a_listing_has_its_tools_as_they_were_written() {
    let tools = r#"[{"name":"a", "x":1.50,"inputSchema":{},"annotations":7}, {"name":"b"}, 7]"#;
    let own = r#""_meta":{"rye/written":"[]"},"content":[]"#;
    let (read, written) =
        listed(&format!(r#"{{"tools":{tools},{own},"nextCursor":"n"}}"#)).unwrap();
    assert_eq!(written, tools);
    assert_eq!(read["tools"], json!([{ "name": "a", "inputSchema": {} }]));
    assert_eq!(read["nextCursor"], json!("n"));
    for none in ["{}", r#"{"tools":null}"#, r#"{"tools":[],"nextCursor":""}"#] {
        let (read, written) = listed(none).unwrap();
        assert_eq!((&read["nextCursor"], written.as_str()), (&Value::Null, "[]"), "{none}");
    }
    for (result, problem) in [
        (r#"{"tools":{}}"#, "its `tools` are no list"),
        (r#"{"tools":[],"nextCursor":7}"#, "its `nextCursor` is no text"),
        ("[]", "its result is no object"),
    ] {
        let error = listed(result).unwrap_err();
        let message = error["error"]["message"].as_str().unwrap();
        assert!(message.contains(problem), "{result}: {message}");
    }
}

/// No server writes a result in the place of the client's own copy.
#[test]
fn a_result_of_a_call_is_read_as_it_was_written() {
    for written in [
        r#"{"content":[],"_meta":{"rye/written":"{}"}}"#,
        r#"{"tools":[],"resultType":"complete"}"#,
        "{}",
    ] {
        let text = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{written}}}"#);
        let lines = messages(text.as_bytes(), &open(&[CALL]), None);
        assert_eq!(read(&lines), [called(written)]);
    }
    let asks = r#"{"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required"}}"#;
    let lines = messages(asks.as_bytes(), &open(&[CALL]), None);
    assert_eq!(read(&lines), [serde_json::from_str::<Value>(asks).unwrap()]);
}

/// The answers to `server/discover` after which the client goes on with the newest revision. Every other one leads to `initialize`.
#[test]
fn nonsense_about_revisions_leads_to_the_older_ones() {
    let legacy = error(REVISIONS, -32601, "the server knows no `server/discover`");
    let answer = |members: &str| {
        let text = format!(r#"{{"jsonrpc":"2.0","id":4,{members}}}"#);
        let lines = messages(text.as_bytes(), &open(&[REVISIONS]), None);
        let [read] = read(&lines).try_into().unwrap();
        read
    };
    for modern in [
        r#""result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#,
        r#""result":{"supportedVersions":["2025-11-25","2026-07-28","later"],"ttlMs":"soon"}"#,
        r#""result":{"supportedVersions":["2026-07-28"],"capabilities":7}"#,
    ] {
        assert_eq!(
            answer(modern)["result"]["supportedVersions"],
            json!(["2026-07-28"]),
            "{modern}"
        );
    }
    let again = r#""error":{"code":-32022,"message":"no","data":{"supported":["2026-07-28"]}}"#;
    assert_eq!(answer(again)["error"]["code"], json!(-32022));
    for older in [
        r#""result":{}"#,
        r#""result":"yes""#,
        r#""result":{"supportedVersions":["2025-11-25"]}"#,
        r#""result":{"supportedVersions":"2026-07-28"}"#,
        r#""error":{"code":-32022,"message":"no","data":{"supported":["2025-11-25"]}}"#,
        r#""error":{"code":-32022,"message":"no"}"#,
        r#""error":"what?""#,
        r#""error":{"code":"EFAIL"}"#,
    ] {
        assert_eq!(answer(older), legacy, "{older}");
    }
}

#[test]
fn a_cancelled_request_waits_for_no_answer() {
    let awaited = open(&[CALL]);
    let told = CancelledNotificationParam::new(Some(id(CALL)), None);
    let told = CancelledNotification::new(told);
    awaited.note(&ClientJsonRpcMessage::notification(told.into()));
    assert_eq!(messages(RESULT.as_bytes(), &awaited, None), Vec::<String>::new());
}
