//! What goes to standard output and standard error.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rye::hidden_characters;
use rye::thread::Cancel;
use serde_json::Value;

mod answer;
mod whole;

pub(crate) use self::answer::Answer;

/// In place of the standard macros, which panic where the reader of a pipe has gone.
macro_rules! print {
    ($($text:tt)*) => { $crate::output::out(format_args!($($text)*)) };
}

/// Prints one line to standard output. Line ends in the values are spelled out, so that no record, file name or path makes a line
/// of its own; text of several lines is printed with [`print`].
macro_rules! println {
    ($($text:tt)*) => { $crate::output::out_line(format_args!($($text)*)) };
}

/// As [`print`], for standard error.
macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::err(format_args!($($text)*)) };
}

/// As [`println`], for standard error.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::err_line(format_args!($($text)*)) };
}

/// Writes to standard output; a reader that has read enough is no failure, a full disk is.
///
/// Whoever wrote a file, a name or an answer may have put commands for a terminal into it, so a terminal gets none: what
/// is printed for people goes through here, whatever it is made of.
pub(crate) fn out(text: fmt::Arguments<'_>) {
    painted(&for_people(&fmt::format(text)));
}

/// Writes one line to standard output.
pub(crate) fn out_line(text: fmt::Arguments<'_>) {
    painted(&format!("{}\n", line(&fmt::format(text))));
}

/// Writes text that this program painted, and whose parts it tamed itself.
pub(crate) fn painted(text: &str) {
    bytes(text.as_bytes());
}

/// Writes bytes that no person is meant to read, such as a script.
pub(crate) fn bytes(bytes: &[u8]) {
    if !IS_LOST.load(Ordering::Relaxed) {
        // In one piece, which is one call of the system where the pieces would be many.
        written(whole::to_stdout(bytes));
    }
}

/// What is stopped when nobody can be told of it any more, and whether that came to pass.
static STOPPED: Mutex<Option<Cancel>> = Mutex::new(None);
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Does work that is interrupted, so that somebody can go on with it, when standard output cannot be written; otherwise the
/// program would end in the middle of it.
pub(crate) fn interrupting<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    let stopped = || STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
    *stopped() = Some(cancel.clone());
    let done = work();
    *stopped() = None;
    done
}

/// Whether something was interrupted because standard output could not be written; nothing is written there since.
pub(crate) fn is_lost() -> bool {
    IS_LOST.load(Ordering::Relaxed)
}

/// Ends the program, or interrupts what it does, where its output could not be written for another reason than that nobody
/// reads on.
fn written(result: io::Result<()>) {
    let Err(error) = result else { return };
    if error.kind() == io::ErrorKind::BrokenPipe {
        return;
    }
    eprintln!("error: cannot write the output: {error}");
    let stopped = STOPPED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let Some(cancel) = stopped else {
        #[expect(clippy::exit, reason = "nothing more can be told")]
        std::process::exit(1);
    };
    IS_LOST.store(true, Ordering::Relaxed);
    cancel.interrupt();
}

/// Writes to standard error, where nobody may be left to hear that it failed. It is for people, also by way of a log, so
/// that no command for a terminal is in it.
pub(crate) fn err(text: fmt::Arguments<'_>) {
    painted_error(&visible(&fmt::format(text)));
}

/// As [`out_line`], for standard error.
pub(crate) fn err_line(text: fmt::Arguments<'_>) {
    painted_error(&format!("{}\n", line(&fmt::format(text))));
}

/// As [`painted`], for standard error.
pub(crate) fn painted_error(text: &str) {
    drop(whole::to_stderr(text.as_bytes()));
}

/// Prints one JSON value, indented: a document whose form another standard sets, such as SARIF. What commands tell programs is
/// an [`Answer`].
pub(crate) fn document(value: &Value) {
    painted(&format!("{}\n", plain_json(value)));
}

/// Prints one of many values for programs: one line of JSON.
pub(crate) fn json_line(value: &Value) {
    json_text(&value.to_string());
}

