//! A credential that a server repeats at a place where what it says is cut, so that a part of it could be left.

use std::collections::BTreeMap;

use rye_tools::mcp::{ServerAddress, ServerHeader};
use serde_json::{Value, json};

use super::answers::{self, json_of, polite, said, status, stream_of};
use super::server::{Remote, Seen};
use super::{SECRET, on_call, place};

fn with(address: &mut ServerAddress) {
    let header = ServerHeader::bearer("TOKEN");
    address.headers = BTreeMap::from([("Authorization".to_owned(), header)]);
}

/// Nothing of the secret is in what a call brings, and `part` is.
async fn check(remote: Remote, part: &str) {
    let place = place(&remote.url(), with);
    let shown = place.call(json!({})).await.content.to_string();
    let ends = format!("{} … {}", &shown[..shown.len().min(400)], shown.len());
    assert!(!shown.contains("tok") && !shown.contains("f2e"), "{part}: {ends}");
    assert!(shown.contains(part), "{part}: {ends}");
}

/// The secret behind so many bytes.
fn after(bytes: usize) -> String {
    "x".repeat(bytes) + SECRET
}

const END: usize = 64 * 1024;

#[tokio::test]
async fn a_result_that_is_cut() {
    let result = async |result: Value, part: &str| {
        check(on_call(move |seen, to| json_of(to, &seen.body["id"], &result, &[])), part).await;
    };
    let rest = "y".repeat(3 * END);
    result(said(&(after(END - 4) + &rest)), "x[cre").await;
    result(said(&(rest.clone() + &after(0) + &"x".repeat(END - 4))), "ion]x").await;
    let structured = |text: String| json!({ "content": [], "structuredContent": [text] });
    result(structured(after(END - 6) + &rest), "x[cre").await;
    result(structured(rest + SECRET + &"x".repeat(END - 6)), "ion]x").await;
    let kind = after(36);
    let image = json!({ "type": "image", "mimeType": kind, "data": "AAAA" });
    result(json!({ "content": [image] }), "x[cre").await;
}

/// The secret `tok-5f2e` in the forms that servers write. `rye-web` has the whole list.
const FORMS: [&str; 6] = [
    r#"{"a": "tok-5f2e"}"#,
    "?key=TOK-5F2E&next=%2Ftok-5f2e",
    "<b>tok-5f2e</b>",
    "Basic dXNlcjp0b2stNWYyZQ==",
    "Basic eDp0b2stNWYyZQ==",
    "746F6B2D35663265",
];

#[tokio::test]
async fn no_form_of_a_secret_comes_back() {
    let result = async |result: Value| {
        let remote = on_call(move |seen, to| json_of(to, &seen.body["id"], &result, &[]));
        let place = place(&remote.url(), with);
        let shown = place.call(json!({})).await.content.to_string();
        for left in ["tok", "f2e", "TOK", "b2st", "NWYyZ", "3566"] {
            assert!(!shown.contains(left), "{left}: {shown}");
        }
        assert!(shown.contains("[credential Authorization]"), "{shown}");
    };
    for form in FORMS {
        result(said(form)).await;
        result(json!({ "content": [], "structuredContent": { form: [form] } })).await;
    }
    for form in FORMS {
        let tools = answers::tools(form);
        check(lists(move |_| tools.clone()), "it repeats a credential that it was sent").await;
    }
}

#[tokio::test]
async fn errors_that_are_cut() {
    let error = on_call(|seen, to| {
        let error = json!({ "code": 1, "message": after(2044) });
        let said = json!({ "jsonrpc": "2.0", "id": seen.body["id"], "error": error });
        stream_of(to, &format!("data: {said}\n\n"));
    });
    check(error, "[cre").await;
    let refuses = on_call(|_, to| status(to, "418 No", "text/plain", &after(2000)));
    check(refuses, "the server cannot be asked").await;
}

/// A server that lists these tools.
fn lists(tools: impl Fn(&Seen) -> Vec<Value> + Send + Sync + 'static) -> Remote {
    Remote::new(move |seen, to| match seen.method() {
        "tools/list" => json_of(to, &seen.body["id"], &json!({ "tools": tools(seen) }), &[]),
        _ => polite(seen, to),
    })
}

fn named(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

#[tokio::test]
async fn names_of_tools_that_are_cut() {
    check(lists(|_| vec![named(&after(60)), named(&after(60))]), "two tools called `xx").await;
    let more = |_: &Seen| [answers::tools("Echoes."), vec![named(&after(60))]].concat();
    check(lists(more), "it repeats a credential that it was sent").await;
}

#[tokio::test]
async fn a_list_has_an_end_in_bytes_too() {
    let long = "x".repeat(1024 * 1024);
    let remote = Remote::new(move |seen, to| match seen.method() {
        "tools/list" => {
            let page = seen.body["params"]["cursor"].as_str().map_or(0, str::len);
            let tool = json!({ "name": format!("t{page}"), "description": long, "inputSchema": { "type": "object" } });
            let listed = json!({ "tools": [tool], "nextCursor": "c".repeat(page + 1) });
            json_of(to, &seen.body["id"], &listed, &[]);
        }
        _ => polite(seen, to),
    });
    let place = place(&remote.url(), with);
    let refused = place.connections.discover(&place.server).await.unwrap_err().to_string();
    assert!(refused.contains("4 MiB"), "{refused}");
    let pages = remote.methods().into_iter().filter(|it| it == "tools/list").count();
    assert_eq!(pages, 4);
}
