//! One call of a tool as a thread of its own, with the operator's own grants (SPEC 12.1).

use rye_project::{CALLING_DIRECTIVE, CallError, ProviderChoice};
use rye_resolve::ItemId;
use rye_thread::{ThreadId, ToolResult, last_result};
use serde_json::{Map, Value};

use super::RunReport;
use super::recorded::recorded_request;
use super::request::RunRequest;
use crate::rye::Rye;

impl Rye {
    /// The request for a thread that calls this tool once, which [`Rye::run`] runs. The authority of the thread is the operator's
    /// policy and the tool itself. Texts among the arguments become what the tool's schema declares.
    ///
    /// # Errors
    ///
    /// When the tool cannot be had, or the arguments do not fit its schema, with every problem.
    pub fn call(
        &self,
        tool: &ItemId,
        arguments: Map<String, Value>,
        thread: ThreadId,
    ) -> Result<RunRequest, CallError> {
        let call = self.tool_call(tool, arguments)?;
        let mut request = RunRequest::new(call.directive, thread);
        (request.inputs, request.provider) = (call.inputs, ProviderChoice::Steps);
        request.tool = Some(call.tool);
        Ok(request)
    }

    /// The report with everything that is known once its thread stands still.
    pub(super) fn finish(&self, report: RunReport) -> RunReport {
        let called = self.result_of_call(&report);
        RunReport { called, ..self.with_resume_command(report.with_self_starting()) }
    }

    /// The result of the one call of a thread that calls a tool for the operator.
    fn result_of_call(&self, report: &RunReport) -> Option<ToolResult> {
        if !report.thread.as_str().starts_with(THREAD) {
            return None;
        }
        let reading = self.found(&self.threads()?, &report.thread).ok()?.reading;
        recorded_request(&reading.record).ok()?.tool?;
        last_result(&reading.transcript)
    }
}

/// The reason for which a recorded request is not carried out again; `None` where it is.
///
/// `tool` of a request is a grant by itself. It counts only beside [`CALLING_DIRECTIVE`], and only in a record that the operator's own key
/// signed.
pub(super) fn refused_again(request: &RunRequest, is_operators: bool) -> Option<String> {
    request.tool.as_ref()?;
    if request.directive.as_str() != CALLING_DIRECTIVE {
        return Some(format!("`tool` belongs to threads of `{CALLING_DIRECTIVE}` alone"));
    }
    let reason = "no key of yours signed its record, which says what it may do; `rye call` calls the tool anew, and `rye keys \
                  generate` makes a key";
    (!is_operators).then(|| reason.to_owned())
}

/// The beginning of the ids of threads of [`CALLING_DIRECTIVE`].
const THREAD: &str = "call-";
