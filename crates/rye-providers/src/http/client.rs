//! The HTTP client: sends a request until it is answered or given up.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Request, redirect};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;
use rye_thread::{Charge, DeltaSink, ProviderError, Reply, ServerAddress};
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::body::{Body, Form, content_type};
use super::failure::Failure;
use super::hints::Hints;
use super::memory::{AnswerMemory, PROCESS, Room};
use super::patience::{Limit, Patience};
use super::read::{accept, read_stream, read_whole, refuse_page};
use super::report::Reporter;
use super::retry::{Next, Progress, next};
use super::telemetry;
use crate::key::ApiKey;
use crate::protocol::Delivery;
use crate::telemetry::server;
use crate::{Protocol, ProviderConfig, RetryPolicy};

/// A source of random bits, used only for the jitter of waits between attempts.
pub type RandomBits = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The clock and the sleep of waits between attempts.
#[async_trait]
pub trait Waits: Send + Sync {
    /// Returns the time since a moment that does not change.
    fn now(&self) -> Duration;

    /// Sleeps for a wait.
    async fn sleep(&self, wait: Duration);
}

/// The sources of the waits between attempts.
#[derive(Clone)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a transport that lacks one of these must not compile"
)]
#[expect(missing_debug_implementations, reason = "both are behaviour")]
pub struct Timing {
    /// The random part of each wait.
    pub random: RandomBits,
    /// The clock and the sleep.
    pub waits: Arc<dyn Waits>,
}

impl Timing {
    /// Waits by the clock of the runtime.
    pub fn new(random: RandomBits) -> Self {
        Self { random, waits: Arc::new(RuntimeWaits(Instant::now())) }
    }
}

/// The clock of the runtime.
struct RuntimeWaits(Instant);

#[async_trait]
impl Waits for RuntimeWaits {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    async fn sleep(&self, wait: Duration) {
        tokio::time::sleep(wait).await;
    }
}

/// The parameters of a transport.
pub(crate) struct Connection<'a> {
    pub(crate) config: &'a ProviderConfig,
    /// The model, which is part of the path in some protocols.
    pub(crate) model: &'a str,
    pub(crate) key: Option<ApiKey>,
    pub(crate) timing: Timing,
}

/// The reason why a transport could not be made.
#[derive(Debug)]
pub(crate) enum TransportError {
    Tls(rustls::Error),
    Client(reqwest::Error),
}

/// Sends the requests of a model, each until it is answered or given up.
pub(crate) struct Transport {
    client: Client,
    protocol: Protocol,
    /// The request without its body, made once.
    request: Request,
    server: Option<ServerAddress>,
    retry: RetryPolicy,
    timeout: Duration,
    idle: Duration,
    memory: &'static AnswerMemory,
    max_answer_bytes: usize,
    timing: Timing,
    reporter: Reporter,
}

