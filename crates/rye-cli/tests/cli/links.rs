//! What the project's pages refer to is there: files, and headings in them. As a book they would lead nowhere unseen.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn links_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut broken = String::new();
    for page in pages(&root) {
        for link in links(&text(&page)) {
            if let Some(why) = fault(&page, &link, &root.join("docs")) {
                writeln!(broken, "{}: `{link}` {why}", page.display()).unwrap();
            }
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

/// The pages of the root, of the guide, and of each crate.
fn pages(root: &Path) -> Vec<PathBuf> {
    let below = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.collect::<Vec<PathBuf>>()
    };
    let crates = below(&root.join("crates"));
    let folders = [root.to_owned(), root.join("docs")].into_iter().chain(crates);
    let files = folders.flat_map(|folder| below(&folder));
    let pages: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|it| it == "md")).collect();
    assert!(pages.len() > 30, "{pages:?}");
    pages
}

/// A page without its blocks of code, in which brackets mean other things.
fn text(page: &Path) -> String {
    let (mut text, mut fence) = (String::new(), None::<String>);
    for line in fs::read_to_string(page).unwrap().lines() {
        let ticks: String = line.chars().take_while(|c| *c == '`').collect();
        match &fence {
            Some(open) if ticks.len() >= open.len() => fence = None,
            Some(_) => {}
            None if ticks.len() >= 3 => fence = Some(ticks),
            None => text += &format!("{line}\n"),
        }
    }
    text
}

/// Where a page's links lead that stay in the project.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let own = targets.filter(|target| !target.contains(':') && !target.contains(' '));
    own.map(str::to_owned).collect()
}

fn fault(page: &Path, link: &str, docs: &Path) -> Option<&'static str> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = if path.is_empty() { page.to_owned() } else { page.parent().unwrap().join(path) };
    let Ok(target) = target.canonicalize() else { return Some("is not there") };
    if page.starts_with(docs) && !target.starts_with(docs) {
        return Some("leads out of the book");
    }
    let is_found = heading.is_empty() || headings(&text(&target)).contains(heading);
    (!is_found).then_some("has no such heading")
}

/// The names that headings go by in addresses.
fn headings(text: &str) -> BTreeSet<String> {
    let titles = text.lines().filter_map(|line| Some(line.strip_prefix('#')?.trim_matches('#')));
    let name = |title: &str| -> String {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c.to_ascii_lowercase() }).collect()
    };
    titles.map(name).collect()
}

#[test]
fn a_link_that_leads_nowhere_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().canonicalize().unwrap().join("page.md");
    let source = "# One `two`-three\n\n[a](#one-two-three) [b](page.md#four) [c](gone.md) [d](https://e.example)\n\n\
                  ```text\n[e](nowhere)\n```\n";
    fs::write(&page, source).unwrap();
    let found: Vec<Option<&str>> =
        links(&text(&page)).iter().map(|link| fault(&page, link, Path::new("/docs"))).collect();
    assert_eq!(found, [None, Some("has no such heading"), Some("is not there")]);
}
