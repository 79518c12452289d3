//! Telemetry of a run over OTLP, with the feature `otel` and if the environment enables it.

mod client;
mod settings;
mod spans;

use std::sync::{Arc, OnceLock};

use opentelemetry::trace::TracerProvider as _;
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_otlp::{RetryPolicy, SpanExporter, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::Level;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};

use self::client::Client;
use self::settings::Settings;
use self::spans::Listing;
use crate::environment::Environment;
use crate::output;

/// The first fault. It is reported once, because telemetry never fails a run.
type Fault = Arc<OnceLock<String>>;

/// The attribute of the scope that names the version of OpenTelemetry's GenAI conventions, and the version whose names the
/// spans have. The repository of the conventions does not say the schema URL of that version.
const CONVENTIONS: (&str, &str) = ("rye.gen_ai.conventions.version", "0.1.0");

/// Does the work, and exports its telemetry to the target in the environment.
pub(crate) fn with_export<T>(work: impl FnOnce() -> T) -> T {
    let fault = Fault::default();
    let exporting = Settings::read(&Environment::variable).and_then(|settings| match settings {
        Some(settings) => begin(&settings, &fault).map(|provider| Some((provider, settings))),
        None => Ok(None),
    });
    let result = work();
    match exporting {
        Ok(None) => {}
        Ok(Some((provider, settings))) => {
            let ended = provider.shutdown_with_timeout(settings.timeout);
            ended.err().into_iter().for_each(|error| note(&fault, &error.to_string()));
        }
        Err(why) => note(&fault, &why),
    }
    let told = fault.get().map(|why| format!("telemetry was not sent: {why}"));
    output::warnings(told.as_slice());
    result
}

fn begin(settings: &Settings, fault: &Fault) -> Result<SdkTracerProvider, String> {
    let client = Client::new(settings, Arc::clone(fault))?;
    // Few retries, so that an absent collector delays the end of a run only briefly.
    let retries = RetryPolicy::recommended().with_max_retries(2);
    let exporter = SpanExporter::builder().with_http().with_http_client(client);
    let exporter =
        exporter.with_retry_policy(retries).build().map_err(|error| error.to_string())?;
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_batch_exporter(Listing(exporter))
        .build();
    let scope = InstrumentationScope::builder("rye")
        .with_version(env!("CARGO_PKG_VERSION"))
        .with_attributes([KeyValue::new(CONVENTIONS.0, CONVENTIONS.1)]);
    let layer = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer_with_scope(scope.build()))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_error_events_to_status(false);
    // Only Rye's own spans, because spans of the libraries may contain headers.
    let targets = ["rye_thread", "rye_providers"].map(|target| (target, Level::INFO));
    let subscriber =
        tracing_subscriber::registry().with(layer.with_filter(Targets::from_iter(targets)));
    tracing::subscriber::set_global_default(subscriber).map_err(|error| error.to_string())?;
    Ok(provider)
}

/// Returns the attributes of this service from the environment. The default name is `rye`.
fn resource() -> Resource {
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let found = Resource::builder().build();
    let name = found.get(&opentelemetry::Key::from_static_str("service.name"));
    let is_named = name.is_some_and(|name| !name.as_str().starts_with("unknown_service"));
    let builder = Resource::builder();
    let builder = if is_named { builder } else { builder.with_service_name("rye") };
    builder.with_attribute(version).build()
}

fn note(fault: &Fault, why: &str) {
    // Only the first fault is kept.
    drop(fault.set(why.to_owned()));
}
