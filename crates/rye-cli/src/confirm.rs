//! Questions to the user at the terminal.
//!
//! One line with one word answers one question. What was typed before the question stood there is dropped, and a line that holds
//! more than one answer decides nothing.

use std::io::{self, IsTerminal as _};

use crate::failure::Failure;

/// Fails unless the user answers the question with yes. `refused` tells what a no leaves undone, and `advice` what to give
/// where there is no terminal.
pub(crate) fn require(question: &str, refused: &str, advice: &str) -> Result<(), Failure> {
    match ask(question)? {
        Some(true) => Ok(()),
        Some(false) => Err(Failure::refused(refused)),
        None => Err(Failure::usage(advice)),
    }
}

/// Asks the question and returns `true` for yes, or `None` without a terminal.
pub(crate) fn ask(question: &str) -> Result<Option<bool>, Failure> {
    if !is_possible() {
        return Ok(None);
    }
    let answer = answer(&format!("{question} [y/N] "), &["y", "yes", "n", "no"], || true);
    let answer =
        answer.map_err(|source| Failure::failed(format!("cannot read the answer: {source}")))?;
    let answer = answer.unwrap_or_default().to_ascii_lowercase();
    Ok(Some(matches!(answer.as_str(), "y" | "yes")))
}

/// Returns `true` if there is a terminal to ask at.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks until a line holds one answer, and returns that line without white space at its ends. Returns `None` at the end of the input,
/// and as soon as nobody `is_waiting` for the answer.
///
/// `words` are the answers that the question names. A line of one other word is an answer, too, unless it repeats them, as `yy` does.
pub(crate) fn answer(
    question: &str,
    words: &[&str],
    is_waiting: impl Fn() -> bool,
) -> io::Result<Option<String>> {
    loop {
        input::drop_typed()?;
        eprint!("{question}");
        let Some(typed) = input::read(&is_waiting)? else { return Ok(None) };
        let typed = typed.trim();
        if !holds_several(typed, words) {
            return Ok(Some(typed.to_owned()));
        }
        eprint!("this is more than one answer, and nothing is decided\n");
        input::wait_for_quiet()?;
    }
}

/// Returns `true` for several words, and for words of the question without a space between them.
fn holds_several(typed: &str, words: &[&str]) -> bool {
    let typed = typed.to_ascii_lowercase();
    let is_one = words.contains(&typed.as_str());
    typed.contains(char::is_whitespace) || (!is_one && consists_of(&typed, words))
}

fn consists_of(typed: &str, words: &[&str]) -> bool {
    let longest =
        words.iter().filter_map(|word| typed.strip_prefix(word)).min_by_key(|it| it.len());
    longest.is_some_and(|rest| rest.is_empty() || consists_of(rest, words))
}

#[cfg(unix)]
mod input {
    //! The input of the terminal, read without a buffer that would keep a part for the next question.

    use std::io;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::io::Errno;
    use rustix::termios::{QueueSelector, tcflush};

    /// The time in which more input belongs to the answer before it.
    const TOGETHER: Duration = Duration::from_millis(50);

    /// The time between two looks at whether somebody still waits for the answer.
    const LOOK: Duration = Duration::from_millis(100);

    /// The time without input after which what was pasted has ended.
    const QUIET: Duration = Duration::from_millis(300);

    /// The longest answer.
    const MOST_BYTES: usize = 4096;

    /// Drops what was typed and not read.
    pub(super) fn drop_typed() -> io::Result<()> {
        Ok(tcflush(io::stdin(), QueueSelector::IFlush)?)
    }

    /// Drops what comes, until nothing does for a moment. The rest of what was pasted slowly is no answer to the next question.
    pub(super) fn wait_for_quiet() -> io::Result<()> {
        for _ in 0..MOST_BYTES {
            if !is_there(QUIET, true)? || more(&mut [0; 512])? == Some(0) {
                break;
            }
        }
        Ok(())
    }

    /// Reads a line, with all that was typed together with it.
    pub(super) fn read(is_waiting: &impl Fn() -> bool) -> io::Result<Option<String>> {
        let (mut typed, mut has_line) = (Vec::new(), false);
        while typed.len() < MOST_BYTES {
            let is_there = is_there(if has_line { TOGETHER } else { LOOK }, has_line)?;
            if !is_waiting() {
                return Ok(None);
            }
            if !is_there && has_line {
                break;
            }
            let mut piece = [0; 512];
            let length = if is_there { more(&mut piece)? } else { None };
            match length {
                Some(0) if typed.is_empty() => return Ok(None),
                Some(0) => break,
                Some(length) => typed.extend_from_slice(&piece[..length]),
                None => {}
            }
            has_line = typed.contains(&b'\n');
        }
        Ok(Some(String::from_utf8_lossy(&typed).into_owned()))
    }

    /// Returns `true` if there is input, or its end, within the time.
    fn is_there(within: Duration, has_line: bool) -> io::Result<bool> {
        let input = io::stdin();
        let mut input = [PollFd::new(&input, PollFlags::IN)];
        let within = within.try_into().expect("because it is short");
        match poll(&mut input, Some(&within)) {
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
            // A system that cannot wait for a terminal gives the first line alone.
            Ok(_) if input[0].revents().contains(PollFlags::NVAL) => Ok(!has_line),
            Ok(ready) => Ok(ready > 0),
        }
    }

    /// Reads what is there: a whole line, unless the terminal passes on each key. Returns `None` if a signal came first.
    fn more(piece: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(io::stdin(), piece) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(not(unix))]
mod input {
    //! The input of the terminal, line by line.

    use std::io;

    #[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
    pub(super) fn drop_typed() -> io::Result<()> {
        Ok(())
    }

    #[expect(clippy::unnecessary_wraps, reason = "it fails on other systems")]
    pub(super) fn wait_for_quiet() -> io::Result<()> {
        Ok(())
    }

    pub(super) fn read(_: &impl Fn() -> bool) -> io::Result<Option<String>> {
        let mut typed = String::new();
        let length = io::stdin().read_line(&mut typed)?;
        Ok((length > 0).then_some(typed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: bool) {
        let words = ["y", "yes", "a", "always", "n", "no"];
        assert_eq!(holds_several(typed, &words), expected, "{typed:?}");
    }

    #[test]
    fn one_line_holds_one_answer() {
        for one in ["", "y", "yes", "Y", "a", "always", "no", "later", "alway", "yellow", "noon"] {
            check(one, false);
        }
        for several in ["yy", "YY", "y y", "y\ny", "yesyes", "yyes", "yn", "nono", "y please"] {
            check(several, true);
        }
    }
}
