//! Every prompt of a project as one text each, for a team that pins its prompts with snapshots.

use std::fmt;

use rye_prompt::Opening;
use rye_resolve::{ItemId, ResolveError, Space};
use rye_types::ItemKind;

use crate::plan::{PlanRequest, PrepareError};
use crate::project::Project;

impl Project {
    /// Returns the opening of a thread of each directive of the project, sorted by id. It has the context and
    /// the directive prompt, with the placeholders left as written, so that no inputs are needed.
    ///
    /// The text is made for snapshots: each message stands below its label and ends at `∎`, and a carriage
    /// return is `␍`. Tools that compare snapshots pass over changes of line ends and at the end of a text,
    /// and a model receives these. Directives of the user and the system space are left out.
    ///
    /// # Errors
    ///
    /// The method fails with every directive of the project that cannot be listed, or that has no prompt. A
    /// directive has none if an item of it, such as its provider's configuration, is missing or refused.
    pub fn prompts(&self) -> Result<Vec<(ItemId, String)>, PromptsError> {
        let survey = self.library.survey(ItemKind::Directive);
        let own = survey.items.iter().filter(|listed| listed.location.space == Space::Project);
        let mut prompts = Vec::new();
        let mut problems = Vec::new();
        for id in own.map(|listed| &listed.id) {
            match self.begins_with(id) {
                Ok(opening) => prompts.push((id.clone(), visible(&opening))),
                Err(problem) => problems.push((id.clone(), problem)),
            }
        }
        if problems.is_empty() && survey.problems.is_empty() {
            return Ok(prompts);
        }
        Err(PromptsError { problems, unlisted: survey.problems })
    }

    fn begins_with(&self, id: &ItemId) -> Result<Opening, PrepareError> {
        let texts = self.texts(&PlanRequest::new(id.clone()))?;
        texts.provider.map(|_| texts.opening)
    }
}

/// The reason why a project's prompts are not all there.
#[derive(Debug)]
#[non_exhaustive]
pub struct PromptsError {
    /// The directives that have no prompt, sorted by id.
    pub problems: Vec<(ItemId, PrepareError)>,
    /// The problems that keep the list of directives from being complete.
    pub unlisted: Vec<ResolveError>,
}

impl fmt::Display for PromptsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<String> = self.problems.iter().map(|(id, _)| format!("`{id}`")).collect();
        match (ids.is_empty(), self.unlisted.len()) {
            (false, 0) => write!(f, "no prompt of {}", ids.join(", ")),
            (false, count) => {
                write!(
                    f,
                    "no prompt of {}, and of {count} files that are no directive",
                    ids.join(", ")
                )
            }
            (true, count) => write!(f, "no prompt of {count} files that are no directive"),
        }?;
        f.write_str("; `rye check` says why")
    }
}

impl std::error::Error for PromptsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let problem = self.problems.first().map(|(_, problem)| problem as _);
        problem.or_else(|| self.unlisted.first().map(|problem| problem as _))
    }
}

fn visible(opening: &Opening) -> String {
    let system = opening
        .system
        .as_ref()
        .map_or_else(|| "--- no system".to_owned(), |system| format!("--- system\n{system}∎"));
    format!("{system}\n--- user\n{}∎", opening.first_user_message).replace('\r', "␍")
}
