//! Telemetry of a run over OTLP, where the program was built with the feature `otel` and the environment asks for it.

mod client;
mod spans;
mod wish;

use std::sync::{Arc, OnceLock};

use opentelemetry::InstrumentationScope;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use self::client::Client;
use self::spans::Listing;
use self::wish::Wish;
use crate::environment::Environment;
use crate::output;

/// What went wrong first; telemetry never fails a run, so that all there is to do is to say it once.
type Fault = Arc<OnceLock<String>>;

/// Does the work, and sends what it tells of itself to where the environment says.
pub(crate) fn exported<T>(work: impl FnOnce() -> T) -> T {
    let fault = Fault::default();
    let exporting = Wish::read(&Environment::variable).and_then(|wish| match wish {
        Some(wish) => begin(&wish, &fault).map(|provider| Some((provider, wish))),
        None => Ok(None),
    });
    let result = work();
    match exporting {
        Ok(None) => {}
        Ok(Some((provider, wish))) => {
            let ended = provider.shutdown_with_timeout(wish.timeout);
            ended.err().into_iter().for_each(|error| note(&fault, &error.to_string()));
        }
        Err(why) => note(&fault, &why),
    }
    let told = fault.get().map(|why| format!("telemetry was not sent: {why}"));
    output::warnings(told.as_slice());
    result
}

fn begin(wish: &Wish, fault: &Fault) -> Result<SdkTracerProvider, String> {
    let client = Client::new(wish, Arc::clone(fault))?;
    // Who waits for a run to end does not wait for long because nobody collects.
    let retries = RetryPolicy::recommended().with_max_retries(2);
    let exporter = SpanExporter::builder().with_http().with_http_client(client);
    let exporter =
        exporter.with_retry_policy(retries).build().map_err(|error| error.to_string())?;
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_batch_exporter(Listing(exporter))
        .build();
    let scope = InstrumentationScope::builder("rye").with_version(env!("CARGO_PKG_VERSION"));
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope.build()))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_error_events_to_status(false);
    // Rye's own spans alone: those of the libraries below may hold headers.
    let targets = ["rye_thread", "rye_providers"].map(|target| (target, Level::INFO));
    let subscriber =
        tracing_subscriber::registry().with(layer.with_filter(Targets::from_iter(targets)));
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
    Ok(provider)
}

/// What the environment says of this service, which is called `rye` where it says nothing.
fn resource() -> Resource {
    let version = opentelemetry::KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let found = Resource::builder().build();
    let name = found.get(&opentelemetry::Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder();
    let builder = if is_named { builder } else { builder.with_service_name("rye") };
    builder.with_attribute(version).build()
}

fn note(fault: &Fault, why: &str) {
    // The first fault is the one to tell.
    drop(fault.set(why.to_owned()));
}
