//! The choice of the copy of a project that a thread goes on with.

use std::sync::Arc;

use rye::Bundle;
use serde_json::Value;

use crate::project::Project;
use crate::requests::{Authority, Start, read_bundle, read_start, sign_bundle};

/// Returns the first copy with the files that the thread began with. A thread that begins pins the operator's files of the project,
/// and those of the copy beside; they are returned with a signature.
///
/// # Errors
///
/// When no copy has them, or the operator did not sign the request or the pinned files.
pub async fn admit(
    projects: &[Arc<Project>],
    root: &str,
    start: &Value,
    pinned: Option<&Value>,
    authority: &Authority,
) -> anyhow::Result<(Arc<Project>, Option<Value>)> {
    let start = read_start(start, root, authority)?;
    let pinned = pinned.map(|value| read_bundle(value, root, authority)).transpose()?;
    let mut refusals = Vec::new();
    for project in projects {
        let reading = Arc::clone(project);
        let here = tokio::task::spawn_blocking(move || reading.bundle()).await?;
        match here.and_then(|here| compare(here, pinned.as_ref(), &start)) {
            // One copy that cannot be read does not stop the others.
            Err(refusal) => {
                refusals.push(format!("in `{}`: {refusal:#}", project.folder().display()));
            }
            Ok(None) => return Ok((Arc::clone(project), None)),
            Ok(Some(new)) => {
                let signed = sign_bundle(&new, root, &project.key())?;
                return Ok((Arc::clone(project), Some(signed)));
            }
        }
    }
    let refusals = refusals.join("; ");
    anyhow::bail!("the files of this worker are not those that the thread begins with: {refusals}")
}

/// Compares the files here with those that the thread began with. Before it has begun, the project's files have to be the operator's;
/// the bundle to pin is returned.
fn compare(here: Bundle, pinned: Option<&Bundle>, start: &Start) -> anyhow::Result<Option<Bundle>> {
    let began = pinned.cloned().unwrap_or_else(|| here.clone().with_project_of(&start.project));
    let departure = here.departure_from(&began);
    match (departure.is_empty(), pinned) {
        (true, Some(_)) => Ok(None),
        (true, None) => Ok(Some(began)),
        (false, Some(_)) => anyhow::bail!("{departure}"),
        (false, None) => {
            anyhow::bail!("the project has other files than the operator's: {departure}")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rye::RunRequest;

    use super::*;

    fn bundle(project: &Path) -> Bundle {
        Bundle::of_project(project).unwrap()
    }

    #[test]
    fn a_thread_goes_on_with_the_files_that_it_began_with_and_may_add_items() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".ai/knowledge")).unwrap();
        fs::write(folder.path().join(".ai/knowledge/a.md"), "a").unwrap();
        let began = bundle(folder.path());
        let request = RunRequest::new(
            "a".parse().unwrap(),
            "a-019a0000-0000-7000-8000-000000000001".parse().unwrap(),
        );
        let start = Start { request, project: began.clone() };
        assert_eq!(compare(began.clone(), None, &start).unwrap(), Some(began.clone()));
        // What a thread wrote here stops neither itself nor a new thread, and is not pinned for other copies.
        fs::write(folder.path().join(".ai/knowledge/b.md"), "b").unwrap();
        assert_eq!(compare(bundle(folder.path()), Some(&began), &start).unwrap(), None);
        assert_eq!(compare(bundle(folder.path()), None, &start).unwrap(), Some(began.clone()));
        fs::write(folder.path().join(".ai/rye.lock"), "").unwrap();
        let told = compare(bundle(folder.path()), Some(&began), &start).unwrap_err().to_string();
        assert_eq!(told, "added `project/.ai/rye.lock`");
        let told = compare(bundle(folder.path()), None, &start).unwrap_err().to_string();
        assert!(told.starts_with("the project has other files than the operator's"), "{told}");
    }
}
