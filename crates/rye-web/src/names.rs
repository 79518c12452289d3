//! Resolution of host names.

use std::fmt;
use std::io;
use std::net::IpAddr;

use async_trait::async_trait;

/// A resolver of host names.
#[async_trait]
pub trait Names: fmt::Debug + Send + Sync {
    /// Returns all addresses of the host, in the order to try them. A host without an address is an error.
    async fn addresses(&self, host: &str) -> io::Result<Vec<IpAddr>>;
}

/// The resolver of the system.
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
