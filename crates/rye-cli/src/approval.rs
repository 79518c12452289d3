//! Presentation of a call that waits for a decision.

use rye::thread::{ApprovalRequest, ThreadId};
use serde_json::Value;

use crate::output;

/// The largest number of lines and bytes that are shown of a text to sign.
const MOST_LINES: usize = 200;
const MOST_BYTES: usize = 16 * 1024;

/// Returns a call with its arguments and the reason why it waits, as one line (SPEC 14.1).
pub(crate) fn question_of(request: &ApprovalRequest) -> String {
    let (item, arguments) = (output::line(&request.item_id), output::text(&in_short(request)));
    format!("`{item}` with {arguments}; {}", request.why())
}

/// Returns the arguments that the decision is about, without the text to sign, which [`text_to_sign`] shows.
pub(crate) fn in_short(request: &ApprovalRequest) -> Value {
    let mut arguments = request.decisive_arguments();
    if let (Some(_), Value::Object(members)) = (signed_text(request), &mut arguments) {
        members.shift_remove("text");
    }
    arguments
}

/// Returns the text that a call wants signed. Each line has a margin, hidden characters are visible, and the
/// length is limited.
pub(crate) fn text_to_sign(request: &ApprovalRequest) -> Option<String> {
    Some(block(signed_text(request)?, &request.thread, MOST_LINES, MOST_BYTES))
}

/// Returns the whole text that a call wants signed, with margins and visible characters.
#[cfg(feature = "engine")]
pub(crate) fn whole_text_to_sign(request: &ApprovalRequest) -> Option<String> {
    Some(block(signed_text(request)?, &request.thread, usize::MAX, usize::MAX))
}

fn signed_text(request: &ApprovalRequest) -> Option<&str> {
    let text = request.arguments.get("text").filter(|_| request.item_id == "rye_sign");
    text?.as_str()
}

fn block(text: &str, thread: &ThreadId, most_lines: usize, most_bytes: usize) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bytes = text.len();
    let counted = output::counted(lines.len(), "line");
    let mut block = format!("text to sign, {counted}, {bytes} bytes\n");
    let mut room = most_bytes;
    let shown = lines.iter().take(most_lines).take_while(|line| {
        let fits = line.len() <= room;
        room = room.saturating_sub(line.len());
        fits
    });
    let mut n_shown = 0;
    for line in shown {
        block += &with_margin(line);
        n_shown += 1;
    }
    if let rest @ 1.. = lines.len() - n_shown {
        let rest = output::counted(rest, "more line");
        block += &format!("  … {rest}; `rye threads show {thread} --json` has the whole text\n");
    }
    block
}

/// Returns a line with its margins, which make trailing spaces and a missing line end visible.
fn with_margin(line: &str) -> String {
    let (line, end) = match line.strip_suffix('\n') {
        Some(line) => (line, ""),
        None => (line, " (without a line end)"),
    };
    let is_seen = !line.ends_with(char::is_whitespace);
    let edge = if is_seen { "" } else { "|" };
    format!("  | {}{edge}{end}\n", output::line(line))
}

#[cfg(test)]
mod tests {
    use rye::thread::ApprovalReason;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let thread = "sign-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        assert_eq!(block(text, &thread, MOST_LINES, MOST_BYTES), expected);
    }

    #[test]
    fn a_text_is_shown_with_its_edges_and_nothing_hidden() {
        check("a\n\nb\n", "text to sign, 3 lines, 5 bytes\n  | a\n  | \n  | b\n");
        check("a \nb", "text to sign, 2 lines, 4 bytes\n  | a |\n  | b (without a line end)\n");
        check(
            "a\u{1b}[2J\u{202e}b\r\n",
            "text to sign, 1 line, 11 bytes\n  | a\\u{1b}[2J\\u{202e}b\\r|\n",
        );
        check("", "text to sign, 0 lines, 0 bytes\n");
    }

    /// A call that was cut off is told from one that only needs a decision.
    #[test]
    fn a_call_that_began_before_says_so() {
        let thread = "sign-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let question = |reason| {
            let arguments = serde_json::json!({ "a": "\u{1b}" });
            let request = ApprovalRequest::new(&thread, "c", "notes/a\u{1b}", &arguments, reason);
            question_of(&request)
        };
        assert_eq!(
            question(ApprovalReason::Configured),
            "`notes/a\\u{1b}` with {\"a\":\"\\u001b\"}; the configuration asks before each call of it"
        );
        assert_eq!(
            question(ApprovalReason::Interrupted),
            "`notes/a\\u{1b}` with {\"a\":\"\\u001b\"}; it began before and may have happened, and an approval may do it a \
             second time"
        );
    }

    /// A long text is cut and not dropped, and the message says how much is missing.
    #[test]
    fn a_long_text_is_cut_between_lines_and_its_rest_is_named() {
        let thread = "sign-019a0000-0000-7000-8000-000000000001".parse().unwrap();
        let wide = format!("{}\n", "x".repeat(MOST_BYTES / 2));
        for (text, n_shown, rest) in [
            ("a\n".repeat(MOST_LINES), MOST_LINES, None),
            ("a\n".repeat(MOST_LINES + 2), MOST_LINES, Some("2 more lines")),
            (format!("a\n{wide}{wide}b\n"), 2, Some("2 more lines")),
            ("x".repeat(MOST_BYTES + 1), 0, Some("1 more line")),
        ] {
            let whole = block(&text, &thread, usize::MAX, usize::MAX);
            assert_eq!(whole.matches("\n  | ").count(), text.lines().count());
            let block = block(&text, &thread, MOST_LINES, MOST_BYTES);
            assert_eq!(block.matches("\n  | ").count(), n_shown);
            let told = block.lines().last().unwrap();
            match rest {
                Some(rest) => assert_eq!(
                    told,
                    format!("  … {rest}; `rye threads show {thread} --json` has the whole text")
                ),
                None => assert!(!block.contains('…')),
            }
        }
    }
}
