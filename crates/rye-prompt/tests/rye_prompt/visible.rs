//! Prompts as written in snapshots.

use std::sync::{Arc, Mutex};

use insta::Snapshot;
use insta::comparator::{Comparator, DefaultComparator};
use rye_prompt::Opening;

/// Writes the first messages with visible edges: each message begins below its label and ends at `∎`, and a carriage
/// return is `␍`.
pub(crate) fn visible(opening: &Opening) -> String {
    let system = opening
        .system
        .as_ref()
        .map_or_else(|| "--- no system".to_owned(), |system| format!("--- system\n{system}∎"));
    format!("{system}\n--- user\n{}∎", opening.first_user_message).replace('\r', "␍")
}

/// Records the result of insta's own comparison and lets every assertion pass, because a probe must not write files.
#[derive(Clone, Default)]
struct Probe {
    same: Arc<Mutex<Option<bool>>>,
}

impl Comparator for Probe {
    fn matches(&self, reference: &Snapshot, test: &Snapshot) -> bool {
        *self.same.lock().expect("because no holder panics") =
            Some(DefaultComparator.matches(reference, test));
        true
    }

    fn dyn_clone(&self) -> Box<dyn Comparator> {
        Box::new(self.clone())
    }
}

/// Returns `true` if insta considers `text` equal to the content of the snapshot file.
#[track_caller]
fn insta_accepts(name: &str, text: &str) -> bool {
    let probe = Probe::default();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.set_comparator(Box::new(probe.clone()));
    settings.bind(|| insta::assert_snapshot!(name, text));
    let same = probe.same.lock().expect("because no holder panics").take();
    same.expect("because the snapshot file exists, so that there is something to compare with")
}

fn opened(first_user_message: &str) -> Opening {
    let context = rye_prompt::Context::default();
    rye_prompt::opening(&context, first_user_message, None)
}

const PROMPT: &str = "<directive name=\"edges\">\nOne line.\n</directive>";

/// Returns edits of `PROMPT` that would change the prompt, each with its name.
fn edits() -> [(&'static str, String); 5] {
    [
        ("a trailing newline", format!("{PROMPT}\n")),
        ("trailing spaces", format!("{PROMPT}  ")),
        ("a leading blank line", format!("\n{PROMPT}")),
        ("a carriage return at one line end", PROMPT.replacen('\n', "\r\n", 1)),
        ("carriage returns at all line ends", PROMPT.replace('\n', "\r\n")),
    ]
}

#[test]
fn insta_alone_does_not_see_the_edges() {
    assert!(insta_accepts("edges-bare", PROMPT));
    assert!(
        !insta_accepts("edges-bare", &PROMPT.replace("One", "Two")),
        "the probe must be able to say no"
    );
    for (edit, edited) in edits() {
        assert!(insta_accepts("edges-bare", &edited), "insta now sees {edit}");
    }
}

#[test]
fn visible_prompts_show_every_edge() {
    assert!(insta_accepts("edges-visible", &visible(&opened(PROMPT))));
    for (edit, edited) in edits() {
        assert!(!insta_accepts("edges-visible", &visible(&opened(&edited))), "unseen: {edit}");
    }
}

#[test]
fn a_message_that_is_absent_is_not_one_that_is_empty() {
    assert_eq!(visible(&opened("x\r\n")), "--- no system\n--- user\nx␍\n∎");
    let with_system = rye_prompt::opening(&rye_prompt::Context::default(), "x", Some("s"));
    assert_eq!(visible(&with_system), "--- system\ns∎\n--- user\nx∎");
}
