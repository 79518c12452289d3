//! A client for one address that is asked again and again.

use std::net::IpAddr;

use reqwest::{Client, Url};

use super::error::{AddressFault, WebError};
use super::exchange::Web;
use super::place::{Place, read};

impl Web {
    /// A client of its own for this address, which the rules have to allow as they have to for any other.
    ///
    /// The host is looked up here and never again, and the client follows no redirect: whoever uses it as long as it likes
    /// reaches what was looked at. With `is_private`, this one origin may be of this machine or of a private network. The secret
    /// of the name `lent` goes in clear text to this machine alone, whatever its name leads to.
    pub(crate) async fn standing(
        &self,
        address: &str,
        is_private: bool,
        lent: Option<&str>,
    ) -> Result<(Client, Url), WebError> {
        let url = read(address)?;
        let mut rules = self.rules().clone();
        if is_private {
            rules.allow_private(&url);
        }
        let place = Place::new(url, &rules)?;
        let addresses = place.addresses(self.names.as_ref()).await?;
        let is_safe = place.url.scheme() == "https" || addresses.iter().all(IpAddr::is_loopback);
        if let Some(name) = lent.filter(|_| !is_safe) {
            let (name, origin) = (name.to_owned(), format!("http://{}", place.origin));
            return Err(AddressFault::Recipient { name, origin }.into());
        }
        Ok((self.client(&place, &addresses)?, place.url))
    }
}