impl Transport {
    pub(crate) fn new(connection: Connection<'_>) -> Result<Self, TransportError> {
        let Connection { config, model, key, timing } = connection;
        let tls = tls(config.base_url()).map_err(TransportError::Tls)?;
        // No proxies, because reqwest would read them from the environment, which only the program may do.
        let client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT_TIMEOUT)
            .pool_idle_timeout(POOL_IDLE_TIMEOUT)
            .referer(false)
            .user_agent(concat!("rye/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(TransportError::Client)?;
        let wire = config.protocol().wire();
        let url = format!("{}{}", config.base_url(), (wire.path)(model, config.delivery()));
        let headers = all_headers(config, key.as_ref(), wire.headers);
        let request = client.post(url).headers(headers).build().map_err(TransportError::Client)?;
        Ok(Self {
            client,
            protocol: config.protocol(),
            request,
            server: server(config.base_url()),
            retry: *config.retry(),
            timeout: config.timeout(),
            idle: config.idle(),
            memory: &PROCESS,
            max_answer_bytes: config.max_answer_bytes(),
            timing,
            reporter: Reporter::new(config, key),
        })
    }

    /// Sends a JSON body and returns the reply of the first successful response.
    ///
    /// A failed attempt is repeated unless that is useless or a limit is reached: the policy's attempts or
    /// time, or the caller's `patience`.
    ///
    /// `deltas` gets the pieces of the answer, and the charge that dropping the request would cause at each
    /// point.
    ///
    /// Before each further attempt, `deltas` gets a [`Retry`](rye_thread::Retry) with the charge of the
    /// failed attempt.
    pub(crate) async fn ask(
        &self,
        body: String,
        patience: Option<Duration>,
        deltas: &dyn DeltaSink,
    ) -> Result<Reply, ProviderError> {
        let body = Bytes::from(body);
        let Timing { random, waits } = &self.timing;
        let start = waits.now();
        let mut attempts = 0;
        let mut waited = Duration::ZERO;
        deltas.charge(Charge::Nothing);
        let total = patience.map_or(self.retry.total, |patience| patience.min(self.retry.total));
        let policy = RetryPolicy { total, ..self.retry };
        loop {
            attempts += 1;
            let room = self.admit(&mut waited).await.map_err(|failure| failure.into_error(None))?;
            deltas.charge(Charge::Possible);
            let elapsed = |waited| waits.now().saturating_sub(start).saturating_sub(waited);
            let patience = self.patience(elapsed(waited));
            let span =
                telemetry::attempt(self.request.url().as_str(), self.server.as_ref(), attempts);
            let attempt = self.attempt(&body, (patience, room), deltas, &span);
            let attempt = attempt.instrument(span.clone());
            let failure = match attempt.await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            telemetry::record_failure(&span, &failure);
            drop(span);
            let progress = Progress { attempts, elapsed: elapsed(waited) };
            match next(&policy, progress, &failure.failed, random()) {
                Next::Wait(wait) => {
                    telemetry::record_wait(attempts, wait, &failure);
                    let ends = waits.now().saturating_add(wait);
                    deltas.retry(&failure.retry(attempts + 1, policy.attempts, wait)).await;
                    deltas.charge(Charge::Nothing);
                    waits.sleep(ends.saturating_sub(waits.now())).await;
                }
                Next::Final => return Err(failure.into_error(None)),
                Next::UsedUp => return Err(failure.into_error(Some(attempts))),
            }
        }
    }

    /// Waits for memory for an answer, before anything is sent. Adds the time of the wait to `waited`.
    ///
    /// This time does not count against the attempts. Otherwise a request that waited long would be sent, and
    /// charged, with no time left for its answer.
    async fn admit(&self, waited: &mut Duration) -> Result<Room<'static>, Failure> {
        let start = Instant::now();
        let limit = Limit { setting: "total_seconds", value: self.retry.total };
        let patience =
            Patience::from_now(self.retry.total.saturating_sub(*waited), self.idle, limit);
        let room = patience.admit(&self.reporter, self.memory, self.max_answer_bytes).await;
        *waited += start.elapsed();
        room
    }

    /// Returns the time limit of the next attempt, if earlier attempts and waits took `elapsed`.
    fn patience(&self, elapsed: Duration) -> Patience {
        let left = self.retry.total.saturating_sub(elapsed);
        let limit = if left < self.timeout {
            Limit { setting: "total_seconds", value: self.retry.total }
        } else {
            Limit { setting: "timeout_seconds", value: self.timeout }
        };
        Patience::from_now(self.timeout.min(left), self.idle, limit)
    }

    fn request(&self, body: &Bytes) -> Request {
        let mut request = Request::new(self.request.method().clone(), self.request.url().clone());
        request.headers_mut().clone_from(self.request.headers());
        *request.body_mut() = Some(body.clone().into());
        request
    }

