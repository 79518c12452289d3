//! The blocks of the manual: those shown as valid are valid, and those shown as refused are refused with that message.

use rye_parse::{FORMAT_REFERENCE, ParseError, Problem};
use rye_types::{HookEvent, ValueType};

use crate::{file, metadata};

/// One fenced block of the manual.
#[derive(Debug)]
struct Block {
    line: usize,
    info: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut open: Option<&str> = None;
    for (index, line) in FORMAT_REFERENCE.lines().enumerate() {
        match (open, blocks.last_mut()) {
            (Some(fence), _) if line == fence => open = None,
            (Some(_), Some(block)) => block.text.push_str(&format!("{line}\n")),
            _ if line.starts_with("```") => {
                let info = line.trim_start_matches('`');
                open = line.get(..line.len() - info.len());
                let (line, info) = (index + 1, info.to_owned());
                blocks.push(Block { line, info, text: String::new() });
            }
            _ => {}
        }
    }
    assert_eq!(open, None);
    blocks
}

/// Returns the notes of a block, or its problems.
#[track_caller]
fn read(language: &str, sort: &str, text: &str) -> Result<Vec<Problem>, ParseError> {
    let directive = |text: &str| rye_parse::directive(text).map(|directive| directive.notes);
    match (language, sort) {
        ("markdown", "directive") => directive(text),
        ("markdown", "body") => directive(&format!("{}\n{text}", file(""))),
        ("xml", "root") => directive(&file(text)),
        ("xml", "metadata") => directive(&metadata(text)),
        ("markdown", "knowledge") => rye_parse::knowledge(text).map(|knowledge| knowledge.notes),
        ("yaml", "knowledge") => rye_parse::knowledge_yaml(text).map(|knowledge| knowledge.notes),
        ("yaml", "tool") => rye_parse::tool(text, "yaml").map(|tool| tool.notes),
        ("python", "tool") => rye_parse::tool(text, "py").map(|tool| tool.notes),
        ("yaml" | "toml", "hooks") => rye_parse::hooks(text, language).map(|_| Vec::new()),
        ("yaml" | "toml", "config") => rye_parse::config(text, language).map(|_| Vec::new()),
        ("text", "when") => directive(&metadata(&format!(
            "<hooks><hook id=\"a\" event=\"limit\"><when>{}</when><sign item_id=\"x\"/></hook></hooks>",
            text.trim().replace('&', "&amp;").replace('<', "&lt;")
        ))),
        _ => panic!("nothing reads a block of `{language} {sort}`"),
    }
}

#[test]
fn every_block_is_as_it_says() {
    let blocks = blocks();
    assert!(40 < blocks.len(), "{}", blocks.len());
    let mut blocks = blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let words: Vec<&str> = block.info.split(' ').collect();
        let [language, sort, rest @ ..] = words.as_slice() else { panic!("{block:?}") };
        let result = read(language, sort, &block.text);
        let said = match (rest, &result) {
            ([], Ok(notes)) => {
                assert_eq!(notes, &[], "line {}", block.line);
                continue;
            }
            (["noted"], Ok(notes)) => notes,
            (["refused"], Err(error)) => error.problems(),
            _ => panic!("line {}: {result:#?}", block.line),
        };
        let beneath = blocks.next().filter(|next| next.info == "text said").expect("a message");
        let said: String = said.iter().map(|problem| format!("{problem}\n")).collect();
        assert_eq!(said, beneath.text, "line {}", block.line);
    }
}

#[test]
fn every_code_is_explained() {
    let codes = rye_parse::ProblemKind::CODES.iter().copied();
    let missing: Vec<_> =
        codes.filter(|code| !FORMAT_REFERENCE.contains(&format!("`{code}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_word_of_a_closed_list_is_named() {
    use rye_parse::{Operator, Primary};
    let words = [HookEvent::NAMES, Operator::NAMES, ValueType::NAMES, Primary::NAMES].concat();
    let missing: Vec<_> =
        words.into_iter().filter(|word| !FORMAT_REFERENCE.contains(&format!("`{word}`"))).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn links_lead_to_headings() {
    let headings: Vec<String> = FORMAT_REFERENCE
        .lines()
        .filter_map(|line| line.strip_prefix("## "))
        .map(|title| title.to_lowercase().replace(' ', "-"))
        .collect();
    let links: Vec<&str> =
        FORMAT_REFERENCE.split("](#").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(!links.is_empty());
    let dangling: Vec<_> =
        links.into_iter().filter(|link| !headings.iter().any(|heading| heading == link)).collect();
    assert_eq!(dangling, [""; 0]);
}
