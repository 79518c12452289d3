//! The session: a project with the records of its threads.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use rye_project::{OpenError, Project, Setup};
use rye_thread::store::Replica;

use crate::session::Store;

/// A project with its threads: runs, resumes, cancels and replays them.
///
/// It derefs to its [`Project`], which plans, checks, renders and signs.
#[derive(Debug)]
pub struct Rye {
    project: Project,
    /// The folder with the records of threads, if it is not the one of the project.
    pub(crate) threads: Option<PathBuf>,
    pub(crate) replica: Option<Arc<dyn Replica>>,
    /// The store with the records of the threads that run now.
    pub(crate) store: Mutex<Weak<Store>>,
}

impl Rye {
    /// Opens the project, whose threads are recorded in its folder `.ai/threads`.
    ///
    /// # Errors
    ///
    /// Those of [`Project::open`].
    pub fn open(setup: &Setup) -> Result<Self, OpenError> {
        Project::open(setup).map(Self::new)
    }

    /// Returns the session of an open project, whose threads are recorded in its folder `.ai/threads`.
    #[must_use]
    pub fn new(project: Project) -> Self {
        Self { project, threads: None, replica: None, store: Mutex::default() }
    }

    /// Returns the same session with the records of its threads in this folder.
    #[must_use]
    pub fn with_threads(self, folder: &Path) -> Self {
        Self { threads: Some(folder.to_owned()), ..self }
    }

    /// Returns the same session with a place beyond this machine that keeps the transcripts of all threads that it drives.
    #[must_use]
    pub fn with_replica(self, replica: Arc<dyn Replica>) -> Self {
        Self { replica: Some(replica), ..self }
    }
}

impl Deref for Rye {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}
