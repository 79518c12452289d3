//! A client that writes and reads the lines of the protocol itself.

use std::sync::Arc;
use std::time::Duration;

use rye::caps::Grant;
use rye::providers::ApiKey;
use rye::resolve::{ItemId, Spaces};
use rye::sign::SigningKey;
use rye::thread::{Clock, ThreadId};
use rye::types::Moment;
use rye::{Approvals, McpServer, ProviderChoice, Secrets, ServerHost, Setup, shipped_files};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf,
};
use tokio::sync::oneshot;

use crate::session::Session;

/// How a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// With the handshake of the older revisions.
    Initialize,
    /// With a look at what the server is, and then each request by itself.
    Discover,
    /// With a request, as the newest revision allows.
    Inline,
}

pub(super) struct Wire {
    read: BufReader<ReadHalf<DuplexStream>>,
    write: WriteHalf<DuplexStream>,
    era: Era,
    last: u64,
    /// What every request of the newer era says.
    pub(super) version: &'static str,
    /// What the client says that it can do.
    capabilities: Value,
    /// What the client calls itself.
    pub(super) name: &'static str,
    /// What the server said between answers.
    pub(super) notifications: Vec<Value>,
    stop: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

impl Wire {
    pub(super) async fn begin(server: McpServer, era: Era) -> Self {
        Self::able(server, era, json!({})).await
    }

    /// A client that says that it can do something.
    pub(super) async fn able(server: McpServer, era: Era, capabilities: Value) -> Self {
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        let (read, write) = tokio::io::split(theirs);
        let (stop, stopped) = oneshot::channel();
        let served = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            server.serve(read, write, stopped).await.unwrap();
        });
        let (read, write) = tokio::io::split(ours);
        let read = BufReader::new(read);
        let (version, stop) = ("2026-07-28", Some(stop));
        let (name, notifications) = ("lines", Vec::new());
        let mut wire = Self {
            read,
            write,
            era,
            last: 0,
            version,
            capabilities,
            name,
            notifications,
            stop,
            served,
        };
        match era {
            Era::Initialize => {
                let client = json!({ "name": "lines", "version": "1" });
                let wish = json!({ "protocolVersion": "2025-11-25", "capabilities": wire.capabilities, "clientInfo": client });
                let begun = wire.ask("initialize", wish).await;
                assert_eq!(begun["result"]["serverInfo"]["name"], "rye", "{begun}");
                wire.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))
                    .await;
            }
            Era::Discover => {
                let found = wire.ask("server/discover", json!({})).await;
                let versions = found["result"]["supportedVersions"].to_string();
                assert!(versions.contains("2026-07-28"), "{found}");
            }
            Era::Inline => {}
        }
        wire
    }

    pub(super) async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and does not wait for its answer.
    pub(super) async fn begin_to_ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.last += 1;
        if self.era != Era::Initialize {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = self.version.into();
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
                self.capabilities.clone();
            params["_meta"]["io.modelcontextprotocol/clientInfo"] =
                json!({ "name": self.name, "version": "1" });
        }
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        id
    }

    /// The next message, whatever it is.
    pub(super) async fn next(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to that request; answers come in any order.
    pub(super) async fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            self.notifications.push(message);
        }
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin_to_ask(method, params).await;
        self.answer(id).await
    }

    /// The result of a call of a tool.
    pub(super) async fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.ask("tools/call", json!({ "name": name, "arguments": arguments })).await;
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Tells the server to stop, and waits until it has.
    pub(super) async fn stop(mut self) {
        self.stop.take().unwrap().send(()).unwrap();
        self.served.await.unwrap();
    }
}

/// A server over the session's project and home.
pub(super) fn server(session: &Session, grant: Grant) -> McpServer {
    McpServer::new(host(session, grant))
}

pub(super) fn host(session: &Session, grant: Grant) -> ServerHost {
    let spaces = Spaces::new()
        .with_shipped(shipped_files())
        .with_project(session.project())
        .with_user(session.home());
    let mut setup = Setup::new(spaces, Still.now().timestamp());
    setup.trust_documents = vec![std::fs::read_to_string(session.trust()).unwrap()];
    let key = session.home().join(".ai/config/keys/signing/private_key.pem");
    let numbers = std::sync::atomic::AtomicU64::new(0);
    ServerHost {
        setup,
        threads: None,
        replica: None,
        grant,
        provider: ProviderChoice::Steps,
        directives_as_tools: false,
        clock: Arc::new(Still),
        secrets: Arc::new(NoSecrets),
        random: Arc::new(|| 0),
        signing_key: Arc::new(move || {
            let pem = std::fs::read_to_string(&key).ok();
            let key = pem.map(|pem| SigningKey::from_pkcs8_pem(&pem)).transpose();
            key.map(|key| key.map(Arc::new)).map_err(|error| error.to_string())
        }),
        approvals: Approvals::Operator,
        notice: None,
        new_thread: Arc::new(move |id: &ItemId| {
            let number = numbers.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            ThreadId::new(id.as_str(), &format!("019a0000-0000-7000-8000-{number:012}")).unwrap()
        }),
    }
}

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Moment {
        Moment::from_unix_millis(1_795_300_000_000)
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

struct NoSecrets;

impl Secrets for NoSecrets {
    fn api_key(&self, _: &str) -> Option<ApiKey> {
        None
    }
}
