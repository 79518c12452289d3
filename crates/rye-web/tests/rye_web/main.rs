//! The web tools against servers of this machine, which see whatever is sent.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be made is a failed test")]

mod credentials;
mod requests;
mod results;
#[path = "../../../../tests/server.rs"]
#[expect(dead_code, reason = "a server here answers by the path")]
mod server;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use rye_caps::{Authority, Capability, Grant, Layer, LayerName};
use rye_thread::{AuthorisedCall, Palette, PaletteEntry, Tool, ToolOutput, ToolSpec, ToolStatus};
use rye_types::Effect;
use rye_web::{Names, Web, WebRules, fetch};
use serde_json::{Value, json};

use self::server::{Answer, Server};
use self::table::{ADDRESSES, NAMES, REDIRECTS};

/// Names as a test has them; what was asked is kept.
#[derive(Debug, Default)]
struct Written {
    names: BTreeMap<String, Vec<IpAddr>>,
    asked: Mutex<Vec<String>>,
}

impl Written {
    fn new(names: &[(&str, &[&str])]) -> Arc<Self> {
        let addresses = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect();
        let names = names.iter().map(|(name, all)| ((*name).to_owned(), addresses(all)));
        Arc::new(Self { names: names.collect(), asked: Mutex::default() })
    }
}

#[async_trait]
impl Names for Written {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.lock().unwrap().push(host.to_owned());
        let found = self.names.get(host).cloned();
        found.ok_or_else(|| io::Error::other("nobody of that name"))
    }
}

/// An authorised call with these arguments: no tool here looks at its permit, and none can be called without.
fn authorised(arguments: Value) -> AuthorisedCall {
    let capability: Capability = "rye.execute.tool.test.any".parse().unwrap();
    let spec = ToolSpec::new("any", "Any tool.", json!({}));
    let tool = Arc::new(|_: Value| ToolOutput::ok(Value::Null));
    let entry = PaletteEntry::new("test/any", spec, capability, Effect::Once, tool);
    let authority = Authority::new(Layer::new(LayerName::Operator, Grant::everything()));
    let palette = Palette::new(vec![entry]).unwrap();
    palette.authorise(&authority, "test/any", arguments).unwrap().unwrap()
}

/// Calls a tool as a thread does.
fn call(tool: &dyn Tool, arguments: Value) -> ToolOutput {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(tool.call(authorised(arguments)))
}

fn web(rules: WebRules, names: &Arc<Written>) -> Arc<Web> {
    Arc::new(Web::new(rules).with_names(names.clone()))
}

/// Rules by which nothing but the address itself keeps a server of this machine from being reached.
fn strict(port: u16) -> WebRules {
    let mut rules = WebRules::default();
    rules.ports.insert(port);
    rules
}

/// The same, with servers of this machine that may be reached.
fn allowing(origins: &[&str], port: u16) -> WebRules {
    let mut rules = strict(port);
    rules.private = origins.iter().map(|origin| origin.parse().unwrap()).collect();
    rules
}

fn redirect(status: u16, to: impl AsRef<[u8]>) -> Answer {
    Answer::new(status, "text/plain", "elsewhere").with("location", to)
}

#[track_caller]
fn refused(output: &ToolOutput, because: &str, row: &str) {
    let error = output.content["error"].as_str().unwrap_or_default();
    assert_eq!(output.status, ToolStatus::Refused, "{row}: {}", output.content);
    assert!(error.contains(because), "{row}: {error}");
}

#[test]
fn no_address_leads_into_this_machine_or_its_network() {
    let all: BTreeSet<_> = ADDRESSES.iter().chain(REDIRECTS).map(|(address, _)| address).collect();
    assert!(all.len() >= 200, "{}", all.len());
    assert_eq!(
        ADDRESSES.iter().map(|(address, _)| address).collect::<BTreeSet<_>>().len(),
        ADDRESSES.len()
    );
    let server = Server::new(|_| Answer::new(200, "text/plain", "CANARY"));
    let names = Written::new(NAMES);
    let tool = fetch(&web(strict(server.port), &names));
    for (address, because) in ADDRESSES {
        let url = address.replace("{P}", &server.port.to_string());
        refused(&call(tool.as_ref(), json!({ "url": url })), because, &url);
    }
    assert_eq!(server.lines(), [""; 0]);
}

#[test]
fn no_redirect_leads_there_either() {
    let inner = Server::new(|_| Answer::new(200, "text/plain", "CANARY"));
    let port = inner.port;
    let names = Written::new(NAMES);
    for (target, because) in REDIRECTS {
        let target = target.replace("{P}", &port.to_string());
        let to = target.clone();
        let outer = Server::new(move |_| redirect(302, &to));
        let origin = format!("open.test:{}", outer.port);
        let tool = fetch(&web(allowing(&[&origin], port), &names));
        let output = call(tool.as_ref(), json!({ "url": format!("http://{origin}/start") }));
        let error = output.content["error"].as_str().unwrap_or_default();
        assert_ne!(output.status, ToolStatus::Ok, "{target}: {}", output.content);
        assert!(error.contains(because), "{target}: {error}");
        assert_eq!(outer.lines(), ["GET /start"], "{target}");
    }
    assert_eq!(inner.lines(), [""; 0]);
}

