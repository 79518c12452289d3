//! How names of hosts become addresses.

use std::fmt;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// Looks names of hosts up.
#[async_trait]
pub trait Names: fmt::Debug + Send + Sync {
    /// Every address of the host, in the order in which they should be tried; an error when there is none.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// As every program of this machine does it.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is nothing to set")]
pub struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        let found = tokio::net::lookup_host((host, 0)).await?;
        let mut addresses: Vec<IpAddr> = found.map(|address| address.ip()).collect();
        addresses.dedup();
        Ok(addresses)
    }
}
