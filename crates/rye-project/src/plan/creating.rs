//! The tool that creates items of the project and never replaces one.

mod arguments;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use rye_resolve::{ItemId, Library, Location, ResolveError, Space};
use rye_sign::Digest;
use rye_thread::{AuthorisedCall, Tool, ToolOutput};
use rye_tools::fs::{self, Root};
use rye_types::{Effect, ItemKind};
use serde_json::{Value, json};

use self::arguments::{Arguments, IfExists};
use crate::causes::with_causes;
use crate::check::{Severity, check};

/// The tool behind a manifest's `builtin: core/create_item`; `None` for other functions.
pub(super) fn creating_tool(
    function: &str,
    library: &Library,
    root: &Root,
) -> Option<(Arc<dyn Tool>, Effect)> {
    let creator = || Creator { library: library.clone(), root: root.clone() };
    // A file that exists when the call is made again may be the operator's own by then.
    (function == "core/create_item").then(|| (Arc::new(creator()) as _, Effect::Once))
}

#[derive(Clone)]
struct Creator {
    library: Library,
    root: Root,
}

#[async_trait]
impl Tool for Creator {
    async fn call(&self, call: AuthorisedCall) -> ToolOutput {
        let arguments = call.into_arguments();
        let creator = self.clone();
        let create = move || creator.create(arguments);
        let done = tokio::task::spawn_blocking(create).await;
        match done
            .unwrap_or_else(|error| Err(Failure::of_problem(&format!("the tool stopped: {error}"))))
        {
            Ok(created) => ToolOutput::ok(created),
            Err(Failure::Failed(problems)) => {
                ToolOutput::error(json!({ "error": problems.join("; ") }))
            }
            Err(Failure::Refused(message)) => ToolOutput::refusal(json!({ "error": message })),
        }
    }
}

/// Why nothing was created.
enum Failure {
    /// Everything that is wrong with the arguments, or what the file system said.
    Failed(Vec<String>),
    /// The place belongs to an area that tools do not touch.
    Refused(String),
}

impl Failure {
    fn of_problem(problem: &str) -> Self {
        Self::Failed(vec![problem.to_owned()])
    }
}

impl From<fs::Error> for Failure {
    fn from(error: fs::Error) -> Self {
        let message = with_causes(&error);
        if error.is_refusal() { Self::Refused(message) } else { Self::Failed(vec![message]) }
    }
}

impl Creator {
    fn create(&self, arguments: Value) -> Result<Value, Failure> {
        let arguments: Arguments = serde_json::from_value(arguments)
            .map_err(|error| Failure::of_problem(&format!("the arguments do not fit: {error}")))?;
        let id = arguments.id().map_err(Failure::Failed)?;
        let mut problems = Vec::new();
        let kind = arguments.kind();
        match self.standing(kind, &id, arguments.if_exists) {
            Ok(Some(kept)) => return self.keep(kind, &id, &kept),
            Ok(None) => {}
            Err(problem) => problems.push(problem),
        }
        let path = format!(".ai/{}/{id}.{}", kind.folder(), arguments.extension());
        let text = arguments.text(&self.library, &id).map_err(|more| {
            problems.extend(more);
            Failure::Failed(std::mem::take(&mut problems))
        })?;
        problems.extend(errors(&path, kind, &id, &text));
        if !problems.is_empty() {
            return Err(Failure::Failed(problems));
        }
        let written = fs::create(&self.root, &path, &text)?;
        Ok(result(kind, &id, &written.path, &text, true))
    }

    /// The file of the project that has the id, where it is to be kept.
    fn standing(
        &self,
        kind: ItemKind,
        id: &ItemId,
        if_exists: IfExists,
    ) -> Result<Option<Location>, String> {
        let winner = match self.library.locate(kind, id) {
            Err(ResolveError::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(with_causes(&error)),
            Ok(located) => located.winner,
        };
        match (winner.space, if_exists) {
            (Space::Project, IfExists::Keep) => Ok(Some(winner)),
            (Space::Project, IfExists::Refuse) => Err(format!(
                "{kind} `{id}` exists and is not replaced; give another name, or edit `{}`",
                winner.path.display()
            )),
            (space, _) => Err(format!(
                "{kind} `{id}` exists in the {space} space, and an item of the project would hide it; give another name"
            )),
        }
    }

    /// The result for a file that was there before; its text is read as it lies there, so that its digest is known.
    fn keep(&self, kind: ItemKind, id: &ItemId, location: &Location) -> Result<Value, Failure> {
        let path = format!(".ai/{}/{id}.{}", kind.folder(), location.extension());
        let text = fs::read(&self.root, &path, fs::Lines::all())?;
        if text.truncated {
            return Err(Failure::of_problem(&format!("`{path}` is too long to be an item")));
        }
        Ok(result(kind, id, &path, &text.content, false))
    }
}

fn result(kind: ItemKind, id: &ItemId, path: &str, text: &str, created: bool) -> Value {
    let sign = format!("`rye check {path}`, then `rye sign {path}`");
    let next = match created {
        true => sign,
        false => format!("`{path}` was there and nothing is written; edit it, then {sign}"),
    };
    json!({
        "item_type": kind.as_str(),
        "item_id": id.as_str(),
        "path": path,
        "sha256": Digest::of(text.as_bytes()).to_string(),
        "created": created,
        "next": next,
    })
}

/// Returns the findings that bar the file from being signed.
fn errors(path: &str, kind: ItemKind, id: &ItemId, text: &str) -> Vec<String> {
    let checked = check(Path::new(path), kind, Some(id), text.to_owned());
    let barring = checked.findings.into_iter();
    let barring = barring.filter(|it| it.severity == Severity::Error || it.bars_signing);
    barring
        .map(|finding| match finding.help {
            Some(help) => format!("{}; {help}", finding.message),
            None => finding.message,
        })
        .collect()
}
