//! The preview: the line of an item that shows best why it was found.

use super::{
    content::Content,
    matches::{Match, Occurrences, of_word},
    query::Atom,
    words::each_word,
};

/// One line of an item's text.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The line without white space around it, at most 160 characters, none of which controls a terminal. A
    /// longer line is cut around the first match, with `…` where it was cut.
    pub text: String,
    /// The number of the line in the file, counted from 1, or `None` if the file does not have the line in
    /// this form.
    pub line: Option<usize>,
}

/// Returns the line of the body that matches most of the query; a phrase counts more than single words.
///
/// Without a match it is the first line of the description, or of the body if there is no description.
pub(crate) fn preview(
    content: &Content,
    source: &str,
    atoms: &[Atom],
    misspelt: &[bool],
) -> Preview {
    let mut best: Option<((usize, usize), usize, &str)> = None;
    let mut start = 0;
    for line in content.body.split_inclusive('\n') {
        let had = had_by(line, atoms, misspelt);
        if had > best.map_or((0, 0), |(had, ..)| had) {
            best = Some((had, start, line));
        }
        start += line.len();
    }
    if let Some((_, start, line)) = best {
        let number = content.body_start.map(|body| line_number(source, body + start));
        return Preview { text: cut(line, first_place(line, atoms, misspelt)), line: number };
    }
    let description = content.description.as_deref().filter(|text| !text.trim().is_empty());
    let text = description.unwrap_or(&content.body).trim();
    let line = text.lines().next().unwrap_or_default();
    Preview { text: cut(line, first_place(line, atoms, misspelt)), line: None }
}

/// Returns how many words and phrases of the query `line` has, and how many distinct words of them.
fn had_by(line: &str, atoms: &[Atom], misspelt: &[bool]) -> (usize, usize) {
    let mut slots = Vec::new();
    let mut matches = Vec::new();
    let mut occurrences = Occurrences::default();
    let mut position = 0;
    each_word(line, |word, _| {
        of_word(word, atoms, misspelt, &mut matches);
        slots.extend(matches.iter().map(|Match { atom, slot, .. }| (*atom, *slot)));
        occurrences.push(position, &matches);
        position += 1;
    });
    slots.sort_unstable();
    slots.dedup();
    let mut found = vec![0.0; atoms.len()];
    occurrences.add_to(&mut found, atoms);
    (found.iter().filter(|found| **found > 0.0).count(), slots.len())
}

/// Returns the offset of the first match in `line`, or 0 without a match.
fn first_place(line: &str, atoms: &[Atom], misspelt: &[bool]) -> usize {
    let mut first = None;
    let mut matches = Vec::new();
    each_word(line, |word, place| {
        of_word(word, atoms, misspelt, &mut matches);
        if !matches.is_empty() {
            first = first.or(Some(place.start));
        }
    });
    first.unwrap_or(0)
}

/// Returns at most [`LONGEST`] characters of `line`, among them the one at the byte `place`.
fn cut(line: &str, place: usize) -> String {
    let trimmed = line.trim_start();
    let place = place.saturating_sub(line.len() - trimmed.len());
    let chars: Vec<char> = trimmed.trim_end().chars().map(plain).collect();
    if chars.len() <= LONGEST {
        return chars.into_iter().collect();
    }
    let wanted = trimmed.get(..place).map_or(0, |before| before.chars().count());
    let start = if wanted < LONGEST / 2 { 0 } else { wanted.saturating_sub(LEAD) };
    let room = LONGEST - usize::from(start > 0);
    let is_cut = chars.len() - start > room;
    let lead = (start > 0).then_some('…');
    let kept = chars.into_iter().skip(start).take(room - usize::from(is_cut));
    lead.into_iter().chain(kept).chain(is_cut.then_some('…')).collect()
}

/// Replaces `c` by a space if it could move the cursor or change the direction of writing.
fn plain(c: char) -> char {
    let turns =
        matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if c.is_control() || turns { ' ' } else { c }
}

fn line_number(source: &str, offset: usize) -> usize {
    rye_parse::position(source, offset).line
}

const LONGEST: usize = 160;

/// The number of characters shown before the first match of a long line.
const LEAD: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SearchQuery;

    const SOURCE: &str = "head\n\nFirst line.\n  Deploy the api.\nDeploy the api to staging.\n";

    #[track_caller]
    fn check(query: &str, text: &str, line: Option<usize>) {
        let content = Content {
            description: Some("What it is.\nAnd more.".to_owned()),
            body: SOURCE[6..].to_owned(),
            body_start: Some(6),
            ..Content::default()
        };
        let query: SearchQuery = query.parse().unwrap();
        let misspelt = vec![false; query.atoms().len()];
        let preview = preview(&content, SOURCE, query.atoms(), &misspelt);
        assert_eq!(preview, Preview { text: text.to_owned(), line });
    }

    #[test]
    fn the_first_line_with_most_words() {
        check("deploy api", "Deploy the api.", Some(4));
        check("deploy staging", "Deploy the api to staging.", Some(5));
        check("first", "First line.", Some(3));
    }

    #[test]
    fn a_phrase_before_its_words_apart() {
        check("\"api to\"", "Deploy the api to staging.", Some(5));
        check("\"the api\"", "Deploy the api.", Some(4));
        check("\"api deploy\"", "Deploy the api.", Some(4));
    }

    #[test]
    fn the_description_when_the_body_has_nothing() {
        check("nothing", "What it is.", None);
    }

    #[track_caller]
    fn cuts(line: &str, word: &str, expected: &str) {
        let query: SearchQuery = word.parse().unwrap();
        let text = cut(line, first_place(line, query.atoms(), &[false]));
        assert_eq!(text, expected);
        assert!(text.chars().count() <= LONGEST);
    }

    #[test]
    fn a_long_line_is_cut_around_the_word() {
        let before = "a ".repeat(100);
        let after = " z".repeat(100);
        let line = format!("  {before}needle{after}");
        let expected = format!("…{}needle{}…", "a ".repeat(20), &" z".repeat(100)[..112]);
        cuts(&line, "needle", &expected);
        let expected = format!("needle{}…", &" z".repeat(100)[..153]);
        cuts(&format!("needle{after}"), "needle", &expected);
        let expected = format!("…{}needle", "a ".repeat(20));
        cuts(&format!("{before}needle"), "needle", &expected);
    }

    #[test]
    fn nothing_reaches_the_terminal_that_controls_it() {
        cuts("a\u{1b}[31m\u{202e}b\tc\r\n", "b", "a [31m b c");
    }
}
