//! The engine's address, from which a worker reads what earlier steps of a thread recorded.

use anyhow::Context as _;
use reqwest::{Client, Url};
use rye::WorkerLabel;
use rye::sign::PublicKey;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::records::Step;

/// The name of the object of threads without a label.
const OBJECT: &str = "RyeThread";

/// The engine's ingress.
#[derive(Debug)]
pub struct Ingress {
    address: Url,
    /// The name of the object that keeps the threads.
    object: String,
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
        let address: Url = address.parse().with_context(|| format!("`{address}` is no address"))?;
        let is_local = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if address.scheme() != "https" && !is_local {
            anyhow::bail!("`{address}` is not this machine, so that its address has to be HTTPS");
        }
        let object = label.as_ref().map_or(OBJECT.to_owned(), |label| format!("{OBJECT}-{label}"));
        Ok(Self { address, object, label, token, client: Client::builder().no_proxy().build()? })
    }

    /// Returns the name of the object that keeps the threads.
    pub fn object(&self) -> &str {
        &self.object
    }

    /// Returns the key of the list of an operator's threads: the fingerprint of the operator's key, and the label.
    pub fn list_key(&self, operator: &PublicKey) -> String {
        let label = self.label.as_ref().map(|label| format!(".{label}"));
        format!("{}{}", operator.fingerprint(), label.unwrap_or_default())
    }

    /// Returns the address.
    pub fn address(&self) -> &str {
        self.address.as_str()
    }

    /// Returns the first `end` steps of a thread.
    ///
    /// # Errors
    ///
    /// When the engine does not answer, or lacks one of them.
    pub async fn steps(&self, key: &str, end: u64) -> anyhow::Result<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        while let Some(from) = u64::try_from(steps.len()).ok().filter(|from| *from < end) {
            let page: Vec<Step> =
                self.call(&format!("{}/{key}/steps", self.object), &Value::from(from)).await?;
            if page.is_empty() {
                anyhow::bail!("the engine lacks step {from} of thread `{key}`");
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
        self.call(&format!("RyeOrders/{key}/waiting"), &Value::Null).await
    }

    async fn call<T: DeserializeOwned>(&self, handler: &str, body: &Value) -> anyhow::Result<T> {
        let address = self.address.join(handler)?;
        let mut request = self.client.post(address);
        if !body.is_null() {
            request = request.json(body);
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.context("the engine does not answer")?;
        let status = answer.status();
        if !status.is_success() {
            let text = answer.text().await.unwrap_or_default();
            anyhow::bail!("the engine answers {status}: {text}");
        }
        answer.json().await.context("the engine's answer is none that this version knows")
    }
}
