//! Failures of commands, with messages that help to fix them.

use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use rye::primary::{PrimaryError, causes};
use rye::prompt::{BindError, BindProblem};
use rye::resolve::{ItemId, ResolveError};
use rye::thread::ThreadId;
use rye::{Class, OpenError, PrepareError, RunError, SignFileError};
use serde_json::json;

use crate::environment::Environment;
use crate::excerpt::{self, Excerpt};
use crate::exit::Exit;
use crate::global::Global;
use crate::output::{self, Answer};
use crate::stream;

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
        let unsigned = excerpt::unsigned(error).into();
        Self { excerpts: excerpt::of_resolve(error), unsigned, ..self }
    }

    /// Returns the errors that keep the files in the way from being signed, as `rye check` finds them.
    fn unsignable(&self, environment: &Environment) -> Vec<(&Path, Excerpt)> {
        if self.unsigned.is_empty() {
            return Vec::new();
        }
        // Another command reports a project that cannot be opened.
        let Ok(spaces) = environment.to_check(false) else { return Vec::new() };
        let checker = spaces.checker();
        let of_file = |path| {
            let checked = checker.check_files(std::slice::from_ref(path)).pop()?;
            let excerpt = (!checked.is_signable()).then(|| Excerpt::of_unsignable(&checked))?;
            Some((path.as_path(), excerpt))
        };
        self.unsigned.iter().filter_map(of_file).collect()
    }

    /// Returns the sentence as it is printed. The advice to sign a file is left out where the file has errors, because signing
    /// would be refused.
    fn sentence<'s>(sentence: &'s str, unsignable: &[(&Path, Excerpt)]) -> &'s str {
        let is_advice = sentence.contains("`rye sign`") && !unsignable.is_empty();
        match sentence.split_once("; ") {
            Some((problem, _)) if is_advice => problem,
            _ => sentence,
        }
    }

    /// Prints the errors of the files in the way, with the next step.
    fn print_unsignable(&self, unsignable: &[(&Path, Excerpt)], environment: &Environment) {
        let is_changed = self.sentences.iter().any(|sentence| sentence.contains(RESTORE));
        let restore = if is_changed { format!("{RESTORE}, or ") } else { String::new() };
        for (path, excerpt) in unsignable {
            output::painted_error(&excerpt::rendered(excerpt, environment.colors()));
            let path = path.display();
            eprintln!(
                "  to do: {restore}mend it until `rye check {path}` has no error, then `rye sign {path}`"
            );
        }
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

    /// Prints the failure to standard error, with lines of the files. With `--json`, also prints an answer to
    /// standard output, so that programs need no prose.
    pub(crate) fn print(&self, environment: &Environment) {
        let unsignable = self.unsignable(environment);
        let sentences = self.sentences.iter();
        let sentences: Vec<&str> =
            sentences.map(|sentence| Self::sentence(sentence, &unsignable)).collect();
        if environment.json() {
            tell_programs(self.exit, &sentences, environment.streams());
        }
        for (depth, sentence) in sentences.iter().enumerate() {
            let lead = if depth == 0 { "error: " } else { "  because: " };
            eprintln!("{lead}{sentence}");
        }
        if let Some(advice) = &self.advice {
            eprintln!("  to do: {advice}");
        }
        for excerpt in &self.excerpts {
            output::painted_error(&excerpt::rendered(excerpt, environment.colors()));
        }
        self.print_unsignable(&unsignable, environment);
        if let Some(epilogue) = &self.epilogue {
            eprintln!("{epilogue}");
        }
    }
}

/// The advice about a file that was changed after it was signed.
const RESTORE: &str = "restore the file";

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

/// Reports an invalid command line, or prints the requested help. Returns the exit code.
pub(crate) fn report_command_line(error: &clap::Error) -> Exit {
    let is_help = !error.use_stderr();
    let is_json = std::env::args_os().take_while(|word| word != "--").any(|word| word == "--json");
    if is_json && !is_help {
        let text = error.render().to_string();
        let cause = text.split("\n\n").next().unwrap_or_default();
        let cause = cause.strip_prefix("error: ").unwrap_or(cause).trim_end();
        tell_programs(Exit::Usage, &[cause], wants_lines());
    }
    // The reader may be gone.
    drop(error.print());
    if let Some(hint) = input_hint(error) {
        eprint!("\n{hint}\n");
    }
    if is_help { Exit::Fine } else { Exit::Usage }
}

/// Returns advice for an argument such as `folder=notes`, which is probably an input.
fn input_hint(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let (name, _) = argument.split_once('=')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_input = error.kind() == ErrorKind::UnknownArgument && !name.starts_with('-');
    (is_input && !name.is_empty() && name.chars().all(is_name))
        .then(|| format!("inputs are given as `--input {argument}`"))
}

fn tell_programs(exit: Exit, causes: &[&str], is_stream: bool) {
    let error = json!({ "class": exit.as_str(), "exit_code": exit.code(), "causes": causes });
    if is_stream {
        stream::error(&error);
    } else {
        Answer::one("errors", error).fine_if(false).with("exit_code", exit.code()).print();
    }
}

/// Returns `true` if an invalid command line asks for one object per line, as far as it can be read.
fn wants_lines() -> bool {
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let is_quiet = words.iter().any(|word| word == "--quiet" || word == "-q");
    !is_quiet && command(&words).is_some_and(|word| word == "run" || word == "resume")
}

/// Returns the command among the words: the first that is neither an option nor the value of one.
fn command(words: &[OsString]) -> Option<&OsString> {
    let program = Global::augment_args(clap::Command::new("rye"));
    let valued: Vec<String> = program
        .get_arguments()
        .filter(|argument| argument.get_action().takes_values() && !argument.is_positional())
        .filter(|argument| argument.get_id() != "allow_unsigned")
        .filter_map(|argument| argument.get_long().map(|long| format!("--{long}")))
        .collect();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if valued.iter().any(|valued| word == valued.as_str()) {
            words.next();
        } else if !word.to_string_lossy().starts_with('-') {
            return Some(word);
        }
    }
    None
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

impl From<PrimaryError> for Failure {
    fn from(error: PrimaryError) -> Self {
        match error {
            PrimaryError::Resolve(error) => error.into(),
            PrimaryError::Prepare(error) => error.into(),
            PrimaryError::Run(error) => error.into(),
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
