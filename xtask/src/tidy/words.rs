//! Rules for the first word of doc comments and for the names of functions.

use std::collections::BTreeMap;

use crate::tidy::{
    sources::{is_test, source_path},
    tree::File,
};

/// Words that open a clause and so keep a doc comment from naming its thing first.
const OPENERS: &[&str] =
    &["how", "what", "when", "where", "whether", "which", "who", "whom", "whose"];

/// Participles that do not end in `ed`.
const PARTICIPLES: &[&str] = &[
    "begun",
    "bought",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "driven",
    "given",
    "gone",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "lost",
    "made",
    "meant",
    "paid",
    "said",
    "seen",
    "sent",
    "shown",
    "sold",
    "spent",
    "spoken",
    "stood",
    "taken",
    "thought",
    "told",
    "torn",
    "understood",
    "written",
];

/// Verbs and nouns that end in `ed`, and the method of `std::time::Instant`.
const VERBS: &[&str] = &["elapsed", "embed", "exceed", "proceed", "speed", "succeed"];

/// The most functions of a crate that are named by a participle alone. A crate without a row has none.
pub(crate) const CAPS: &[(&str, usize)] = &[
    ("rye-caps", 1),
    ("rye-cli", 9),
    ("rye-parse", 1),
    ("rye-providers", 2),
    ("rye-resolve", 2),
    ("rye-sign", 3),
    ("rye-thread", 2),
    ("rye-tools", 2),
    ("rye-view", 2),
];

/// Finds doc comments that do not begin with a noun or a verb, and crates with more functions named by a
/// participle than `caps` allows.
pub(crate) fn check(tree: &[File], caps: &[(&str, usize)]) -> Vec<String> {
    let mut findings = Vec::new();
    let mut named: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for file in tree.iter().filter(|file| !is_test(&file.path)) {
        let Some((package, _)) = source_path(&file.path) else { continue };
        findings.extend(docs(file));
        named.entry(package).or_default().extend(participles(file));
    }
    let cap = |name: &str| caps.iter().find(|(row, _)| *row == name).map_or(0, |row| row.1);
    let excess = named.iter().filter(|(name, functions)| cap(name) < functions.len());
    findings.extend(excess.map(|(name, functions)| {
        format!(
            "`{name}` has {} functions named by a participle alone and may have {}; name the action: {}",
            functions.len(),
            cap(name),
            functions.join(", "),
        )
    }));
    let spare = caps.iter().filter_map(|(name, cap)| {
        let count = named.get(name).map(Vec::len)?;
        (count < *cap).then(|| {
            format!("`{name}` has {count} functions named by a participle alone; lower its cap of {cap} in `CAPS`")
        })
    });
    findings.extend(spare);
    findings
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

fn participles(file: &File) -> Vec<String> {
    let names = lines(file).filter_map(|(_, line)| function(line));
    names.filter(|name| is_participle(name)).map(|name| format!("`{name}`")).collect()
}

/// Returns the name of the function that a line declares.
fn function(line: &str) -> Option<&str> {
    let (before, rest) = line.split_once("fn ")?;
    let is_declared = before.split_whitespace().all(|word| {
        word.starts_with("pub")
            || matches!(word, "async" | "const" | "unsafe" | "in")
            || word.ends_with(')')
    });
    let name = rest.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next()?;
    (is_declared && !name.is_empty()).then_some(name)
}

fn is_participle(name: &str) -> bool {
    let ends = name.ends_with("ed") && !name.ends_with("eed") && 4 < name.len();
    !name.contains('_') && !VERBS.contains(&name) && (ends || PARTICIPLES.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::File;

    #[track_caller]
    fn finds(text: &str, caps: &[(&str, usize)], expected: &[&str]) {
        let file = File { path: "crates/rye-a/src/lib.rs".to_owned(), text: text.to_owned() };
        assert_eq!(check(&[file], caps), expected);
    }

    #[test]
    fn a_doc_comment_that_begins_with_a_question_word_is_found_at_its_line() {
        finds(
            "//! A crate.\n\n/// Whether it is over.\nfn is_over() {}\n",
            &[],
            &[
                "`crates/rye-a/src/lib.rs` has a doc comment in line 3 that begins with `Whether`; begin with a noun or a verb",
            ],
        );
    }

    #[test]
    fn only_the_first_line_of_a_doc_comment_counts() {
        finds(
            "/// Returns it.\n///\n/// # Errors\n///\n/// When it is gone.\nfn it() {}\n",
            &[],
            &[],
        );
        finds("/// Whatever a caller adds.\nfn it() {}\n", &[], &[]);
    }

    #[test]
    fn another_number_of_functions_named_by_a_participle_than_the_cap_is_found() {
        let text = "pub(in crate::a) async fn driven() {}\n    const fn merged() {}\nfn is_merged() {}\nfn proceed() {}\nfn need() {}\n";
        finds(text, &[("rye-a", 2)], &[]);
        finds(
            text,
            &[("rye-a", 1)],
            &[
                "`rye-a` has 2 functions named by a participle alone and may have 1; name the action: `driven`, `merged`",
            ],
        );
        finds(
            text,
            &[("rye-a", 3)],
            &["`rye-a` has 2 functions named by a participle alone; lower its cap of 3 in `CAPS`"],
        );
        finds(
            text,
            &[("rye-b", 2)],
            &[
                "`rye-a` has 2 functions named by a participle alone and may have 0; name the action: `driven`, `merged`",
            ],
        );
    }

    #[test]
    fn tests_are_not_measured() {
        finds(
            "//! A crate.\n#[cfg(test)]\nmod tests {\n    /// What is kept.\n    fn kept() {}\n}\n",
            &[],
            &[],
        );
    }
}
