//! A request and its answer, redirects included.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use super::credential::Lent;
use super::error::{AddressFault, WebError};
use super::names::{Names, SystemNames};
use super::place::Place;
use super::rules::WebRules;
use crate::process::Variables;

/// The most redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;

/// Sends the requests of tools, to where its rules allow.
#[derive(Debug)]
pub struct Web {
    rules: WebRules,
    pub(super) names: Arc<dyn Names>,
    variables: Variables,
    /// Reading the machine's certificates takes a while, so it is done for the first secure connection.
    tls: OnceLock<ClientConfig>,
}

/// What is sent.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Option<Vec<u8>>,
    pub(super) follow: Follow,
    /// A secret that is sent along; with one, a redirect leads to nobody else.
    pub(super) lent: Option<Arc<Lent>>,
}

/// Where redirects may lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follow {
    /// To every host that may be asked.
    Anywhere,
    /// To the same host and port, or from its usual port without TLS to the one with it.
    SameHost,
}

/// What came back; of the body, nothing is read yet.
#[derive(Debug)]
pub(super) struct Answer {
    /// Who answered in the end.
    pub(super) url: Url,
    /// Who answered with a redirect before.
    pub(super) passed: Vec<Url>,
    pub(super) response: Response,
}

impl Web {
    /// By these rules, with the machine's own way of looking up names.
    #[must_use]
    pub fn new(rules: WebRules) -> Self {
        let variables = Variables::none();
        Self { rules, names: Arc::new(SystemNames), variables, tls: OnceLock::new() }
    }

    /// Looks up names in another way.
    #[must_use]
    pub fn with_names(mut self, names: Arc<dyn Names>) -> Self {
        self.names = names;
        self
    }

    /// Finds the secrets that its rules name here; without it, none is set.
    #[must_use]
    pub fn with_variables(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// The secret of this name, for one request.
    pub(super) fn lend(&self, name: &str) -> Result<Lent, WebError> {
        let credential = self.rules.credentials.get(name);
        let credential = credential.ok_or_else(|| WebError::Unset { name: name.to_owned() })?;
        Lent::new(name, credential, &self.variables)
    }

    /// What it goes by.
    #[must_use]
    pub fn rules(&self) -> &WebRules {
        &self.rules
    }

    /// Sends the order, follows redirects of what only reads, and does all of it, with what `read` does, within the time.
    pub(super) async fn exchange<T>(
        &self,
        order: Order,
        limit: Duration,
        read: impl AsyncFnOnce(Answer) -> Result<T, WebError>,
    ) -> Result<T, WebError> {
        let work = async { read(self.answer(order).await?).await };
        let late = |_| WebError::Late { seconds: limit.as_secs() };
        tokio::time::timeout(limit, work).await.map_err(late)?
    }

    async fn answer(&self, mut order: Order) -> Result<Answer, WebError> {
        let mut passed = Vec::new();
        let mut place = Place::new(order.url.clone(), &self.rules)?;
        if let Some(lent) = &order.lent {
            lent.goes_to(&place.url)?;
        }
        loop {
            let response = self.ask(&place, &order).await?;
            let Some(next) = leads_to(&order.method, &response, &place.url)? else {
                return Ok(Answer { url: place.url, passed, response });
            };
            if passed.len() == MAX_REDIRECTS {
                let url = place.url.to_string();
                return Err(WebError::Redirects { most: MAX_REDIRECTS, url });
            }
            let next = Place::new(next, &self.rules)?;
            follows(order.follow, &place, &next)?;
            if order.lent.is_some() {
                stays(&place, &next)?;
            }
            order.url = next.url.clone();
            passed.push(std::mem::replace(&mut place, next).url);
        }
    }

    /// One request, to addresses that were looked at.
    async fn ask(&self, place: &Place, order: &Order) -> Result<Response, WebError> {
        let addresses = place.addresses(self.names.as_ref()).await?;
        if let Some(lent) = &order.lent {
            lent.reaches(&place.url, &addresses)?;
        }
        let client = self.client(place, &addresses)?;
        let mut request = client.request(order.method.clone(), place.url.clone());
        request = request.headers(order.headers.clone());
        if let Some((name, value)) = order.lent.as_deref().map(Lent::header) {
            request = request.header(name, value);
        }
        // Nothing here unpacks, so that nothing small becomes large.
        request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(body) = &order.body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        sent.map_err(|error| WebError::broken(place.origin.host(), error))
    }

    /// A client that knows these addresses and no others: no resolver, no proxy, no redirects, no cookies.
    pub(super) fn client(&self, place: &Place, addresses: &[IpAddr]) -> Result<Client, WebError> {
        let host = place.url.host_str().unwrap_or_default();
        let addresses: Vec<SocketAddr> = addresses
            .iter()
            .map(|address| SocketAddr::new(*address, place.origin.port()))
            .collect();
        let built = Client::builder()
            .tls_backend_preconfigured(self.tls(place.url.scheme())?)
            .resolve_to_addrs(host, &addresses)
            .dns_resolver(NoNames)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .referer(false)
            .pool_max_idle_per_host(0)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("rye/", env!("CARGO_PKG_VERSION")))
            .build();
        built.map_err(|error| WebError::broken(place.origin.host(), error))
    }