    async fn attempt(
        &self,
        body: &Bytes,
        (patience, mut room): (Patience, Room<'_>),
        deltas: &dyn DeltaSink,
        span: &Span,
    ) -> Result<Reply, Failure> {
        let reporter = &self.reporter;
        let response = patience.wait(reporter, self.client.execute(self.request(body))).await?;
        let status = response.status();
        let hints = Hints::of(response.headers());
        telemetry::record_status(span, status.as_u16());
        let mut body = Body::of(response);
        let room = &mut room;
        let form = body.form(patience, reporter, room).await?;
        if status.is_success() && form == Form::Events {
            let protocol = self.protocol;
            return read_stream(body, protocol, patience, reporter, room, deltas).await;
        }
        let wire = self.protocol.wire();
        let status = status.as_u16();
        let content_type = content_type(body.response());
        let body = read_whole(body, patience, reporter, room).await?;
        let refusal = (wire.read_error)(status, &body);
        if !(200..300).contains(&status) || refusal.is_some() {
            return Err(Failure::from_refusal(status, hints, refusal.as_ref(), reporter));
        }
        refuse_page(status, &body, &content_type, reporter)?;
        // A server without streaming answers whole, which is accepted too.
        let reply = (wire.decode)(&body).map_err(|error| Failure::unreadable(&error, reporter))?;
        accept(reply, reporter)
    }
}

/// Ample for any reachable server. A failed connection can be tried again.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Short, because a server may close an idle connection just when a request is sent on it. The server may
/// have acted on that request, so it would not be sent again. Few servers close a connection as early as
/// this.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(2);

/// Returns the protocol's headers, overridden by the config's, and the key.
fn all_headers(
    config: &ProviderConfig,
    key: Option<&ApiKey>,
    protocol: &[(&'static str, &'static str)],
) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(reqwest::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accept = match config.delivery() {
        Delivery::Streamed => "text/event-stream, application/json",
        Delivery::Whole => "application/json",
    };
    headers.insert(reqwest::header::ACCEPT, HeaderValue::from_static(accept));
    for (name, value) in protocol {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (name, value) in config.headers() {
        headers.insert(checked_name(name), checked_value(value));
    }
    if let (Some(auth), Some(key)) = (config.auth(), key) {
        let mut value = match auth.header.as_str() {
            "authorization" => checked_value(&format!("Bearer {}", key.expose())),
            _ => checked_value(key.expose()),
        };
        value.set_sensitive(true);
        headers.insert(checked_name(&auth.header), value);
    }
    headers
}

fn checked_name(name: &str) -> HeaderName {
    HeaderName::from_bytes(name.as_bytes())
        .expect("because reading the config checked every header name")
}

fn checked_value(value: &str) -> HeaderValue {
    HeaderValue::from_str(value)
        .expect("because reading the config and the key checked every header value")
}

/// Returns the TLS configuration: the system's root certificates for `https`, none for `http`.
fn tls(base_url: &str) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    if base_url.starts_with("http://") {
        return Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    }
    Ok(builder.with_platform_verifier()?.with_no_client_auth())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rye_thread::Delta;
    use serde_json::json;

    use super::*;

    #[derive(Default)]
    struct Charges(Mutex<Vec<Charge>>);

    impl DeltaSink for Charges {
        fn delta(&self, _: Delta<'_>) {}

        fn charge(&self, charge: Charge) {
            self.0.lock().unwrap().push(charge);
        }
    }

    /// A client whose memory is full, and the room that another answer holds.
    async fn client_with_full_memory() -> (Transport, Room<'static>) {
        let config = ProviderConfig::from_value(&json!({
            "name": "vendor", "protocol": "openai_chat", "base_url": "http://127.0.0.1:1",
            "models": { "m": { "context_window": 10, "max_output": 10 } },
        }));
        let config = config.unwrap();
        let timing = Timing::new(Arc::new(|| 0));
        let connection = Connection { config: &config, model: "m", key: None, timing };
        let memory: &'static AnswerMemory = Box::leak(Box::new(AnswerMemory::new(1, 1)));
        let transport = Transport { memory, ..Transport::new(connection).unwrap() };
        let room = memory.admit(1).await;
        (transport, room)
    }

    /// A request is sent only once there is room for its answer, so waiting costs nothing.
    #[tokio::test]
    async fn a_request_that_waits_for_room_costs_nothing() {
        let (transport, room) = client_with_full_memory().await;
        let charges = Charges::default();
        {
            let asked = transport.ask("{}".to_owned(), None, &charges);
            tokio::pin!(asked);
            tokio::select! {
                biased;
                answer = &mut asked => panic!("it was sent: {answer:?}"),
                () = tokio::task::yield_now() => {}
            }
            assert_eq!(*charges.0.lock().unwrap(), [Charge::Nothing], "dropped, it is free");
            drop(room);
            let is_sent = async {
                while charges.0.lock().unwrap().len() < 2 {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                _answer = &mut asked => {}
                () = is_sent => {}
            }
        }
        let told = charges.0.into_inner().unwrap();
        assert_eq!(told.get(..2), Some([Charge::Nothing, Charge::Possible].as_slice()));
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_for_room_is_no_time_of_an_attempt() {
        let (transport, room) = client_with_full_memory().await;
        let total = transport.retry.total;
        let most = total - Duration::from_secs(1);
        let mut waited = Duration::ZERO;
        let start = Instant::now();
        let release = async {
            tokio::time::sleep(most).await;
            drop(room);
        };
        let (admitted, ()) = tokio::join!(transport.admit(&mut waited), release);
        assert!(admitted.is_ok() && waited >= most, "{waited:?}");
        let patience = transport.patience(start.elapsed().saturating_sub(waited));
        assert!(patience.left() >= transport.timeout.min(most), "{:?}", patience.left());
        // Without room, the request is given up when its time is over.
        let late = transport.ask("{}".to_owned(), None, &()).await.unwrap_err();
        assert!(late.to_string().contains("raise `total_seconds`"), "{late}");
        assert!(!late.may_have_cost() && start.elapsed() >= total + most, "{:?}", start.elapsed());
    }
}
