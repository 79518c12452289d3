//! Tools that a manifest makes of a request.

use std::collections::BTreeMap;

use rye_sandbox::{Placing, Template};
use rye_web::{HttpBody, HttpTool, HttpToolError};

use super::*;

fn text(text: &str) -> Placing {
    Placing::Text(text.to_owned())
}

fn needed(name: &str) -> Placing {
    Placing::Needed(name.to_owned())
}

fn optional(name: &str) -> Placing {
    Placing::Optional(name.to_owned(), None)
}

fn template(pieces: &[Placing]) -> Template {
    Template::new(pieces.to_vec())
}

/// A note of an item, to be changed: places everywhere that one may be.
fn change(origin: &str) -> HttpTool {
    let url = [
        text(&format!("http://{origin}/v1/items/")),
        needed("id"),
        text("/notes?fixed=1&q="),
        optional("q"),
    ];
    let mut tool = HttpTool::new("PUT", template(&url));
    tool.headers =
        BTreeMap::from([("X-Note".to_owned(), template(&[text("n:"), optional("note")]))]);
    tool.body = Some(HttpBody::Object(vec![
        ("text".to_owned(), HttpBody::Text(template(&[text("<"), optional("body"), text(">")]))),
        ("as_is".to_owned(), HttpBody::Text(template(&[optional("body")]))),
        ("list".to_owned(), HttpBody::List(vec![HttpBody::Plain(json!(1))])),
    ]));
    tool.parameters = ["id", "q", "note", "body"].map(str::to_owned).into();
    tool
}

fn served() -> (Server, Arc<Web>, String) {
    let server = Server::new(|request| match request.path() {
        "/away" => redirect(302, "http://here.test/"),
        "/moved" => redirect(307, "/json"),
        "/none" => Answer::untyped(204, ""),
        "/text" => Answer::new(200, "text/plain", "plain"),
        "/made" => Answer::new(201, "application/pdf", "pdf"),
        "/failed" => Answer::json(422, "{\"why\":\"x\"}"),
        _ => Answer::json(200, "{\"ok\": [true]}"),
    });
    let origin = format!("open.test:{}", server.port);
    let web = web(allowing(&[&origin], server.port), &Written::new(NAMES));
    (server, web, origin)
}

/// Values that reach for more than their place, and the path and query that are sent; none where nothing is.
const VALUES: &[(&str, &str, Option<&str>)] = &[
    ("id", "7", Some("/v1/items/7/notes?fixed=1")),
    ("id", "a/b", Some("/v1/items/a%2Fb/notes?fixed=1")),
    ("id", "a?admin=1", Some("/v1/items/a%3Fadmin%3D1/notes?fixed=1")),
    ("id", "a#b", Some("/v1/items/a%23b/notes?fixed=1")),
    ("id", "a&b=c;d", Some("/v1/items/a%26b%3Dc%3Bd/notes?fixed=1")),
    ("id", "@evil.test:80", Some("/v1/items/%40evil.test%3A80/notes?fixed=1")),
    ("id", "//evil.test", Some("/v1/items/%2F%2Fevil.test/notes?fixed=1")),
    ("id", "a b\t", Some("/v1/items/a%20b%09/notes?fixed=1")),
    ("id", "a\r\nX-Evil: 1", Some("/v1/items/a%0D%0AX-Evil%3A%201/notes?fixed=1")),
    (
        "id",
        "a HTTP/1.1\r\n\r\nGET /evil",
        Some("/v1/items/a%20HTTP%2F1.1%0D%0A%0D%0AGET%20%2Fevil/notes?fixed=1"),
    ),
    ("id", "a\\b", Some("/v1/items/a%5Cb/notes?fixed=1")),
    ("id", "%2e%2e", Some("/v1/items/%252e%252e/notes?fixed=1")),
    ("id", "%252e%252e", Some("/v1/items/%25252e%25252e/notes?fixed=1")),
    ("id", "%2e%2e%2f", Some("/v1/items/%252e%252e%252f/notes?fixed=1")),
    ("id", "%2E%2e%5c", Some("/v1/items/%252E%252e%255c/notes?fixed=1")),
    ("id", "%c0%ae%C0%AE", Some("/v1/items/%25c0%25ae%25C0%25AE/notes?fixed=1")),
    ("id", "%u002e%u002e", Some("/v1/items/%25u002e%25u002e/notes?fixed=1")),
    ("id", "．．", Some("/v1/items/%EF%BC%8E%EF%BC%8E/notes?fixed=1")),
    ("id", "..%2f..", Some("/v1/items/..%252f../notes?fixed=1")),
    ("id", "..;x", None),
    ("id", "a/..;/b", None),
    ("id", "%2f", Some("/v1/items/%252f/notes?fixed=1")),
    ("id", "é\u{202e}", Some("/v1/items/%C3%A9%E2%80%AE/notes?fixed=1")),
    ("id", "{input:q}", Some("/v1/items/%7Binput%3Aq%7D/notes?fixed=1")),
    ("id", "${HOME}", Some("/v1/items/%24%7BHOME%7D/notes?fixed=1")),
    ("id", "a\0", Some("/v1/items/a%00/notes?fixed=1")),
    ("id", "...", Some("/v1/items/.../notes?fixed=1")),
    ("id", "", None),
    ("id", ".", None),
    ("id", "..", None),
    ("id", "../../admin", None),
    ("id", "a/../../b", None),
    ("id", "a\\..\\b", None),
    ("id", "a/.", None),
    ("q", "x", Some("/v1/items/1/notes?fixed=1&q=x")),
    ("q", "", Some("/v1/items/1/notes?fixed=1&q=")),
    ("q", "x&fixed=2", Some("/v1/items/1/notes?fixed=1&q=x%26fixed%3D2")),
    ("q", "x;y=1", Some("/v1/items/1/notes?fixed=1&q=x%3By%3D1")),
    ("q", "x#y", Some("/v1/items/1/notes?fixed=1&q=x%23y")),
    ("q", "x+y=z", Some("/v1/items/1/notes?fixed=1&q=x%2By%3Dz")),
    ("q", "../..", Some("/v1/items/1/notes?fixed=1&q=..%2F..")),
    ("q", "x\r\nX-Evil: 1", Some("/v1/items/1/notes?fixed=1&q=x%0D%0AX-Evil%3A%201")),
    ("note", "plain", Some("/v1/items/1/notes?fixed=1")),
    ("note", "a\r\nX-Evil: 1", None),
    ("note", "a\nX-Evil: 1", None),
    ("note", "a\rX-Evil: 1", None),
    ("note", "a\0b", None),
    ("note", "a\tb", None),
    ("note", "a\u{7f}b", None),
    ("note", "é", None),
    ("body", "\",\"admin\":true,\"x\":\"", Some("/v1/items/1/notes?fixed=1")),
    ("body", "x\r\n\r\nGET /evil HTTP/1.1\r\n\r\n", Some("/v1/items/1/notes?fixed=1")),
];

