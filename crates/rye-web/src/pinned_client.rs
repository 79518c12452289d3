//! Clients for repeated requests to one address.

use std::net::IpAddr;

use reqwest::header::HeaderValue;
use reqwest::{Client, Url};

use crate::allowed_url::{AllowedUrl, read};
use crate::credential::header_value;
use crate::error::{AddressFault, WebError};
use crate::exchange::Web;

impl Web {
    /// Returns a client for this address, which the rules must allow like any other.
    ///
    /// The host is resolved only here, and the client follows no redirects. However long the client is used,
    /// it reaches the checked addresses. With `is_private`, this origin may be on this machine or in a
    /// private network. The secret with the name `secret` is sent in clear text only to this machine.
    ///
    /// # Errors
    ///
    /// If the rules refuse the address, its host cannot be resolved, or the secret would be readable on the network.
    #[doc(hidden)]
    pub async fn pinned_client(
        &self,
        address: &str,
        is_private: bool,
        secret: Option<&str>,
    ) -> Result<(Client, Url), WebError> {
        let url = read(address)?;
        let mut rules = self.rules().clone();
        if is_private {
            rules.allow_private(&url);
        }
        let place = AllowedUrl::new(url, &rules)?;
        let addresses = place.addresses(self.names.as_ref()).await?;
        let is_safe = place.url.scheme() == "https" || addresses.iter().all(IpAddr::is_loopback);
        if let Some(name) = secret.filter(|_| !is_safe) {
            let name = name.to_owned();
            let origin = format!("http://{}", place.origin);
            return Err(AddressFault::Recipient { name, origin }.into());
        }
        Ok((self.client(&place, &addresses)?, place.url))
    }

    /// Returns the value of a header that carries a secret; `None` for characters that servers read in different
    /// ways.
    #[doc(hidden)]
    #[must_use]
    pub fn secret_header(text: &str) -> Option<HeaderValue> {
        header_value(text)
    }
}