/// The same for JSON that is written already, whose numbers and order stay as they are.
pub(crate) fn json_text(line: &str) {
    painted(&format!("{}\n", plain(line)));
}

/// Whether somebody looks at standard output.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

fn plain_json(value: &Value) -> String {
    plain(&format!("{value:#}"))
}

/// JSON in which what a person does not see is written as an escape, which is the same value to a program.
fn plain(json: &str) -> String {
    let escaped = |c: char| -> String {
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    // Line ends stand between the values alone: within a string, JSON has escaped them already.
    replaced(json, |_| false, escaped)
}

/// A path in data for programs; JSON has no place for bytes that are not UTF-8, so they are replaced.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Tells of warnings, whatever standard output is for: nobody is to overlook that something is unverified.
pub(crate) fn warnings(warnings: &[String]) {
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// A value for people: text as it is, anything else as JSON.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), for_people)
}

/// A text that a model or a tool wrote, as standard output shows it: a terminal gets no commands out of it.
pub(crate) fn for_people(text: &str) -> String {
    if is_terminal() { visible(text) } else { text.to_owned() }
}

/// A text in which a person sees all that is there: control characters except line ends and tabs, marks that change the
/// order in which text is shown, and characters that are shown as nothing are spelled out. Writing that is made with such
/// characters, emoji too, stays as it is.
pub(crate) fn visible(text: &str) -> String {
    spelled(text, |_| false)
}

/// A text of somebody else's below a heading: its further lines begin so many columns in, where no line of this program's begins.
pub(crate) fn hanging(text: &str, columns: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(columns)))
}

/// A text that somebody else wrote, as part of one line that they cannot make look like another: line ends and tabs are
/// spelled out as well. [`println`] and [`eprintln`] do that with all that they print.
pub(crate) fn line(text: &str) -> String {
    spelled(text, |c| matches!(c, '\n' | '\t'))
}

fn spelled(text: &str, also: impl Fn(char) -> bool) -> String {
    replaced(text, |c| c == '\r' || also(c), |c| c.escape_default().collect())
}

/// A text with another spelling of its hidden characters, and of those that `also` names.
fn replaced(text: &str, also: impl Fn(char) -> bool, spelling: impl Fn(char) -> String) -> String {
    let mut hidden = hidden_characters(text).peekable();
    let mut shown = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if hidden.next_if_eq(&(at, c)).is_some() || also(c) {
            shown.push_str(&spelling(c));
        } else {
            shown.push(c);
        }
    }
    shown
}

/// `1 error`, `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_the_same_data_with_nothing_hidden_in_it() {
        let value = serde_json::json!({"a\u{202e}b": ["\u{e0041}\u{9b}2J\u{7f}", "é\r\n\t"]});
        let text = plain_json(&value);
        assert!(hidden_characters(&text).next().is_none(), "{text}");
        assert!(text.contains(r"a\u202eb") && text.contains(r"\udb40\udc41"), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).ok(), Some(value));
    }

    #[test]
    fn a_text_gives_a_terminal_no_commands() {
        assert_eq!(visible("é\ta\nb"), "é\ta\nb");
        assert_eq!(visible("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(visible("a\u{200b}b\u{e0041}"), "a\\u{200b}b\\u{e0041}");
        assert_eq!(
            visible("👩\u{200d}💻 می\u{200c}خ ❤\u{fe0f}"),
            "👩\u{200d}💻 می\u{200c}خ ❤\u{fe0f}"
        );
        assert_eq!(line("a\u{200f}\t👩\u{200d}💻"), "a\\u{200f}\\t👩\u{200d}💻");
        assert_eq!(line("a\nb\u{202e}c\u{1b}\u{2066}é"), "a\\nb\\u{202e}c\\u{1b}\\u{2066}é");
        assert_eq!(visible("\u{1b}]0;x\u{7}\r\u{9b}2J"), "\\u{1b}]0;x\\u{7}\\r\\u{9b}2J");
    }
}
