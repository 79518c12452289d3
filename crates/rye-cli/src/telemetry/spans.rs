//! Attributes of spans that `tracing` cannot express: lists.

use std::time::Duration;

use opentelemetry::{Array, StringValue, Value};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SpanData, SpanExporter};

/// The attribute that the GenAI conventions define as a list, with a reason for each answer. A thread
/// requests a single answer.
const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";

/// An exporter that converts attributes to the types of the conventions.
#[derive(Debug)]
pub(super) struct Listing<E>(pub(super) E);

impl<E: SpanExporter> SpanExporter for Listing<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        let attributes = batch.iter_mut().flat_map(|span| &mut span.attributes);
        for attribute in attributes.filter(|attribute| attribute.key.as_str() == FINISH_REASONS) {
            let reason = StringValue::from(attribute.value.as_str().into_owned());
            attribute.value = Value::Array(Array::String(vec![reason]));
        }
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}
