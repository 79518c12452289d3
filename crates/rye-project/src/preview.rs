//! A project for a person to read, where the operator's drafts are shown (SPEC D20).

use std::ops::Deref;

use crate::project::{OpenError, Project, Setup};

/// A project that shows the operator's drafts: items whose files the operator changed since signing them.
///
/// It renders, explains and compares. [`Project::plan_run`] refuses a plan with a draft, a tool that is a draft is shown and
/// cannot be called, and the operations, such as [`execute`](crate::primary::execute), refuse drafts as every project does. With strict
/// verification, and without a key of the operator's, no draft is shown.
///
/// No project comes out of it, so that no session runs on one:
///
/// ```compile_fail,E0507
/// fn take(preview: rye_project::Preview) -> rye_project::Project {
///     *preview
/// }
/// ```
///
/// ```compile_fail,E0599
/// fn copy(preview: &rye_project::Preview) -> rye_project::Project {
///     (**preview).clone()
/// }
/// ```
#[derive(Debug)]
pub struct Preview(Project);

impl Preview {
    /// Opens the project as [`Project::open`] does.
    ///
    /// # Errors
    ///
    /// Those of [`Project::open`].
    pub fn open(setup: &Setup) -> Result<Self, OpenError> {
        Project::open_showing(setup).map(Self)
    }
}

impl Deref for Preview {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}
