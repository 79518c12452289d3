//! Ids and names of drafts, made of names that people gave.

use rye_resolve::ItemId;

/// Returns a segment of an id: the name with a `-` for each run of characters that no id has (SPEC 1.3).
pub(crate) fn segment(name: &str) -> String {
    let mut segment = String::new();
    for letter in name.trim().chars() {
        match letter {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '.' => segment.push(letter),
            _ if segment.ends_with('-') => {}
            _ => segment.push('-'),
        }
    }
    let segment = segment.trim_matches(['-', '.']);
    let short: String = segment.chars().take(LONGEST).collect();
    match short.trim_end_matches(['-', '.']) {
        "" => "unnamed".to_owned(),
        segment => segment.to_owned(),
    }
}

/// The length of a segment, so that folders and a hundred of them fit into an id.
const LONGEST: usize = 64;

/// Returns the id of a name in a folder, which may be of several segments.
pub(crate) fn id(folder: &str, name: &str) -> ItemId {
    let name = segment(name);
    let id = if folder.is_empty() { name } else { format!("{folder}/{name}") };
    id.parse().unwrap_or_else(|_| {
        let last: String = id.rsplit('/').next().unwrap_or_default().to_owned();
        last.parse().expect("because a segment is an id")
    })
}

/// Returns the name of an input: the text with `_` for all that no name has.
pub(crate) fn input(name: &str) -> String {
    let name: String =
        name.trim().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match name.chars().next() {
        None => "input".to_owned(),
        Some(first) if first.is_ascii_digit() => format!("arg{name}"),
        Some(_) => name,
    }
}

/// Returns a title: the name with spaces, beginning with a capital.
pub(crate) fn title(name: &str) -> String {
    let words = name.replace(['_', '-', '.'], " ");
    let mut letters = words.trim().chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}", letters.as_str())
}

/// Returns the name of a file without its folders and without the `extensions`, the first one that fits.
pub(crate) fn stem<'a>(path: &'a str, extensions: &[&str]) -> &'a str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = extensions.iter().find_map(|extension| name.strip_suffix(extension));
    stem.filter(|stem| !stem.is_empty())
        .unwrap_or_else(|| name.rsplit_once('.').map_or(name, |(stem, _)| stem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_becomes_a_segment() {
        for (name, expected) in [
            ("pdf", "pdf"),
            ("PDF tools", "PDF-tools"),
            ("überblick", "berblick"),
            ("../../etc", "etc"),
            ("a//b", "a-b"),
            (".hidden", "hidden"),
            ("-x-", "x"),
            ("", "unnamed"),
            ("日本", "unnamed"),
            ("v1.2.", "v1.2"),
        ] {
            assert_eq!(segment(name), expected, "{name}");
            assert!(id("skills", name).as_str().parse::<ItemId>().is_ok(), "{name}");
        }
        let long = "a".repeat(300);
        assert!(segment(&long).len() <= LONGEST);
        assert_eq!(id(&vec!["b".repeat(60); 5].join("/"), "c").as_str(), "c");
    }

    #[test]
    fn any_name_becomes_an_input() {
        for (name, expected) in
            [("topic", "topic"), ("1", "arg1"), ("a-b.c", "a_b_c"), ("", "input")]
        {
            assert_eq!(input(name), expected, "{name}");
        }
    }

    #[test]
    fn a_stem_has_no_extension() {
        assert_eq!(stem("a/b/review.prompt.md", &[".prompt.md", ".md"]), "review");
        assert_eq!(stem("a/.md", &[".md"]), "");
        assert_eq!(stem("Makefile", &[]), "Makefile");
    }
}
