//! The engine's address, from which a worker reads what earlier steps of a thread recorded.

use anyhow::Context as _;
use reqwest::{Client, Url};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::records::Step;

/// The engine's ingress.
#[derive(Debug)]
pub struct Ingress {
    address: Url,
    token: Option<String>,
    client: Client,
}

impl Ingress {
    /// Creates a client. The token is sent as a bearer token.
    ///
    /// # Errors
    ///
    /// When the address is not HTTPS, and other machines could read the token on its way.
    pub fn new(address: &str, token: Option<String>) -> anyhow::Result<Self> {
        let address: Url = address.parse().with_context(|| format!("`{address}` is no address"))?;
        let is_local = matches!(address.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        if address.scheme() != "https" && !is_local {
            anyhow::bail!("`{address}` is not this machine, so that its address has to be HTTPS");
        }
        Ok(Self { address, token, client: Client::builder().no_proxy().build()? })
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
                self.call(&format!("RyeThread/{key}/steps"), &Value::from(from)).await?;
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
