//! Secrets that are sent along: to whom, and to nobody else.

use rye_sandbox::{Placing, Template, Variables};
use rye_web::{Credential, CredentialError, HttpTool, HttpToolError};

use super::*;

const SECRET: &str = "s3cret/\"CANARY\"";

fn text(text: &str) -> Template {
    Template::new(vec![Placing::Text(text.to_owned())])
}

fn secret() -> Variables {
    Variables::by(|name| (name == "TEST_TOKEN").then(|| SECRET.to_owned()))
}

fn bearer(origins: &[&str]) -> Credential {
    let origins: Vec<String> = origins.iter().map(|origin| (*origin).to_owned()).collect();
    Credential::new("TEST_TOKEN", "Authorization", Some("Bearer"), &origins).unwrap()
}

/// What may be asked of this machine, and one credential for those origins.
fn lending(private: &[&str], credential: Credential, variables: Variables) -> Arc<Web> {
    let mut rules = WebRules::default();
    rules.private = private.iter().map(|origin| origin.parse().unwrap()).collect();
    rules.credentials = BTreeMap::from([("team".to_owned(), credential)]);
    let names = Written::new(&[("localhost", &["127.0.0.1"]), ("away.test", &["127.0.0.1"])]);
    Arc::new(Web::new(rules).with_names(names).with_variables(variables))
}

fn tool(url: Template) -> HttpTool {
    let mut tool = HttpTool::new("GET", url);
    tool.credential = Some("team".to_owned());
    tool
}

fn credentials(server: &Server) -> Vec<String> {
    let requests = server.received().into_iter();
    let headers = requests.flat_map(|request| request.headers);
    let credentials = headers.filter(|(name, _)| name == "authorization" || name == "x-api-key");
    credentials.map(|(name, value)| format!("{name}: {value}")).collect()
}

#[test]
fn it_is_sent_in_its_header() {
    let server = Server::new(|_| Answer::new(200, "text/plain", "fine"));
    let origin = format!("localhost:{}", server.port);
    let url = format!("http://{origin}");
    let check = |header: &str, scheme: Option<&str>, expected: &str| {
        let credential = Credential::new("TEST_TOKEN", header, scheme, std::slice::from_ref(&url));
        let web = lending(&[&origin], credential.unwrap(), secret());
        let output = call(tool(text(&format!("{url}/a"))).tool(&web).unwrap().as_ref(), json!({}));
        assert_eq!(output.content["body"], "fine", "{}", output.content);
        assert_eq!(credentials(&server).pop().unwrap(), expected);
    };
    check("Authorization", Some("Bearer"), &format!("authorization: Bearer {SECRET}"));
    check("X-API-Key", None, &format!("x-api-key: {SECRET}"));
    // A tool that names none sends none.
    let web = lending(&[&origin], bearer(&[&url]), secret());
    call(HttpTool::new("GET", text(&url)).tool(&web).unwrap().as_ref(), json!({}));
    assert_eq!((server.lines().len(), credentials(&server).len()), (3, 2));
    assert!(!format!("{web:?}").contains("CANARY"));
}