#[test]
fn an_argument_stays_in_its_place() {
    assert!(VALUES.len() >= 40, "{}", VALUES.len());
    for (name, value, expected) in VALUES {
        let (server, web, origin) = served();
        let tool = change(&origin).tool(&web).unwrap();
        let mut arguments = json!({ "id": "1" });
        arguments[*name] = (*value).into();
        let output = call(tool.as_ref(), arguments);
        let Some(expected) = expected else {
            assert_eq!(output.status, ToolStatus::Refused, "{name} {value:?} {}", output.content);
            assert_eq!(server.lines(), [""; 0], "{name} {value:?}");
            continue;
        };
        assert_eq!(output.status, ToolStatus::Ok, "{name} {value:?} {}", output.content);
        assert_eq!(server.lines(), [format!("PUT {expected}")], "{value:?}");
        let request = server.received().pop().unwrap();
        let names: Vec<&str> = request.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "content-type",
                "x-note",
                "accept-encoding",
                "accept",
                "user-agent",
                "host",
                "content-length"
            ]
        );
        let body = request.json();
        let given = if *name == "body" { *value } else { "" };
        let mut sent = json!({ "text": format!("<{given}>"), "list": [1] });
        if *name == "body" {
            sent = json!({ "text": format!("<{given}>"), "as_is": value, "list": [1] });
        }
        assert_eq!(body, sent, "{value:?}");
    }
}

