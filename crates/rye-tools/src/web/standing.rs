//! A client for one address that is asked again and again.

use reqwest::{Client, Url};

use super::error::WebError;
use super::exchange::Web;
use super::place::{Place, read};

impl Web {
    /// A client of its own for this address, which the rules have to allow as they have to for any other.
    ///
    /// The host is looked up here and never again, and the client follows no redirect: whoever uses it as long as it likes
    /// reaches what was looked at. With `is_private`, this one origin may be of this machine or of a private network.
    pub(crate) async fn standing(
        &self,
        address: &str,
        is_private: bool,
    ) -> Result<(Client, Url), WebError> {
        let url = read(address)?;
        let mut rules = self.rules().clone();
        if is_private {
            rules.allow_private(&url);
        }
        let place = Place::new(url, &rules)?;
        let client = self.client_of(&place).await?;
        Ok((client, place.url))
    }
}
