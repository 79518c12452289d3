//! Spans in the words of OpenTelemetry's GenAI conventions: names and numbers, never what was said, asked or returned.
//!
//! Nothing here is computed without a subscriber. The names are those of the registry of
//! `open-telemetry/semantic-conventions-genai`; `otel.*` says to an exporter what a `tracing` span
//! cannot.

use tracing::field::Empty;
use tracing::{Instrument as _, Span, info_span};

use rye_types::{ThreadState, Usage};

use super::Driver;
use super::answer::Answer;
use super::call::{Plan, Prepared};
use crate::transcript::Event;
use crate::transcript::payload::Intent;
use crate::{
    Counted, Failure, FailureKind, Outcome, Reply, Request, Returned, StopReason, ToolOutput,
    ToolStatus,
};

/// The span of a thread, from where its driver takes it up to where it leaves it.
pub(super) fn agent(driver: &Driver<'_>) -> Span {
    let record = driver.recorder.journal.record();
    info_span!(
        "invoke_agent",
        otel.name = format!("invoke_agent {}", record.directive),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.provider.name = driver.caller.provider.telemetry().name,
        gen_ai.request.model = driver.caller.info.model,
        gen_ai.agent.name = record.directive,
        gen_ai.conversation.id = record.thread.as_str(),
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        rye.thread.state = Empty,
        error.type = Empty,
    )
}

/// Drives within the thread's span, and tells there how it came out; `before` is what earlier programs used.
pub(super) async fn within(
    span: Span,
    before: Usage,
    driven: impl Future<Output = Outcome>,
) -> Outcome {
    let outcome = driven.instrument(span.clone()).await;
    if !span.is_disabled() {
        used(&span, &since(&before, &outcome.usage));
        span.record("rye.thread.state", outcome.state.as_str());
        let failure = outcome.failure.as_ref().filter(|_| outcome.state == ThreadState::Error);
        failure.into_iter().for_each(|failure| record_failure(&span, kind(failure)));
    }
    outcome
}

fn since(before: &Usage, now: &Usage) -> Usage {
    let mut since = *now;
    since.input = now.input.saturating_sub(before.input);
    since.output = now.output.saturating_sub(before.output);
    since.cache_read = now.cache_read.saturating_sub(before.cache_read);
    since.cache_write = now.cache_write.saturating_sub(before.cache_write);
    since
}

/// A class that is worth counting, as the convention wants it: never a message.
fn kind(failure: &Failure) -> &'static str {
    match &failure.kind {
        FailureKind::Provider(class) => class.as_str(),
        kind => kind.as_str(),
    }
}

/// The span of one request.
pub(super) fn chat(driver: &Driver<'_>, request: &Request) -> Span {
    // A replay sends no request.
    if driver.recording.is_some() {
        return Span::none();
    }
    let span = info_span!(
        "chat",
        otel.name = format!("chat {}", driver.caller.info.model),
        otel.kind = Empty,
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = Empty,
        gen_ai.request.model = driver.caller.info.model,
        gen_ai.request.max_tokens = count(request.max_output_tokens),
        gen_ai.request.stream = Empty,
        gen_ai.conversation.id = driver.recorder.journal.thread().as_str(),
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.cache_write.input_tokens = Empty,
        server.address = Empty,
        server.port = Empty,
        error.type = Empty,
    );
    if !span.is_disabled() {
        let provider = driver.caller.provider.telemetry();
        span.record("gen_ai.provider.name", &provider.name);
        // What runs in this process is no call of a client.
        let kind = if provider.server.is_some() { "client" } else { "internal" };
        span.record("otel.kind", kind);
        if let Some(server) = provider.server {
            span.record("server.address", server.host)
                .record("server.port", i64::from(server.port));
        }
        if provider.is_streamed {
            span.record("gen_ai.request.stream", true);
        }
    }
    span
}

/// Tells how the request ended.
pub(super) fn record_answer(span: &Span, answer: &Answer) {
    if span.is_disabled() {
        return;
    }
    match answer {
        Answer::Replied(reply) => record_reply(span, reply),
        Answer::Failed(error) => record_failure(span, error.class.as_str()),
        Answer::Halted(..) => record_failure(span, "cancelled"),
        Answer::OutOfTime(_) => record_failure(span, "timeout"),
        Answer::Stopped(_) => record_failure(span, "stopped"),
    }
}

fn record_reply(span: &Span, reply: &Reply) {
    if reply.counted == Counted::ByProvider {
        used(span, &reply.usage);
    }
    match &reply.stop {
        // The word is the server's, and may be anything.
        StopReason::Other(_) => span.record("gen_ai.response.finish_reasons", "other"),
        stop => span.record("gen_ai.response.finish_reasons", stop.to_string()),
    };
}

/// Records the counts as the convention has them: the input with what caches served and took.
fn used(span: &Span, usage: &Usage) {
    let input = usage.total().saturating_sub(usage.output);
    span.record("gen_ai.usage.input_tokens", count(input))
        .record("gen_ai.usage.output_tokens", count(usage.output))
        .record("gen_ai.usage.cache_read.input_tokens", count(usage.cache_read))
        .record("gen_ai.usage.cache_write.input_tokens", count(usage.cache_write));
}

/// The convention's integers are signed.
fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn record_failure(span: &Span, kind: &str) {
    span.record("error.type", kind).record("otel.status_code", "ERROR");
}

/// The span of one call. A name that no tool has is the model's text and is left out of the span.
pub(super) fn tool(prepared: &Prepared<'_>) -> Span {
    let name = || match &prepared.intent {
        Event::ToolCallStart(Intent { target: Some(target), .. }) => target.item_id.clone(),
        _ => "unknown".to_owned(),
    };
    let span = info_span!(
        "execute_tool",
        otel.name = format!("execute_tool {}", name()),
        otel.kind = "internal",
        otel.status_code = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name(),
        gen_ai.tool.type = "function",
        gen_ai.tool.call.id = prepared.call.id,
        error.type = Empty,
    );
    if let Plan::Answer(answer) = &prepared.plan {
        not_run(&span, answer);
    }
    span
}

fn not_run(span: &Span, answer: &Returned) {
    record_failure(span, if answer.refusal.is_some() { "refused" } else { "invalid_call" });
}

/// Tells how a call came out that starts a thread: nothing is known of one that was cut off.
pub(super) fn record_spawn(span: &Span, answer: Option<&Returned>) {
    match answer {
        None => record_failure(span, "cancelled"),
        Some(answer) if answer.refusal.is_some() => record_failure(span, "refused"),
        Some(answer) if answer.result.is_error => record_failure(span, "tool_error"),
        Some(_) => {}
    }
}

/// Runs the call within its span, and tells there how it came out, even when it is dropped or panics.
pub(super) async fn calling(span: Span, call: impl Future<Output = ToolOutput>) -> ToolOutput {
    let unfinished = Unfinished(span.clone());
    let output = call.instrument(span).await;
    unfinished.finish(&output);
    output
}

struct Unfinished(Span);

impl Unfinished {
    fn finish(mut self, output: &ToolOutput) {
        let span = std::mem::replace(&mut self.0, Span::none());
        match output.status {
            ToolStatus::Ok => {}
            ToolStatus::Error => record_failure(&span, "tool_error"),
            ToolStatus::Refused => record_failure(&span, "refused"),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        record_failure(&self.0, if std::thread::panicking() { "panic" } else { "cancelled" });
    }
}
