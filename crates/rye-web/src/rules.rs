//! The operator's rules for hosts.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(feature = "pinned")]
use reqwest::Url;

use crate::credential::Credential;
use crate::hosts::{HostPattern, Origin};

/// The hosts that tools may reach. By default, these are all public hosts on the ports 80 and 443.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WebRules {
    /// Lists of allowed hosts. A host must be in each of them.
    pub hosts: Vec<Vec<HostPattern>>,
    /// Additional allowed ports.
    pub ports: BTreeSet<u16>,
    /// Hosts with a port that may be on this machine or in a private network.
    pub private: BTreeSet<Origin>,
    /// The secrets that tools of one request may name.
    pub credentials: BTreeMap<String, Credential>,
}

impl WebRules {
    /// Allows the host and port of the URL to be private.
    #[cfg(feature = "pinned")]
    pub(crate) fn allow_private(&mut self, url: &Url) {
        if let (Some(host), Some(port)) = (url.host_str(), url.port_or_known_default()) {
            self.private.insert(Origin::new(host, port));
        }
    }

    /// Returns `true` if every list contains the host.
    pub(crate) fn allows(&self, host: &str) -> bool {
        self.hosts.iter().all(|list| list.iter().any(|pattern| pattern.covers(host)))
    }
}