    /// The machine's own roots for `https`; a plain connection needs none.
    fn tls(&self, scheme: &str) -> Result<ClientConfig, WebError> {
        if let Some(config) = self.tls.get().filter(|_| scheme == "https") {
            return Ok(config.clone());
        }
        let insecure = |source: rustls::Error| WebError::Insecure { source: source.into() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().map_err(insecure)?;
        if scheme != "https" {
            return Ok(builder
                .with_root_certificates(RootCertStore::empty())
                .with_no_client_auth());
        }
        let config = builder.with_platform_verifier().map_err(insecure)?.with_no_client_auth();
        Ok(self.tls.get_or_init(|| config).clone())
    }
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Where a redirect leads, for what only reads.
fn leads_to(method: &Method, response: &Response, from: &Url) -> Result<Option<Url>, WebError> {
    let redirects = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let reads = method == Method::GET || method == Method::HEAD;
    if !reads || !redirects.contains(&response.status()) {
        return Ok(None);
    }
    let Some(location) = response.headers().get(LOCATION) else { return Ok(None) };
    let text = std::str::from_utf8(location.as_bytes()).unwrap_or_default().trim();
    if text.is_empty() {
        return Err(WebError::unreadable(from, "redirects to what is no address"));
    }
    if text.contains('\\') {
        let what = "redirects to an address with a backslash in it";
        return Err(WebError::unreadable(from, what));
    }
    let next = from.join(text);
    next.map(Some).map_err(|_| WebError::unreadable(from, "redirects to what is no address"))
}

/// Whether a redirect from one place to the next may be followed.
fn follows(follow: Follow, from: &Place, to: &Place) -> Result<(), AddressFault> {
    if (from.url.scheme(), to.url.scheme()) == ("https", "http") {
        return Err(AddressFault::Downgrade);
    }
    let upgrade = (from.origin.port(), to.origin.port()) == (80, 443);
    let same = from.origin.host() == to.origin.host()
        && (from.origin.port() == to.origin.port() || upgrade);
    if follow == Follow::SameHost && !same {
        let (from, to) = (from.origin.clone(), to.origin.clone());
        return Err(AddressFault::OtherHost { from, to });
    }
    Ok(())
}

/// Whether a redirect stays with whoever got a secret: what is on another port is somebody else.
fn stays(from: &Place, to: &Place) -> Result<(), AddressFault> {
    if from.url.scheme() == to.url.scheme() && from.origin == to.origin {
        return Ok(());
    }
    let (from, to) = (from.origin.clone(), to.origin.clone());
    Err(AddressFault::OtherHost { from, to })
}

/// Every name that is asked for has been looked up before, so that looking one up here would be a hole.
#[derive(Debug, Clone, Copy)]
struct NoNames;

impl reqwest::dns::Resolve for NoNames {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async { Err("names are looked up before a request, never by it".into()) })
    }
}
