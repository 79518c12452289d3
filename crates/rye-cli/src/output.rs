//! Standard output and standard error.

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

/// Replaces the standard macros, which panic if the reader of a pipe is gone.
macro_rules! print {
    ($($text:tt)*) => { $crate::output::out(format_args!($($text)*)) };
}

/// Prints a line to standard output. Line ends in the values are escaped, so that no record, file name or
/// path can begin a line. Text with several lines is printed with [`print`].
macro_rules! println {
    ($($text:tt)*) => { $crate::output::out_line(format_args!($($text)*)) };
}

/// Prints like [`print`], to standard error.
macro_rules! eprint {
    ($($text:tt)*) => { $crate::output::err(format_args!($($text)*)) };
}

/// Prints like [`println`], to standard error.
macro_rules! eprintln {
    ($($text:tt)*) => { $crate::output::err_line(format_args!($($text)*)) };
}

/// Writes to standard output. A closed pipe is no failure, and a full disk is one.
///
/// Files, names and answers may contain control sequences for a terminal. All text for people is written
/// here, so that a terminal receives none.
pub(crate) fn out(text: fmt::Arguments<'_>) {
    painted(&for_people(&fmt::format(text)));
}

/// Writes a line to standard output.
pub(crate) fn out_line(text: fmt::Arguments<'_>) {
    painted(&format!("{}\n", line(&fmt::format(text))));
}

/// Writes text that this program has colored, and whose parts it has made safe.
pub(crate) fn painted(text: &str) {
    bytes(text.as_bytes());
}

/// Writes bytes that are not for people, such as a script.
pub(crate) fn bytes(bytes: &[u8]) {
    if !IS_LOST.load(Ordering::Relaxed) {
        // Written at once, with a single system call.
        handle_write(whole::to_stdout(bytes));
    }
}

/// The work to interrupt if the output cannot be written, and the flag that this has happened.
static STOPPED: Mutex<Option<Cancel>> = Mutex::new(None);
static IS_LOST: AtomicBool = AtomicBool::new(false);

/// Does work that is interrupted if standard output cannot be written, so that it can be resumed. Otherwise,
/// the program would end in the middle of it.
pub(crate) fn interrupting<T>(cancel: &Cancel, work: impl FnOnce() -> T) -> T {
    let stopped = || STOPPED.lock().unwrap_or_else(PoisonError::into_inner);
    *stopped() = Some(cancel.clone());
    let done = work();
    *stopped() = None;
    done
}

/// Returns `true` if the output could not be written and work was interrupted. Nothing has been written
/// since.
pub(crate) fn is_lost() -> bool {
    IS_LOST.load(Ordering::Relaxed)
}

/// Handles a failed write. A closed pipe is ignored. Otherwise, ends the program or interrupts its work.
fn handle_write(result: io::Result<()>) {
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

/// Writes to standard error, and ignores failures. The text contains no control sequences for a terminal,
/// even if it goes through a log.
pub(crate) fn err(text: fmt::Arguments<'_>) {
    painted_error(&visible(&fmt::format(text)));
}

/// Writes a line like [`out_line`], to standard error.
pub(crate) fn err_line(text: fmt::Arguments<'_>) {
    painted_error(&format!("{}\n", line(&fmt::format(text))));
}

/// Writes colored text like [`painted`], to standard error.
pub(crate) fn painted_error(text: &str) {
    drop(whole::to_stderr(text.as_bytes()));
}

/// Prints an indented JSON value whose form another standard defines, such as SARIF. Other data of commands
/// is an [`Answer`].
pub(crate) fn document(value: &Value) {
    painted(&format!("{}\n", plain_json(value)));
}

/// Prints a value as one line of JSON.
pub(crate) fn json_line(value: &Value) {
    json_text(&value.to_string());
}

/// Prints a line of serialized JSON, whose numbers and order stay unchanged.
pub(crate) fn json_text(line: &str) {
    painted(&format!("{}\n", plain(line)));
}

/// Writes JSON whose bytes a format prescribes. On a terminal, hidden characters become escapes.
pub(crate) fn prescribed_json(json: &str) {
    if is_terminal() { painted(&plain(json)) } else { bytes(json.as_bytes()) }
}

/// Returns `true` if standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

fn plain_json(value: &Value) -> String {
    plain(&format!("{value:#}"))
}

/// Returns JSON with hidden characters as escapes, which are the same values for programs.
fn plain(json: &str) -> String {
    let escaped = |c: char| -> String {
        c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
    };
    // Line ends occur only between the values, because JSON escapes those in strings.
    replace_hidden(json, |_| false, escaped)
}

/// Returns a path for JSON. Bytes that are not UTF-8 are replaced, because JSON cannot express them.
pub(crate) fn path(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Prints warnings, whatever form standard output has, because unverified items must not be overlooked.
pub(crate) fn warnings(warnings: &[String]) {
    warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
}

/// Returns a value for people: a text as it is, and others as JSON.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), for_people)
}

/// Returns a text of a model or a tool for standard output, without control sequences for a terminal.
pub(crate) fn for_people(text: &str) -> String {
    if is_terminal() { visible(text) } else { text.to_owned() }
}

/// Returns a text with all hidden characters escaped: control characters except line ends and tabs, marks
/// that change the display order, and invisible characters. Scripts and emoji that need such characters stay
/// unchanged.
pub(crate) fn visible(text: &str) -> String {
    escape_hidden(text, |_| false)
}

/// Indents the further lines of a foreign text below a heading. This program's own lines never begin in that
/// column.
pub(crate) fn hanging(text: &str, columns: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(columns)))
}

/// Returns a foreign text as a part of one line. Line ends and tabs are escaped too, so that the text cannot
/// imitate another line. [`println`] and [`eprintln`] do this with all their text.
pub(crate) fn line(text: &str) -> String {
    escape_hidden(text, |c| matches!(c, '\n' | '\t'))
}

fn escape_hidden(text: &str, also: impl Fn(char) -> bool) -> String {
    replace_hidden(text, |c| c == '\r' || also(c), |c| c.escape_default().collect())
}

/// Returns a text with another spelling of its hidden characters, and of those that `also` selects.
fn replace_hidden(
    text: &str,
    also: impl Fn(char) -> bool,
    spelling: impl Fn(char) -> String,
) -> String {
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

/// Returns `1 error` or `2 errors`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Returns a number of turns in words.
pub(crate) fn turns(count: u64) -> String {
    counted(usize::try_from(count).unwrap_or(usize::MAX), "turn")
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
