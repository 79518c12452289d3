//! The engine's address, from which a worker reads what earlier steps of a thread recorded.

use std::time::Duration;

use anyhow::Context as _;
use reqwest::{Client, Response, Url, redirect};
use rye::WorkerLabel;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::records::Step;

/// An object of the engine. Workers with another label have one of another name.
#[derive(Debug, Clone, Copy)]
pub enum Object {
    /// A thread tree.
    Thread,
    /// The list of an operator's threads.
    Threads,
    /// The orders that wait for the turn of a tree to end.
    Orders,
}

/// The time within which the engine answers. A handler that answers here waits for nothing.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most bytes of one answer, twice the server's own limit, and of all steps of a tree.
const LONGEST_ANSWER: usize = 64 << 20;
const MOST_BYTES: usize = 1 << 30;

/// The bytes that a step counts beside its texts, which may be empty.
const FIXED_BYTES: usize = 1 << 10;

/// The engine's ingress.
#[derive(Debug)]
pub struct Ingress {
    address: Url,
    label: Option<WorkerLabel>,
    token: Option<String>,
    client: Client,
}

impl Ingress {
    /// Creates a client. The token is sent as a bearer token.
    ///
    /// # Errors
    ///
    /// When the address is not HTTPS, and other machines could read the token on its way.
    pub fn new(
        address: &str,
        token: Option<String>,
        label: Option<WorkerLabel>,
    ) -> anyhow::Result<Self> {
        let mut address: Url =
            address.parse().with_context(|| format!("`{address}` is no address"))?;
        // Places are added to the path, whose last part would be replaced otherwise.
        if !address.path().ends_with('/') {
            address.set_path(&format!("{}/", address.path()));
        }
        let is_local = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if address.scheme() != "https" && !is_local {
            anyhow::bail!("`{address}` is not this machine, so that its address has to be HTTPS");
        }
        // A redirect would send the token elsewhere.
        let client = Client::builder().no_proxy().redirect(redirect::Policy::none());
        Ok(Self { address, label, token, client: client.timeout(TIMEOUT).build()? })
    }

    /// Returns the name of an object of workers with this label.
    pub fn name(&self, object: Object) -> String {
        let name = match object {
            Object::Thread => "RyeThread",
            Object::Threads => "RyeThreads",
            Object::Orders => "RyeOrders",
        };
        self.label.as_ref().map_or(name.to_owned(), |label| format!("{name}-{label}"))
    }

    /// Returns the address.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Returns the first `end` steps of a thread.
    ///
    /// # Errors
    ///
    /// When the engine does not answer, lacks one of them, or has more than 1 GiB of records.
    pub async fn steps(&self, key: &str, end: u64) -> anyhow::Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        let mut bytes = 0;
        while let Some(from) = u64::try_from(steps.len()).ok().filter(|from| *from < end) {
            let page: Vec<Step> =
                self.call(Object::Thread, key, "steps", &Value::from(from)).await?;
            if page.is_empty() {
                anyhow::bail!("the engine lacks step {from} of thread `{key}`");
            }
            bytes += page.iter().map(|step| FIXED_BYTES + step.bytes()).sum::<usize>();
            if MOST_BYTES < bytes {
                anyhow::bail!("the engine has more than 1 GiB of records of thread `{key}`");
            }
            steps.extend(page);
        }
        steps.truncate(usize::try_from(end)?);
        Ok(steps)
    }

    /// Returns the orders about a tree that wait for its turn to end.
    ///
    /// # Errors
    ///
    /// When the engine does not answer.
    pub async fn orders(&self, key: &str) -> anyhow::Result<Vec<Value>> {
        self.call(Object::Orders, key, "waiting", &Value::Null).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        object: Object,
        key: &str,
        handler: &str,
        body: &Value,
    ) -> anyhow::Result<T> {
        let address = self.address.join(&format!("{}/{key}/{handler}", self.name(object)))?;
        let mut request = self.client.post(address);
        if !body.is_null() {
            request = request.json(body);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.context("the engine does not answer")?;
        let status = answer.status();
        let body = read(answer).await?;
        if !status.is_success() {
            let text: String = String::from_utf8_lossy(&body).chars().take(1_000).collect();
            anyhow::bail!("the engine answers {status}: {text}");
        }
        serde_json::from_slice(&body).context("the engine's answer is none that this version knows")
    }
}

/// Reads an answer, which another program than the server may give without end.
async fn read(mut answer: Response) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    while let Some(part) = answer.chunk().await.context("the engine's answer breaks off")? {
        if LONGEST_ANSWER < body.len() + part.len() {
            anyhow::bail!("the engine's answer is longer than 64 MiB");
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Answers one request with this head, and then with zeros for as long as the client reads.
    async fn serve(head: &'static str) -> Ingress {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/", listener.local_addr().unwrap());
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            stream.write_all(head.as_bytes()).await.unwrap();
            while stream.write_all(&[b'0'; 1 << 16]).await.is_ok() {}
        });
        Ingress::new(&address, None, None).unwrap()
    }

    #[tokio::test]
    async fn an_answer_without_end_is_not_read() {
        let ingress = serve("HTTP/1.1 200 OK\r\n\r\n").await;
        let error = ingress.orders("a").await.unwrap_err();
        assert_eq!(error.to_string(), "the engine's answer is longer than 64 MiB");
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer() {
        let ingress = serve(
            "HTTP/1.1 307 Temporary Redirect\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 2\r\n\r\n",
        );
        let error = ingress.await.orders("a").await.unwrap_err();
        assert_eq!(error.to_string(), "the engine answers 307 Temporary Redirect: 00");
    }
}
