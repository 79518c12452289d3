//! The changes of an edit as a diff.

use std::ops::Range;

use super::places::Replacement;

/// The number of lines shown around a change.
const CONTEXT: usize = 3;

/// The size of the longest diff, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The length of the longest line, in characters. Longer lines are cut.
const MAX_LINE: usize = 500;

/// The position of the last hunk.
#[derive(Default)]
struct At {
    offset: usize,
    /// The number of line ends before `offset`.
    ends: usize,
    /// The number of lines that the text has gained before it.
    growth: isize,
}

/// Whole lines of the text, and their new text.
struct Block {
    old: Range<usize>,
    new: String,
}

/// Returns the change as hunks of a unified diff.
///
/// It is made from the known places and not by a comparison, which would take longer than the edit and might
/// show another change than the actual one.
pub(super) fn unified_diff(text: &str, places: &[Replacement]) -> String {
    let blocks = blocks(text, places);
    let mut shown = String::new();
    let mut left = blocks.len();
    let mut at = At::default();
    for hunk in blocks.chunk_by(|one, two| are_near(text, one, two)) {
        let lines = hunk_lines(text, hunk, &mut at);
        if !shown.is_empty()
            && shown.len() + lines.iter().map(String::len).sum::<usize>() > MAX_BYTES
        {
            break;
        }
        left -= hunk.len();
        push(&mut shown, &lines);
    }
    if left > 0 {
        shown.push_str(&format!("… and {left} more changed places, not shown\n"));
    }
    shown
}

fn push(shown: &mut String, lines: &[String]) {
    for (index, line) in lines.iter().enumerate() {
        if shown.len() + line.len() > MAX_BYTES {
            shown.push_str(&format!("… and {} more lines of it, not shown\n", lines.len() - index));
            return;
        }
        shown.push_str(line);
        shown.push('\n');
    }
}

fn blocks(text: &str, places: &[Replacement]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = 0;
    for place in places {
        match blocks.last_mut() {
            // The place is in the last line of the previous block.
            Some(last) if place.range.start < last.old.end => {
                last.new.push_str(&text[end..place.range.start]);
                last.new.push_str(&place.new);
            }
            last => {
                last.into_iter().for_each(|last| last.new.push_str(&text[end..last.old.end]));
                let line = start_of_line(text, place.range.start);
                let new = text[line..place.range.start].to_owned() + &place.new;
                blocks.push(Block { old: line..line, new });
            }
        }
        end = place.range.end;
        let last = blocks.last_mut().expect("because one was just pushed or changed");
        if last.old.end <= end {
            last.old.end = end_of_line(text, end);
        }
    }
    blocks.last_mut().into_iter().for_each(|last| last.new.push_str(&text[end..last.old.end]));
    blocks.iter_mut().for_each(|block| shrink(text, block));
    blocks
}

/// Removes unchanged lines from both ends of the block.
fn shrink(text: &str, block: &mut Block) {
    let old = &text[block.old.clone()];
    let same = |(one, two): &(&str, &str)| one == two;
    let pairs = old.split_inclusive('\n').zip(block.new.split_inclusive('\n'));
    let head: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    let old = &old[head..];
    let new = &block.new[head..];
    let reversed = |text: &str| text.split_inclusive('\n').map(str::len).rev().collect::<Vec<_>>();
    let mut tail = 0;
    let mut lengths = reversed(old).into_iter().zip(reversed(new));
    while let Some((one, two)) = lengths.next()
        && one == two
        && old[old.len() - tail - one..] == new[new.len() - tail - two..]
    {
        tail += one;
    }
    let new = new[..new.len() - tail].to_owned();
    *block = Block { old: block.old.start + head..block.old.end - tail, new };
}

fn are_near(text: &str, one: &Block, two: &Block) -> bool {
    text.get(one.old.end..two.old.start)
        .is_some_and(|gap| gap.split_inclusive('\n').take(2 * CONTEXT + 1).count() <= 2 * CONTEXT)
}

/// Returns the lines of a hunk with their signs, after its header line.
fn hunk_lines(text: &str, hunk: &[Block], so_far: &mut At) -> Vec<String> {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return Vec::new() };
    let start =
        (0..CONTEXT).fold(first.old.start, |at, _| start_of_line(text, at.saturating_sub(1)));
    let end = (0..CONTEXT).fold(last.old.end, |at, _| end_of_line(text, at));
    let mut lines = vec![String::new()];
    let mut at = start;
    for block in hunk {
        lines.extend(sign_lines(' ', &text[at..block.old.start]));
        lines.extend(sign_lines('-', &text[block.old.clone()]));
        lines.extend(sign_lines('+', &block.new));
        at = block.old.end;
    }
    lines.extend(sign_lines(' ', &text[at..end]));
    let n_of = |sign: [char; 2]| lines.iter().filter(|line| line.starts_with(sign)).count();
    let n_old = n_of([' ', '-']);
    let n_new = n_of([' ', '+']);
    so_far.ends += text[so_far.offset..start].matches('\n').count();
    so_far.offset = start;
    // If one side of a hunk has no lines, its position is the line before it.
    let old = so_far.ends + usize::from(n_old > 0);
    let new = so_far.ends + usize::from(n_new > 0);
    lines[0] =
        format!("@@ -{old},{n_old} +{},{n_new} @@", new.saturating_add_signed(so_far.growth));
    let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX);
    so_far.growth += signed(n_new) - signed(n_old);
    lines
}

fn sign_lines(sign: char, text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive('\n').map(move |line| {
        let (body, end) = match line.strip_suffix('\n') {
            Some(body) => (body.strip_suffix('\r').unwrap_or(body), ""),
            None => (line, "\n\\ No newline at end of file"),
        };
        let mut shown: String = body.chars().take(MAX_LINE).collect();
        if shown.len() < body.len() {
            shown.push('…');
        }
        format!("{sign}{shown}{end}")
    })
}

fn start_of_line(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the end of the line that contains `at` or begins there, including its line end.
fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}