#[test]
fn a_redirect_in_no_characters_leads_nowhere() {
    let server = Server::new(|_| redirect(302, b"http://127.0.0.1/\xe9\xff"));
    let origin = format!("open.test:{}", server.port);
    let tool = fetch(&web(allowing(&[&origin], server.port), &Written::new(NAMES)));
    let output = call(tool.as_ref(), json!({ "url": format!("http://{origin}/a") }));
    let error = output.content["error"].as_str().unwrap_or_default();
    assert!(error.contains("redirects to what is no address"), "{}", output.content);
    assert_eq!(server.lines(), ["GET /a"]);
    // Text of another alphabet is an address, as it is for browsers.
    let server = Server::new(|request| match request.path() {
        "/a" => redirect(302, "/é"),
        _ => Answer::new(200, "text/plain", "there"),
    });
    let origin = format!("open.test:{}", server.port);
    let tool = fetch(&web(allowing(&[&origin], server.port), &Written::new(NAMES)));
    let output = call(tool.as_ref(), json!({ "url": format!("http://{origin}/a") }));
    assert_eq!(output.content["content"], "there", "{}", output.content);
    assert_eq!(server.lines(), ["GET /a", "GET /%C3%A9"]);
}

#[test]
fn what_was_looked_at_is_what_is_asked() {
    let server = Server::new(|_| Answer::new(200, "text/plain", "here"));
    let origin = format!("open.test:{}", server.port);
    let names = Written::new(NAMES);
    let tool = fetch(&web(allowing(&[&origin], server.port), &names));
    let output = call(tool.as_ref(), json!({ "url": format!("http://{origin}/a") }));
    assert_eq!(output.content["content"], "here", "{}", output.content);
    // A second look-up could say something else.
    assert_eq!(*names.asked.lock().unwrap(), ["open.test"]);
    // What is allowed is this port of this name.
    let other = Server::new(|_| Answer::new(200, "text/plain", "CANARY"));
    let ways = [
        format!("http://open.test:{}/", other.port),
        format!("http://127.0.0.1:{}/", server.port),
        "http://open.test/".to_owned(),
    ];
    let mut rules = allowing(&[&origin], server.port);
    rules.ports.insert(other.port);
    let tool = fetch(&web(rules, &names));
    for url in ways {
        refused(&call(tool.as_ref(), json!({ "url": url })), "is refused: it", &url);
    }
    assert_eq!((server.lines().len(), other.lines().len()), (1, 0));
}

#[test]
fn lists_of_hosts_leave_out_all_others() {
    let names = Written::new(NAMES);
    let list = |all: &[&str]| all.iter().map(|one| one.parse().unwrap()).collect::<Vec<_>>();
    let mut rules = WebRules::default();
    rules.hosts =
        vec![list(&["*.inner.test", "example.org", "*"]), list(&["*.inner.test", "one.test"])];
    let tool = fetch(&web(rules, &names));
    let outside = [
        "http://example.org/",
        "http://inner.test/",
        "http://xinner.test/",
        "http://one.test.evil.test/",
        "http://evil.test/?one.test",
    ];
    for url in outside {
        refused(&call(tool.as_ref(), json!({ "url": url })), "is not among the hosts", url);
    }
    // These are among them, and private.
    for url in ["http://a.inner.test/", "http://one.test/", "http://ONE.test./"] {
        refused(&call(tool.as_ref(), json!({ "url": url })), "it leads to `10.0.0.1`", url);
    }
}

#[test]
fn patterns_and_origins_are_read_as_addresses_are() {
    for bad in ["", "http://a", "a/b", "a:80", "*.", "a b", "*a", "*.127.0.0.1", "a@b"] {
        assert!(bad.parse::<rye_web::HostPattern>().is_err(), "{bad}");
    }
    for bad in ["", "a", "a:", "a:x", "a:70000", "::1:80", "*:80", "http://a:80", "a:80/b"] {
        assert!(bad.parse::<rye_web::Origin>().is_err(), "{bad}");
    }
    for (text, same) in [
        ("LocalHost:80", "localhost:80"),
        ("[0:0::1]:8080", "[::1]:8080"),
        ("127.1:1", "127.0.0.1:1"),
        ("bücher.example:80", "xn--bcher-kva.example:80"),
    ] {
        assert_eq!(text.parse::<rye_web::Origin>().unwrap().to_string(), same);
    }
}
