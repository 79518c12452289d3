//! Failures of commands, with messages that help to fix them.

mod report;

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use rye::primary::{PrimaryError, causes};
use rye::prompt::{BindError, BindProblem};
use rye::resolve::{ItemId, ResolveError};
use rye::thread::ThreadId;
use rye::{
    Class, OpenError, PrepareError, RunError, SignFileError, ThreadReadError, is_plain_file,
};

pub(crate) use self::report::report_command_line;
use crate::excerpt::{self, Excerpt};
use crate::exit::Exit;

/// A failure with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    /// The error and its causes, outermost first.
    sentences: Vec<String>,
    excerpts: Vec<Excerpt>,
    /// The unsigned and changed files that are in the way.
    unsigned: Box<[PathBuf]>,
    /// Advice for the command line.
    advice: Option<String>,
    /// Further information.
    epilogue: Option<String>,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            exit: Exit::Usage,
            sentences: vec![message.into()],
            excerpts: Vec::new(),
            unsigned: Box::default(),
            advice: None,
            epilogue: None,
        }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self { exit: Exit::Failed, ..Self::usage(message) }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { exit: Exit::Refused, ..Self::usage(message) }
    }

    /// Creates the failure for an id that no kind of item has.
    pub(crate) fn no_item(id: &ItemId, missing: &[ResolveError]) -> Self {
        let near = missing.iter().find_map(|error| match error {
            ResolveError::NotFound { kind, suggestion: Some(near), .. } => {
                Some(format!("did you mean the {kind} `{near}`?"))
            }
            _ => None,
        });
        let near = near.unwrap_or_else(|| "`rye list` shows all that there are".to_owned());
        Self::failed(format!("no item has the id `{id}`; {near}"))
    }

    /// Adds a first sentence with the action that failed.
    pub(crate) fn within(mut self, message: &str) -> Self {
        self.sentences.insert(0, message.to_owned());
        self
    }

    /// Changes the exit codes 1 and 2, which are answers of some commands.
    pub(crate) fn not_answered(self) -> Self {
        let is_answer = matches!(self.exit, Exit::Failed | Exit::Usage);
        let exit = if is_answer { Exit::Refused } else { self.exit };
        Self { exit, ..self }
    }

    /// Replaces the path of a folder, which only this program knows, by `name`.
    pub(crate) fn naming(mut self, folder: &Path, name: &str) -> Self {
        let path = folder.display().to_string();
        let real = folder.canonicalize().map(|real| real.display().to_string());
        for sentence in &mut self.sentences {
            for path in real.iter().chain([&path]) {
                *sentence = sentence.replace(path, name);
            }
        }
        self
    }

    /// Adds an alternative to the advice in the last sentence.
    pub(crate) fn or(mut self, way: &str) -> Self {
        if let Some(last) = self.sentences.last_mut() {
            last.push_str(&format!(", or take {way}"));
        }
        self
    }

    /// Adds advice to the last sentence.
    pub(crate) fn or_else(mut self, way: &str) -> Self {
        if let Some(last) = self.sentences.last_mut() {
            last.push_str(&format!("; {way}"));
        }
        self
    }

    pub(crate) fn io(verb: &str, path: &Path, source: &io::Error) -> Self {
        Self::failed(format!("cannot {verb} `{}`: {source}", path.display()))
    }

    /// Creates a failure from an error of the library, with its causes.
    pub(crate) fn of(error: &dyn Error, exit: Exit) -> Self {
        Self { exit, sentences: causes(error), advice: advice(error), ..Self::usage("") }
    }

    fn with_excerpts(self, excerpts: Vec<Excerpt>) -> Self {
        Self { excerpts, ..self }
    }

    /// Adds the places in files that `error` is about.
    fn with_places_of(self, error: &ResolveError) -> Self {
        // A plain file has no form that could keep it from being signed.
        let (plain, unsigned): (Vec<PathBuf>, Vec<PathBuf>) =
            excerpt::unsigned(error).into_iter().partition(|path| is_plain_file(path));
        let plain: Vec<String> = plain.iter().map(|path| path.display().to_string()).collect();
        let sign =
            (!plain.is_empty()).then(|| format!("review it, then `rye sign {}`", plain.join(" ")));
        let excerpts = excerpt::of_resolve(error);
        Self { excerpts, unsigned: unsigned.into(), advice: self.advice.or(sign), ..self }
    }

    /// Adds the thread of a run that never began, or the error of its record.
    pub(crate) fn of_thread(self, thread: &ThreadId, recorded: Result<(), RunError>) -> Self {
        let epilogue = match recorded {
            Ok(()) => format!("thread {thread} error"),
            Err(error) => format!("its record could not be written either: {error}"),
        };
        Self { epilogue: Some(epilogue), ..self }
    }

    /// Adds a last line with further information.
    #[cfg(feature = "engine")]
    pub(crate) fn ending_with(self, epilogue: String) -> Self {
        Self { epilogue: Some(epilogue), ..self }
    }

    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

