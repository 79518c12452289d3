//! The checks for every store of threads, on a store whose records a real server keeps.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use reqwest::Client;
use restate_sdk::prelude::*;
use rye_thread::store::{LocalStore, Store, conformance};
use tempfile::TempDir;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;

use crate::queue::Queue;
use crate::records::{Change, assemble};

#[path = "../tests/threads/server.rs"]
#[allow(dead_code, reason = "the tests of threads use more of this module")]
mod server;

use self::server::Server;

/// An object of the server for each store. Its key is the number of the store.
#[derive(Clone, Default)]
struct StoreObject(Arc<Mutex<Vec<Arc<Queue>>>>);

#[restate_sdk::object]
impl StoreObject {
    /// Keeps what the store records, in steps as those of a thread. It does not end.
    #[handler]
    async fn drive(&self, context: ObjectContext<'_>) -> Result<(), HandlerError> {
        let number: usize = context.key().parse().map_err(TerminalError::from_error)?;
        let queue = Arc::clone(&self.0.lock().unwrap()[number]);
        for step in 0_u64.. {
            let taking = Arc::clone(&queue);
            let advance = async move || {
                // As in a turn, the record of the last step is what lets the store go on.
                taking.keep();
                taking.wait_for_changes().await;
                Ok(Json(taking.take().changes))
            };
            let Json(changes) = context.run(advance).name(format!("step {step}")).await?;
            context.set(&format!("{step:08}"), Json(changes));
        }
        Ok(())
    }

    /// Returns all changes that are kept.
    #[handler]
    async fn changes(
        &self,
        context: SharedObjectContext<'_>,
    ) -> Result<Json<Vec<Change>>, HandlerError> {
        let mut keys = context.get_keys().await?;
        keys.sort();
        let mut changes = Vec::new();
        for key in keys {
            changes.extend(context.get::<Json<Vec<Change>>>(&key).await?.unwrap().into_inner());
        }
        Ok(Json(changes))
    }
}

/// A server with the object, and the stores that were opened.
struct Lab {
    folder: TempDir,
    server: Server,
    client: Client,
    object: StoreObject,
}

impl Lab {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start(folder.path(), "");
        let client = Client::builder().no_proxy().build().unwrap();
        wait_until("the server is up", async || server.is_up(&client).await.is_some()).await;
        let lab = Self { folder, server, client, object: StoreObject::default() };
        lab.serve().await;
        lab
    }

    async fn serve(&self) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let uri = format!("http://{}/", listener.local_addr().unwrap());
        let endpoint = Endpoint::builder().bind(self.object.clone()).build();
        tokio::spawn(HttpServer::new(endpoint).serve(listener));
        let deployments = format!("http://127.0.0.1:{}/deployments", self.server.admin);
        let deployment = serde_json::json!({ "uri": uri });
        let answer = self.client.post(deployments).json(&deployment).send().await.unwrap();
        answer.error_for_status().unwrap();
    }

    async fn call(&self, number: usize, handler: &str) -> reqwest::Response {
        let ingress = self.server.ingress;
        let address = format!("http://127.0.0.1:{ingress}/StoreObject/{number}/{handler}");
        self.client.post(address).send().await.unwrap().error_for_status().unwrap()
    }

    /// Opens an empty store, whose records the next object keeps.
    fn open(&self, runtime: &Handle) -> Arc<dyn Store> {
        let queue = Arc::new(Queue::new(BTreeMap::new()));
        let number = {
            let mut queues = self.object.0.lock().unwrap();
            queues.push(Arc::clone(&queue));
            queues.len() - 1
        };
        let threads = self.threads(number);
        // A thread has a folder before it has a transcript.
        fs::create_dir_all(threads.join("check-019a0000-0000-7000-8000-000000000002")).unwrap();
        runtime.block_on(self.call(number, "drive/send"));
        Arc::new(LocalStore::open(&threads).unwrap().with_replica(queue as _))
    }

    fn threads(&self, number: usize) -> PathBuf {
        self.folder.path().join(number.to_string())
    }

    /// Returns the transcripts that the server keeps of a store.
    async fn kept(&self, number: usize) -> BTreeMap<String, String> {
        let changes: Vec<Change> = self.call(number, "changes").await.json().await.unwrap();
        assemble(changes.iter()).unwrap()
    }
}

/// Looks again and again, for a minute.
async fn wait_until(what: &str, is_so: impl AsyncFn() -> bool) {
    let looking = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let looked = tokio::time::timeout(Duration::from_secs(60), looking).await;
    assert!(looked.is_ok(), "{what}: not within a minute");
}

/// Returns the transcripts in a folder of threads.
fn written(threads: &Path) -> BTreeMap<String, String> {
    let folders = fs::read_dir(threads).unwrap().map(|entry| entry.unwrap());
    let transcript = |folder: fs::DirEntry| {
        let text = fs::read_to_string(folder.path().join("transcript.jsonl")).ok()?;
        Some((folder.file_name().into_string().unwrap(), text)).filter(|(_, text)| !text.is_empty())
    };
    folders.filter_map(transcript).collect()
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a server; `cargo xtask e2e restate` runs it"]
async fn a_store_on_the_engine_conforms() {
    let lab = Arc::new(Lab::new().await);
    let opening = Arc::clone(&lab);
    let runtime = Handle::current();
    let checks = move || conformance::check(&|| opening.open(&runtime));
    spawn_blocking(checks).await.unwrap();
    let stores = lab.object.0.lock().unwrap().len();
    assert!(8 < stores, "each check opens one");
    for number in 0..stores {
        let written = written(&lab.threads(number));
        // What no sync waits for is kept a little later.
        wait_until("all records are kept", async || lab.kept(number).await == written).await;
    }
}
