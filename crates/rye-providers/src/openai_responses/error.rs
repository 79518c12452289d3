//! Errors of the protocol, and failed responses with a successful status.

use serde::Deserialize;
use serde_json::Value;

use crate::openai_error::{self, refusal};
use crate::raw::Small;
use crate::refusal::Refusal;

/// Reads the body of an error or of a failed response; `None` if it is neither.
pub(super) fn read_error(status: u16, body: &[u8]) -> Option<Refusal> {
    #[derive(Deserialize)]
    struct Failed {
        status: String,
        error: Option<Small>,
    }
    match serde_json::from_slice::<Failed>(body) {
        Ok(failed) if failed.status == "failed" => {
            Some(of_response(failed.error.as_ref().map(|error| &error.0)))
        }
        Ok(_) => None,
        Err(_) => openai_error::read_error(status, body),
    }
}

/// Returns the error of a failed response.
pub(super) fn of_response(error: Option<&Value>) -> Refusal {
    let unsaid = || Refusal::new(None, "failed", "the response failed, and nothing says why");
    error.and_then(|error| refusal(500, error)).unwrap_or_else(unsaid)
}