fn bind_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a BindError> {
    error.downcast_ref().or_else(|| bind_error(error.source()?))
}

/// Returns the options that the command line lacks for its inputs. The library has no such advice, because
/// other interfaces have other words.
fn advice(error: &dyn Error) -> Option<String> {
    let refused = bind_error(error.source()?)?;
    let missing = refused.problems().iter().filter_map(|problem| match problem {
        BindProblem::Missing { name } => Some(format!("`--input {name}=VALUE`")),
        _ => None,
    });
    let missing = missing.collect::<Vec<_>>().join(" ");
    (!missing.is_empty()).then(|| format!("add {missing}"))
}

impl From<ResolveError> for Failure {
    fn from(error: ResolveError) -> Self {
        let exit = if error.is_unverified() { Exit::Refused } else { Exit::Failed };
        Self::of(&error, exit).with_places_of(&error)
    }
}

impl From<SignFileError> for Failure {
    fn from(error: SignFileError) -> Self {
        let excerpts = error.faulty().map(Excerpt::of_unsignable).into_iter().collect();
        Self::of(&error, error.class().into()).with_excerpts(excerpts)
    }
}

impl From<OpenError> for Failure {
    fn from(error: OpenError) -> Self {
        match error {
            OpenError::Resolve(error) => error.into(),
            error => Self::of(&error, Exit::Failed),
        }
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        let failure = Self::of(&error, error.class().into());
        match &error {
            PrepareError::Resolve(error) => failure.with_places_of(error),
            _ => failure,
        }
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        let RunError::Prepare { source, thread, unrecorded, .. } = &error else {
            return Self::of(&error, error.class().into());
        };
        let failure = Self::of(&error, error.class().into());
        let mut failure = match source.as_ref() {
            PrepareError::Resolve(error) => failure.with_places_of(error),
            _ => failure,
        };
        let unrecorded = unrecorded
            .as_ref()
            .map(|reason| format!("its record could not be written either: {reason}"));
        failure.epilogue =
            thread.as_ref().map(|thread| format!("thread {thread} error")).or(unrecorded);
        failure
    }
}

impl From<ThreadReadError> for Failure {
    fn from(error: ThreadReadError) -> Self {
        Self::of(&error, if error.is_tampering() { Exit::Refused } else { Exit::Failed })
    }
}

impl From<PrimaryError> for Failure {
    fn from(error: PrimaryError) -> Self {
        match error {
            PrimaryError::Resolve(error) => error.into(),
            PrimaryError::Prepare(error) => error.into(),
            error => Self::of(&error, error.class().into()),
        }
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Self {
        match class {
            Class::Failed => Self::Failed,
            Class::Limit => Self::Limit,
            Class::Refused => Self::Refused,
            Class::Usage => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentences.join(": "))
    }
}

impl Error for Failure {}
