//! Requests and their answers, including redirects.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue, LOCATION};
use reqwest::{Client, Method, Response, StatusCode, Url, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;

use crate::allowed_url::AllowedUrl;
use crate::credential::RequestSecret;
use crate::error::{AddressFault, WebError};
use crate::names::{Names, SystemNames};
use crate::rules::WebRules;
use rye_sandbox::Variables;

/// The largest number of redirects that are followed.
pub const MAX_REDIRECTS: usize = 5;

/// A client for the requests of tools, limited by rules (SPEC 5.1, 5.5).
///
/// The address of each request and redirect is checked against the rules. Its host is resolved once, each
/// resolved address is checked, and the connection uses the checked addresses. No name is resolved twice, so that
/// a second answer cannot differ.
#[derive(Debug)]
pub struct Web {
    rules: WebRules,
    pub(crate) names: Arc<dyn Names>,
    variables: Variables,
    /// The TLS configuration. It is made for the first secure connection, because reading the certificates of
    /// the machine is slow.
    tls: OnceLock<ClientConfig>,
}

/// A request to send.
#[derive(Debug)]
pub(crate) struct Order {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) follow: Follow,
    /// A secret to send. With a secret, redirects may not leave the origin.
    pub(crate) secret: Option<Arc<RequestSecret>>,
}

/// The allowed targets of redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follow {
    /// All allowed hosts.
    Anywhere,
    /// The same host and port, or from port 80 to port 443 of the same host.
    SameHost,
}

/// The answer to a request. Its body has not been read.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The final address, after redirects.
    pub(crate) url: Url,
    /// The earlier addresses, which answered with redirects.
    pub(crate) passed: Vec<Url>,
    pub(crate) response: Response,
}

impl Web {
    /// Creates a client with these rules and the resolver of the system.
    #[must_use]
    pub fn new(rules: WebRules) -> Self {
        let variables = Variables::none();
        Self { rules, names: Arc::new(SystemNames), variables, tls: OnceLock::new() }
    }

    /// Uses another resolver.
    #[must_use]
    pub fn with_names(mut self, names: Arc<dyn Names>) -> Self {
        self.names = names;
        self
    }

    /// Uses this lookup for the secrets of the rules. Without a lookup, no secret is set.
    #[must_use]
    pub fn with_variables(mut self, variables: Variables) -> Self {
        self.variables = variables;
        self
    }

    /// Returns the secret with this name, for one request.
    pub(crate) fn request_secret(&self, name: &str) -> Result<RequestSecret, WebError> {
        let credential = self.rules.credentials.get(name);
        let credential = credential.ok_or_else(|| WebError::Unset { name: name.to_owned() })?;
        RequestSecret::new(name, credential, &self.variables)
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &WebRules {
        &self.rules
    }

    /// Sends the request, follows the redirects of reading methods, and passes the answer to `read`, all
    /// within the time limit.
    pub(crate) async fn exchange<T>(
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
        let mut place = AllowedUrl::new(order.url.clone(), &self.rules)?;
        if let Some(secret) = &order.secret {
            secret.goes_to(&place.url)?;
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
            let next = AllowedUrl::new(next, &self.rules)?;
            follows(order.follow, &place, &next)?;
            if order.secret.is_some() {
                stays(&place, &next)?;
            }
            order.url = next.url.clone();
            passed.push(std::mem::replace(&mut place, next).url);
        }
    }

    /// Sends one request to checked addresses.
    async fn ask(&self, place: &AllowedUrl, order: &Order) -> Result<Response, WebError> {
        let addresses = place.addresses(self.names.as_ref()).await?;
        if let Some(secret) = &order.secret {
            secret.reaches(&place.url, &addresses)?;
        }
        let client = self.client(place, &addresses)?;
        let mut request = client.request(order.method.clone(), place.url.clone());
        request = request.headers(order.headers.clone());
        if let Some((name, value)) = order.secret.as_deref().map(RequestSecret::header) {
            request = request.header(name, value);
        }
        // Nothing is decompressed here, so that a small answer cannot become large.
        request = request.header(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        if let Some(body) = &order.body {
            request = request.body(body.clone());
        }
        let sent = request.send().await;
        sent.map_err(|error| WebError::broken_connection(place.origin.host(), error))
    }

    /// Creates a client for these addresses only: without a resolver, proxy, redirects and cookies.
    pub(crate) fn client(
        &self,
        place: &AllowedUrl,
        addresses: &[IpAddr],
    ) -> Result<Client, WebError> {
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
        built.map_err(|error| WebError::broken_connection(place.origin.host(), error))
    }

    /// Returns the TLS configuration: with the certificates of the machine for `https`, and without any for
    /// `http`.
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

/// Returns the target of a redirect, if the method only reads.
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

/// Returns an error if a redirect between these places may not be followed.
fn follows(follow: Follow, from: &AllowedUrl, to: &AllowedUrl) -> Result<(), AddressFault> {
    if (from.url.scheme(), to.url.scheme()) == ("https", "http") {
        return Err(AddressFault::Downgrade);
    }
    let upgrade = (from.origin.port(), to.origin.port()) == (80, 443);
    let same = from.origin.host() == to.origin.host()
        && (from.origin.port() == to.origin.port() || upgrade);
    if follow == Follow::SameHost && !same {
        let from = from.origin.clone();
        let to = to.origin.clone();
        return Err(AddressFault::OtherHost { from, to });
    }
    Ok(())
}

/// Returns an error if a redirect leaves the origin that received a secret. Another port is another origin.
fn stays(from: &AllowedUrl, to: &AllowedUrl) -> Result<(), AddressFault> {
    if from.url.scheme() == to.url.scheme() && from.origin == to.origin {
        return Ok(());
    }
    let from = from.origin.clone();
    let to = to.origin.clone();
    Err(AddressFault::OtherHost { from, to })
}

/// A resolver that always fails, because every host is resolved and checked before its request.
#[derive(Debug, Clone, Copy)]
struct NoNames;

impl reqwest::dns::Resolve for NoNames {
    fn resolve(&self, _: reqwest::dns::Name) -> reqwest::dns::Resolving {
        Box::pin(async { Err("names are looked up before a request, never by it".into()) })
    }
}