#[test]
fn it_is_sent_to_nobody_else() {
    let other = Server::new(|_| Answer::new(200, "text/plain", "got it"));
    let port = other.port;
    let server = Server::new(move |request| match request.path() {
        "/same" => redirect(302, "/end"),
        "/port" => redirect(302, format!("http://localhost:{port}/")),
        "/name" => redirect(307, format!("http://away.test:{port}/")),
        "/up" => redirect(302, "https://localhost/"),
        _ => Answer::new(200, "text/plain", "end"),
    });
    let (origin, elsewhere) = (format!("localhost:{}", server.port), format!("localhost:{port}"));
    let (url, named) = (format!("http://{origin}"), format!("away.test:{port}"));
    // Who else may get it gets it by being asked, and not by being redirected to.
    let credential = bearer(&[&url, &format!("http://{elsewhere}")]);
    let allowed = [origin.as_str(), &elsewhere, &named, "localhost:443"];
    let web = lending(&allowed, credential, secret());
    for (path, because) in [
        ("/port", format!("a redirect from `{origin}` to `{elsewhere}` is refused")),
        ("/name", format!("a redirect from `{origin}` to `{named}` is refused")),
        ("/up", format!("a redirect from `{origin}` to `localhost:443` is refused")),
    ] {
        for whole in [false, true] {
            let place = Template::new(vec![Placing::Needed("url".to_owned())]);
            let at = format!("{url}{path}");
            let mut tool = tool(if whole { place } else { text(&at) });
            tool.parameters.extend(whole.then(|| "url".to_owned()));
            let output = call(tool.tool(&web).unwrap().as_ref(), json!({ "url": at }));
            refused(&output, &because, path);
        }
    }
    let output = call(tool(text(&format!("{url}/same"))).tool(&web).unwrap().as_ref(), json!({}));
    assert_eq!(output.content["body"], "end");
    let sent = format!("authorization: Bearer {SECRET}");
    assert_eq!(credentials(&server), vec![sent; 8]);
    assert_eq!(other.lines(), [""; 0]);
}

#[test]
fn an_argument_does_not_choose_who_gets_it() {
    let server = Server::new(|_| Answer::new(200, "text/plain", "end"));
    let origin = format!("localhost:{}", server.port);
    let mut whole = tool(Template::new(vec![Placing::Needed("url".to_owned())]));
    whole.parameters = vec!["url".to_owned()];
    let credential = bearer(&["https://api.example.org", "http://127.0.0.1:1"]);
    let web = lending(&[&origin, "127.0.0.1:443"], credential, secret());
    let whole = whole.tool(&web).unwrap();
    for url in [
        format!("http://{origin}/"),
        "https://127.0.0.1/".to_owned(),
        "http://api.example.org/".to_owned(),
        "https://api.example.org.evil.test/".to_owned(),
        "https://evil.test/https://api.example.org".to_owned(),
    ] {
        let output = call(whole.as_ref(), json!({ "url": url }));
        refused(&output, "the credential `team` is not sent to `", &url);
    }
    assert_eq!(server.lines(), [""; 0]);
    // The name of this machine is a name: what it leads to is looked at.
    let credential = bearer(&["http://localhost"]);
    let mut rules = WebRules::default();
    rules.private = ["localhost:80".parse().unwrap()].into();
    rules.credentials = BTreeMap::from([("team".to_owned(), credential)]);
    let names = Written::new(&[("localhost", &["127.0.0.1", "192.0.2.1"])]);
    let web = Arc::new(Web::new(rules).with_names(names).with_variables(secret()));
    let output = call(tool(text("http://localhost/")).tool(&web).unwrap().as_ref(), json!({}));
    refused(&output, "the credential `team` is not sent to `http://localhost:80`", "localhost");
}