/// Paths whose dots are the manifest's, the two arguments in them, and the path that is sent; none where nothing is.
const JOINED: &[(&str, &str, &str, Option<&str>)] = &[
    ("/v1/{a}{b}/x", "a", "b", Some("/v1/ab/x")),
    ("/v1/{a}.{b}/x", "a", "b", Some("/v1/a.b/x")),
    ("/v1/{a}..{b}/x", "a", "b", Some("/v1/a..b/x")),
    ("/v1/.{a}", ".a", "", Some("/v1/..a")),
    ("/v1/.{a}", ".", "", None),
    ("/v1/{a}../x", "a/", "", None),
    ("/v1/{a}../x", "a\\", "", None),
    ("/v1/..{a}", "/admin", "", None),
    ("/v1/.{a}", "/admin", "", None),
    ("/v1/{a}..{b}", "a/", "/b", None),
    ("/v1/{a}.{b}", "a/", "/b", None),
    ("/v1/{a}.{b}", "a/", ".", None),
    ("/v1/{a}.{b}", "a/.", "b", None),
    ("/v1/{a}%2e%2e{b}", "a/", "/b", None),
    ("/v1/{a}%2E.{b}", "a\\", "/b", None),
    ("/v1/{a}%2f..{b}", "a", "/b", None),
    ("/v1/{a}%5c..{b}", "a", "/b", None),
    ("/v1/{a}%2f..%2f{b}", "a", "b", None),
    ("/v1/{a}%252e%252E{b}", "a/", "/b", None),
    ("/v1/{a}%25252e.{b}", "a/", "/b", None),
    ("/v1/{a}%252f..{b}", "a", "/b", None),
    ("/v1/{a}%255C..{b}", "a", "/b", None),
    ("/v1/{a}%c0%ae%C0%aE{b}", "a/", "/b", None),
    ("/v1/{a}%e0%80%ae.{b}", "a/", "/b", None),
    ("/v1/{a}%c0%af..{b}", "a", "/b", None),
    ("/v1/{a}%c1%9c..{b}", "a", "/b", None),
    ("/v1/{a}..;v=1/{b}", "a/", "b", None),
    ("/v1/.{a};v=1/{b}", ".", "b", None),
    ("/v1/{a}%252e/{b}", "a", "b", Some("/v1/a%252e/b")),
    ("/v1/{a}%c0%ae/{b}", "a", "b", Some("/v1/a%c0%ae/b")),
];

#[test]
fn arguments_and_the_text_between_them_make_no_dots() {
    for (path, a, b, expected) in JOINED {
        let (server, web, origin) = served();
        let mut pieces = vec![text(&format!("http://{origin}"))];
        let mut rest = *path;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').unwrap();
            pieces.extend([text(before), needed(name)]);
            rest = after;
        }
        pieces.push(text(rest));
        let mut whole: Vec<Placing> = Vec::new();
        for piece in pieces {
            match (whole.last_mut(), piece) {
                (Some(Placing::Text(last)), Placing::Text(more)) => last.push_str(&more),
                (_, piece) => whole.push(piece),
            }
        }
        let mut tool = HttpTool::new("GET", template(&whole));
        tool.parameters = ["a", "b"]
            .into_iter()
            .filter(|name| path.contains(&format!("{{{name}}}")))
            .map(str::to_owned)
            .collect();
        let output = match tool.tool(&web) {
            Ok(tool) => call(tool.as_ref(), json!({ "a": a, "b": b })),
            Err(error) => {
                assert_eq!((error, expected), (HttpToolError::Dots, &None), "{path}");
                continue;
            }
        };
        match expected {
            Some(expected) => assert_eq!(server.lines(), [format!("GET {expected}")], "{path} {a}"),
            None => {
                assert_eq!(output.status, ToolStatus::Refused, "{path} {a} {}", output.content);
                assert_eq!(server.lines(), [""; 0], "{path} {a}");
            }
        }
    }
}

