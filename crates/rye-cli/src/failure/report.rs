//! The reports of failures: text on standard error, and JSON on standard output.

use std::ffi::OsString;
use std::path::Path;

use clap::Args as _;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use serde_json::json;

use super::Failure;
use crate::environment::Environment;
use crate::excerpt::{self, Excerpt};
use crate::exit::Exit;
use crate::global::Global;
use crate::output::{self, Answer};
use crate::stream;

impl Failure {
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

    /// Returns the errors that keep the files in the way from being signed, as `rye check` finds them.
    fn unsignable(&self, environment: &Environment) -> Vec<(&Path, Excerpt)> {
        if self.unsigned.is_empty() {
            return Vec::new();
        }
        // Another command reports a project that cannot be opened.
        let Ok(spaces) = environment.to_check(false, false) else { return Vec::new() };
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
}

/// The advice about a file that was changed after it was signed.
const RESTORE: &str = "restore the file";

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
