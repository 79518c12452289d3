//! The rules for the events of a thread: `rye-transcript` describes each of them, and all other crates read them by type.

use crate::tidy::sources::is_test;
use crate::tidy::tree::File;

/// The file with the list of events.
const LIST: &str = "crates/rye-transcript/src/event.rs";

/// The crate that reads events and writes them.
const OWNER: &str = "crates/rye-transcript/";

/// Finds names of events as text, and members of payloads that are read by their name.
pub(crate) fn check(tree: &[File]) -> Vec<String> {
    let list = tree.iter().find(|file| file.path == LIST).map_or("", |file| &file.text);
    let names: Vec<&str> = list.lines().filter_map(listed).collect();
    if names.is_empty() {
        return vec![format!(
            "`{LIST}` lists no event; let `tidy/events.rs` name the file with the list"
        )];
    }
    let is_read = |file: &&File| {
        let is_source = file.path.ends_with(".rs") && file.path.contains("/src/");
        is_source && !file.path.starts_with(OWNER) && !is_test(&file.path)
    };
    // The checks themselves name what they look for.
    let sources = tree.iter().filter(is_read).filter(|file| !file.path.starts_with("xtask/"));
    sources.flat_map(|file| findings(file, &names)).collect()
}

/// Returns the name of the event that a line of the list declares.
fn listed(line: &str) -> Option<&str> {
    let (name, rest) = line.trim().strip_prefix('"')?.split_once('"')?;
    rest.trim_start().starts_with("=>").then_some(name)
}

fn findings(file: &File, names: &[&str]) -> Vec<String> {
    let lines = file.text.lines().map(str::trim).take_while(|line| *line != "mod tests {");
    let code = (1..).zip(lines).filter(|(_, line)| !line.starts_with("//"));
    let mut findings = Vec::new();
    for (number, line) in code {
        let path = &file.path;
        if let Some(name) = names.iter().find(|name| has_name(line, name)) {
            findings.push(format!(
                "`{path}` has the event `{name}` as text in line {number}; use `EventKind`"
            ));
        }
        if reads_member(line) {
            findings.push(format!(
                "`{path}` reads a member of a payload by name in line {number}; use `Record::event`"
            ));
        }
    }
    findings
}

/// Returns `true` if the line has the name as a text that is no index. A name that is a plain word may also be a member or an argument.
fn has_name(line: &str, name: &str) -> bool {
    let literal = format!("\"{name}\"");
    line.match_indices(&literal).any(|(at, literal)| {
        let before = line.get(..at).unwrap_or_default().trim_end();
        let after = line.get(at + literal.len()..).unwrap_or_default().trim_start();
        let is_plain = !name.contains('_') && after.starts_with([':', ')']);
        !(is_plain || is_index(before) && after.starts_with(']'))
    })
}

/// Returns `true` if the text ends with the beginning of an index, and not of a list.
fn is_index(before: &str) -> bool {
    before.strip_suffix('[').is_some_and(|indexed| {
        indexed.ends_with(|c: char| c.is_alphanumeric() || "_)]".contains(c))
    })
}

/// Returns `true` if the line reads a member of a `payload`, by index, by `get` or by a pointer.
fn reads_member(line: &str) -> bool {
    line.match_indices("payload").any(|(at, word)| {
        let mut rest = line.get(at + word.len()..).unwrap_or_default();
        if let Some((_, after)) = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            rest = after;
        }
        ["[\"", ".get(\"", ".pointer(\"", "\"][\""].iter().any(|read| rest.starts_with(read))
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::File;

    const EVENTS: &str = "events! {\n    /// A reply.\n    \"step_finish\" => StepFinish(StepFinish),\n    \"checkpoint\" => Checkpoint(SignedHead),\n}\n";

    #[track_caller]
    fn finds(path: &str, line: &str, expected: &[&str]) {
        let file = |path: &str, text: &str| File { path: path.to_owned(), text: text.to_owned() };
        let tree = [file(super::LIST, EVENTS), file(path, &format!("//! A file.\n{line}\n"))];
        assert_eq!(check(&tree), expected, "{line}");
    }

    #[test]
    fn an_event_as_text_is_found() {
        let found = "`crates/rye-a/src/lib.rs` has the event `step_finish` as text in line 2; use `EventKind`";
        for line in [
            "if record.name() == \"step_finish\" {}",
            "if \"step_finish\" != name {}",
            "\"step_finish\" => 1,",
            "\"step_finish\" if true => 1,",
            "matches!(name, \"other\" | \"step_finish\")",
            "[\"step_finish\", \"other\"].contains(&name)",
            "\"step_finish\",",
            "const FINISH: &str = \"step_finish\";",
            "let steps = count(\"step_finish\");",
            "json!({ \"step_finish\": 1 })",
        ] {
            finds("crates/rye-a/src/lib.rs", line, &[found]);
        }
        for line in [
            "let key = json[\"step_finish\"];",
            "/// matches `\"step_finish\" => 1`",
            "let told = format!(\"a step_finish\");",
            "json!({ \"checkpoint\": 1 })",
            "count_noun(2, \"checkpoint\")",
            "if word == \"checkpoints\" {}",
        ] {
            finds("crates/rye-a/src/lib.rs", line, &[]);
        }
        finds("crates/rye-a/tests/it.rs", "if name == \"step_finish\" {}", &[]);
        finds("crates/rye-transcript/src/read.rs", "if name == \"step_finish\" {}", &[]);
    }

    #[test]
    fn a_list_that_moved_is_found() {
        let found = "`crates/rye-transcript/src/event.rs` lists no event; let `tidy/events.rs` name the file with the list";
        let list = |text: &str| File { path: super::LIST.to_owned(), text: text.to_owned() };
        for tree in [vec![], vec![list("")], vec![list("events! {}")]] {
            assert_eq!(check(&tree), [found]);
        }
    }

    #[test]
    fn a_member_that_is_read_by_name_is_found() {
        let found = "`engines/a/src/lib.rs` reads a member of a payload by name in line 2; use `Record::event`";
        for line in [
            "let turn = payload[\"turn\"].as_u64();",
            "let text = payload(record)[\"text\"].as_str();",
            "let turn = record.payload.get(\"turn\");",
            "let item = payload.pointer(\"/target/item_id\");",
            "let child = record[\"payload\"][\"thread\"].as_str();",
        ] {
            finds("engines/a/src/lib.rs", line, &[found]);
        }
        for line in
            ["let text = record.payload.get();", "let all = json!({ \"payload\": payload });"]
        {
            finds("engines/a/src/lib.rs", line, &[]);
        }
    }
}