#[test]
fn what_has_no_place_is_the_body() {
    let (server, web, origin) = served();
    let url = template(&[text(&format!("http://{origin}/items"))]);
    let mut tool = HttpTool::new("POST", url);
    tool.parameters = vec!["name".to_owned(), "tags".to_owned()];
    let tool = tool.tool(&web).unwrap();
    call(tool.as_ref(), json!({ "name": "x", "tags": ["a", { "b": 1 }] }));
    let request = server.received().pop().unwrap();
    assert_eq!(request.text(), r#"{"name":"x","tags":["a",{"b":1}]}"#);
    assert_eq!(request.header("content-type"), Some("application/json"));
}

#[test]
fn results() {
    let (_server, web, origin) = served();
    let check = |method: &str, path: &str, status: ToolStatus, expected: Value| {
        let url = template(&[text(&format!("http://{origin}{path}"))]);
        let output = call(HttpTool::new(method, url).tool(&web).unwrap().as_ref(), json!({}));
        assert_eq!((output.status, &output.content), (status, &expected), "{method} {path}");
    };
    let at = |path: &str| format!("http://{origin}{path}");
    let (ok, error) = (ToolStatus::Ok, ToolStatus::Error);
    let json = json!({ "url": at("/json"), "status": 200, "body": { "ok": [true] }, "content_type": "application/json" });
    check("GET", "/json", ok, json.clone());
    check("GET", "/moved", ok, json);
    check(
        "GET",
        "/text",
        ok,
        json!({ "url": at("/text"), "status": 200, "body": "plain", "content_type": "text/plain" }),
    );
    check("DELETE", "/none", ok, json!({ "url": at("/none"), "status": 204, "body": "" }));
    let failed = json!({ "url": at("/failed"), "status": 422, "body": { "why": "x" }, "content_type": "application/json",
        "error": "the server answered 422 Unprocessable Entity" });
    check("GET", "/failed", error, failed);
    // What was done is told, whatever was sent back.
    let unread = format!("`{}` is `application/pdf`, which is no text", at("/made"));
    let made = json!({ "url": at("/made"), "status": 201, "body": null, "content_type": "application/pdf", "cut": unread });
    check("POST", "/made", ok, made);
    // What is sent twice may be done twice, so that nobody follows.
    let moved = json!({ "url": at("/moved"), "status": 307, "body": "elsewhere", "content_type": "text/plain",
        "error": "the server answered 307 Temporary Redirect" });
    check("POST", "/moved", error, moved);
    let away = format!(
        "a redirect from `{origin}` to `here.test:80` is refused; the tool's manifest names its host"
    );
    check("GET", "/away", ToolStatus::Refused, json!({ "error": away }));
}

#[test]
fn an_address_that_is_an_argument_is_held_against_the_rules() {
    let (server, web, origin) = served();
    let mut tool = HttpTool::new("GET", template(&[needed("url")]));
    tool.parameters = vec!["url".to_owned()];
    let tool = tool.tool(&web).unwrap();
    for (address, because) in ADDRESSES {
        let url = address.replace("{P}", &server.port.to_string());
        // Here one port of one name may be reached.
        refused(&call(tool.as_ref(), json!({ "url": url })), because, &url);
    }
    assert_eq!(server.lines(), [""; 0]);
    let output = call(tool.as_ref(), json!({ "url": format!("http://{origin}/text") }));
    assert_eq!(output.content["body"], "plain");
}

#[test]
fn a_manifest_cannot_leave_to_an_argument_what_is_its_own() {
    let (_server, web, _) = served();
    let check = |url: &[Placing], expected: HttpToolError| {
        let error = HttpTool::new("GET", template(url)).tool(&web).err();
        assert_eq!(error, Some(expected), "{url:?}");
    };
    check(&[text("https://"), needed("a"), text("/x")], HttpToolError::Host);
    check(&[text("https://a."), needed("a")], HttpToolError::Host);
    check(&[text("https://a:"), needed("a"), text("/")], HttpToolError::Host);
    check(&[needed("a"), text("://x/")], HttpToolError::Host);
    check(&[needed("a"), text("/x")], HttpToolError::Host);
    check(&[text("//x/"), needed("a")], HttpToolError::Host);
    check(&[text("x/"), needed("a")], HttpToolError::Host);
    check(&[text("https://x/?"), needed("a")], HttpToolError::Parameter);
    check(&[text("https://x/?"), needed("a"), text("=1")], HttpToolError::Parameter);
    check(&[text("https://x/?a=1&"), needed("a"), text("=1")], HttpToolError::Parameter);
    check(&[text("https://x/?="), needed("a")], HttpToolError::Parameter);
    check(&[text("https://x/#"), needed("a")], HttpToolError::Strange);
    check(&[text("https://x/ ")], HttpToolError::Strange);
    for path in ["a/%2e%2e/", "a/%2E./", "a/%252e%252e/", "a/%c0%ae%C0%AE/", "a/..;x/", "a%2f..%2f"]
    {
        check(&[text(&format!("https://x/{path}")), needed("a")], HttpToolError::Dots);
    }
    for path in ["%", "a%2", "%25", "b/%252"] {
        check(&[text(&format!("https://x/{path}")), needed("a")], HttpToolError::Escape);
    }
    check(&[text("https:\\\\x/")], HttpToolError::Strange);
    check(
        &[text("ftp://x/")],
        HttpToolError::Address(rye_web::AddressFault::Scheme { scheme: "ftp".to_owned() }),
    );
    check(&[text("https://a:b@x/")], HttpToolError::Address(rye_web::AddressFault::Credentials));
    let url = || template(&[text("https://x/")]);
    for name in [
        "Host",
        "content-length",
        "Transfer-Encoding",
        "Connection",
        "proxy-authorization",
        "accept-encoding",
        "a b",
        "a\r\nb",
        "",
    ] {
        let mut tool = HttpTool::new("GET", url());
        tool.headers = BTreeMap::from([(name.to_owned(), template(&[text("x")]))]);
        assert_eq!(tool.tool(&web).err(), Some(HttpToolError::Header { name: name.to_owned() }));
    }
    let mut unplaced = HttpTool::new("GET", url());
    unplaced.parameters = vec!["q".to_owned()];
    assert_eq!(unplaced.tool(&web).err(), Some(HttpToolError::Unplaced { name: "q".to_owned() }));
    let mut body = HttpTool::new("GET", url());
    body.body = Some(HttpBody::Plain(json!(1)));
    assert_eq!(body.tool(&web).err(), Some(HttpToolError::Body { method: "GET".to_owned() }));
    let mut body = HttpTool::new("POST", url());
    body.body = Some(HttpBody::Text(template(&[text("{\"a\": \""), needed("a"), text("\"}")])));
    assert_eq!(body.tool(&web).err(), Some(HttpToolError::TextBody));
}
