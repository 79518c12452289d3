//! The rule for the first word of doc comments.

use crate::tidy::{
    sources::{is_test, source_path},
    tree::File,
};

/// Words that open a clause and so keep a doc comment from naming its thing first.
const OPENERS: &[&str] =
    &["how", "what", "when", "where", "whether", "which", "who", "whom", "whose"];

/// Finds doc comments that do not begin with a noun or a verb.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    let sources =
        tree.iter().filter(|file| !is_test(&file.path) && source_path(&file.path).is_some());
    sources.flat_map(docs).collect()
}

/// Returns the lines before the tests of a file, each with its number.
fn lines(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let lines = file.text.lines().map(str::trim).take_while(|line| *line != "mod tests {");
    (1..).zip(lines)
}

fn docs(file: &File) -> Vec<String> {
    let mut findings = Vec::new();
    let mut is_inside = false;
    for (number, line) in lines(file) {
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        if let Some(text) = text.filter(|_| !is_inside)
            && let Some(opener) = opener(text)
        {
            findings.push(format!(
                "`{}` has a doc comment in line {number} that begins with `{opener}`; begin with a noun or a verb",
                file.path
            ));
        }
        is_inside = text.is_some();
    }
    findings
}

fn opener(text: &str) -> Option<&str> {
    let word = text.trim_start().split(|letter: char| !letter.is_alphabetic()).next()?;
    OPENERS.contains(&word.to_lowercase().as_str()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::File;

    #[track_caller]
    fn finds(text: &str, expected: &[&str]) {
        let file = File { path: "crates/rye-a/src/lib.rs".to_owned(), text: text.to_owned() };
        assert_eq!(check(&[file]), expected);
    }

    #[test]
    fn a_doc_comment_that_begins_with_a_question_word_is_found_at_its_line() {
        finds(
            "//! A crate.\n\n/// Whether it is over.\nfn is_over() {}\n",
            &[
                "`crates/rye-a/src/lib.rs` has a doc comment in line 3 that begins with `Whether`; begin with a noun or a verb",
            ],
        );
    }

    #[test]
    fn only_the_first_line_of_a_doc_comment_counts() {
        finds("/// Returns it.\n///\n/// # Errors\n///\n/// When it is gone.\nfn it() {}\n", &[]);
        finds("/// Whatever a caller adds.\nfn it() {}\n", &[]);
    }

    #[test]
    fn tests_are_not_measured() {
        finds(
            "//! A crate.\n#[cfg(test)]\nmod tests {\n    /// What is kept.\n    fn kept() {}\n}\n",
            &[],
        );
    }
}