#[test]
fn without_it_nothing_is_sent() {
    let server = Server::new(|_| Answer::new(200, "text/plain", "end"));
    let origin = format!("localhost:{}", server.port);
    let url = format!("http://{origin}");
    let unset = "the credential `team` is not set; the operator sets the variable that `config/agent/web.yaml` names for it";
    let strange = "the credential `team` has a line end or another character that no header has";
    for (value, expected) in [
        (None, unset),
        (Some(""), unset),
        (Some("CANARY\n"), strange),
        (Some("CANARY\r\nX-Evil: 1"), strange),
        (Some("CANARY\u{e9}"), strange),
        (Some("CANARY\t"), strange),
    ] {
        let variables = Variables::by(move |_| value.map(str::to_owned));
        let web = lending(&[&origin], bearer(&[&url]), variables);
        let output = call(tool(text(&url)).tool(&web).unwrap().as_ref(), json!({}));
        assert_eq!(output.status, ToolStatus::Error);
        assert_eq!(output.content, json!({ "error": expected }));
    }
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn what_comes_back_is_without_it() {
    let cut = |at: usize| format!("{}{SECRET}{}", "x".repeat(at), "y".repeat(64));
    let near = 256 * 1024 - 5;
    let server = Server::new(move |request| match request.path() {
        "/text" => Answer::new(200, "text/plain", format!("<{SECRET}>")),
        "/json" => Answer::json(200, json!({ "a": [SECRET], SECRET: { "b": SECRET } })),
        "/escaped" => Answer::json(200, "[\"s3cret/\\\"\\u0043ANARY\\\"\"]"),
        "/broken" => Answer::json(200, json!([SECRET]).to_string().replace(']', "")),
        "/cut" => Answer::new(200, "text/plain", cut(near)),
        "/failed" => Answer::new(401, SECRET, SECRET),
        "/moved" => redirect(302, "/s3cret%2F%22CANARY%22"),
        "/away" => redirect(302, "http://s3cret.CANARY.test/s3cret%2F%22CANARY%22"),
        _ => Answer::new(200, "application/pdf", SECRET),
    });
    let origin = format!("localhost:{}", server.port);
    let url = format!("http://{origin}");
    let web = lending(&[&origin], bearer(&[&url]), secret());
    for path in ["/text", "/json", "/escaped", "/broken", "/cut", "/failed", "/moved", "/pdf"] {
        let at = format!("{url}{path}");
        let output = call(tool(text(&at)).tool(&web).unwrap().as_ref(), json!({}));
        let told = output.content.to_string();
        assert!(!told.contains("CANARY") && !told.contains("s3cr"), "{path}: {told}");
        assert_eq!(credentials(&server).len(), server.lines().len(), "{path}");
    }
    let told = |path: &str| {
        call(tool(text(&format!("{url}{path}"))).tool(&web).unwrap().as_ref(), json!({})).content
    };
    assert_eq!(told("/text")["body"], "<[credential team]>");
    assert_eq!(told("/moved")["url"], format!("{url}/[credential team]"));
    assert_eq!(
        told("/json")["body"],
        json!({ "a": ["[credential team]"], "[credential team]": { "b": "[credential team]" } })
    );
}

#[test]
fn no_usual_format_keeps_it() {
    let rows = [
        ("application/json", r#"["s3cret\/\u0022CANARY\u0022"]"#),
        ("application/json", r#"["\u0073\u0033cr\u0065t\/\"\u0043\u0041NARY\""]"#),
        ("application/json", r#"{"s3cret\/\"CANARY\"": "{\"a\": \"s3cret\\/\\\"CANARY\\\"\"}"}"#),
        ("text/plain", "/a?key=s3cret%2f%22CANARY%22"),
        ("text/plain", "/a?key=s3cret/%22CANARY%22&next=%252Fs3cret%252F%2522CANARY%2522"),
        (
            "text/html",
            "<p>s3cret/&quot;CANARY&quot; s3cret&#x2F;&quot;CANARY&QUOT; s3cret/&#34;CANARY&#34;</p>",
        ),
        ("text/plain", "Basic dXNlcjpzM2NyZXQvIkNBTkFSWSI="),
        ("text/plain", "Basic YTpzM2NyZXQvIkNBTkFSWSI6 czNjcmV0LyJDQU5BUlki"),
        ("text/plain", "7333637265742f2243414e41525922"),
    ];
    let server = Server::new(move |request| {
        let row = request.path().trim_start_matches('/').parse::<usize>().unwrap();
        Answer::new(200, rows[row].0, rows[row].1)
    });
    let origin = format!("localhost:{}", server.port);
    let url = format!("http://{origin}");
    let web = lending(&[&origin], bearer(&[&url]), secret());
    for (row, (_, said)) in rows.iter().enumerate() {
        let output =
            call(tool(text(&format!("{url}/{row}"))).tool(&web).unwrap().as_ref(), json!({}));
        let told = output.content["body"].to_string();
        for left in ["CANARY", "s3cr", "ANARY", "czNj", "M2Ny", "NjcmV", "7333"] {
            assert!(!told.contains(left), "{said}: {told}");
        }
        assert!(told.contains("[credential team]"), "{said}: {told}");
    }
}

#[test]
fn a_number_is_no_disguise() {
    let server = Server::new(|_| Answer::json(200, r#"{"a": 1234567890, "b": 1}"#));
    let origin = format!("localhost:{}", server.port);
    let url = format!("http://{origin}");
    let variables = Variables::by(|_| Some("1234567890".to_owned()));
    let web = lending(&[&origin], bearer(&[&url]), variables);
    let output = call(tool(text(&url)).tool(&web).unwrap().as_ref(), json!({}));
    assert_eq!(output.content["body"], r#"{"a": [credential team], "b": 1}"#);
}

#[test]
fn manifests_that_are_none() {
    let credential = bearer(&["https://api.example.org"]);
    let web = lending(&["localhost:80"], credential, secret());
    let check = |tool: HttpTool, expected: &str| {
        let error: HttpToolError = tool.tool(&web).err().unwrap();
        assert_eq!(error.to_string(), expected);
    };
    let mut unknown = tool(text("https://api.example.org/"));
    unknown.credential = Some("other".to_owned());
    check(
        unknown,
        "the operator has no credential `other` under `credentials` of `config/agent/web.yaml`",
    );
    let elsewhere = |origin: &str| {
        format!(
            "the credential `team` is not sent to `{origin}`; the operator says under `credentials` of `config/agent/web.yaml` who gets it"
        )
    };
    check(tool(text("http://api.example.org/")), &elsewhere("http://api.example.org:80"));
    check(tool(text("https://api.example.org:8443/")), &elsewhere("https://api.example.org:8443"));
    check(tool(text("https://example.org/")), &elsewhere("https://example.org:443"));
    check(tool(text("http://localhost/")), &elsewhere("http://localhost:80"));
    let mut twice = tool(text("https://API.example.org./"));
    twice.headers = BTreeMap::from([("AUTHORIZATION".to_owned(), text("x"))]);
    check(twice, "its `headers` have `authorization`, which carries the credential `team`");
}

#[test]
fn credentials_that_are_none() {
    let check = |variable: &str, header: &str, scheme: Option<&str>, origins: &[&str], expected| {
        let origins: Vec<String> = origins.iter().map(|origin| (*origin).to_owned()).collect();
        let error: CredentialError =
            Credential::new(variable, header, scheme, &origins).unwrap_err();
        assert_eq!(error, expected);
        assert!(!error.to_string().contains("sk-"), "{error}");
    };
    let fine = "https://a.test";
    check("sk-123", "X", None, &[fine], CredentialError::Variable);
    check("", "X", None, &[fine], CredentialError::Variable);
    for name in ["", "a b", "Host", "Content-Length", "proxy-authorization", "a\r\nb"] {
        check("A", name, None, &[fine], CredentialError::Header);
    }
    check("A", "X", Some(""), &[fine], CredentialError::Scheme);
    check("A", "X", Some("Bearer x"), &[fine], CredentialError::Scheme);
    check("A", "X", None, &[], CredentialError::NoOrigin);
    for origin in
        ["a.test", "https://", "https://a.test/path", "ftp://a.test", "https://*.a.test", "*"]
    {
        let error = CredentialError::Origin { text: origin.to_owned() };
        check("A", "X", None, &[fine, origin], error);
    }
    for (origin, told) in [
        ("https://a@a.test", "…@a.test"),
        ("https://a:sk-1@a.test/?k=sk-2#sk-3", "…@a.test/…"),
        ("https://a.test?k=sk-2", "https://a.test…"),
    ] {
        let error = CredentialError::Origin { text: told.to_owned() };
        check("A", "X", None, &[origin], error);
    }
    check("A", "Bearer sk-1", None, &[fine], CredentialError::Header);
    for origin in ["http://a.test", "http://10.0.0.1", "http://localhost.evil.test", "http://lan"] {
        let error = CredentialError::Open { text: origin.to_owned() };
        check("A", "X", None, &[origin], error);
    }
    for origin in ["http://localhost:8080", "http://127.0.0.2", "http://[::1]:1", "https://[::2]"] {
        assert!(Credential::new("A", "X", None, &[origin.to_owned()]).is_ok(), "{origin}");
    }
}
