//! What an edit changed, for reading.

use std::ops::Range;

use super::places::Found;

/// The lines shown around a change.
const CONTEXT: usize = 3;

/// The most that is shown, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The most of one line that is shown, in characters.
const MAX_LINE: usize = 500;

/// How far the hunks have come.
#[derive(Default)]
struct At {
    offset: usize,
    /// The line ends before `offset`.
    ends: usize,
    /// By how many lines the text has grown before it.
    growth: isize,
}

/// Whole lines of the text, and what they become.
struct Block {
    old: Range<usize>,
    new: String,
}

/// The change as hunks of a unified difference.
///
/// The places are known, so nothing has to be compared: that would take longer than the edit, and might show another
/// change than the one that was made.
pub(super) fn unified(text: &str, places: &[Found]) -> String {
    let blocks = blocks(text, places);
    let (mut shown, mut left, mut at) = (String::new(), blocks.len(), At::default());
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

fn blocks(text: &str, places: &[Found]) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut end = 0;
    for place in places {
        match blocks.last_mut() {
            // Another place in the last line of the block before.
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

/// Takes lines off the block that did not change.
fn shrink(text: &str, block: &mut Block) {
    let old = &text[block.old.clone()];
    let same = |(one, two): &(&str, &str)| one == two;
    let pairs = old.split_inclusive('\n').zip(block.new.split_inclusive('\n'));
    let head: usize = pairs.take_while(same).map(|(line, _)| line.len()).sum();
    let (old, new) = (&old[head..], &block.new[head..]);
    let reversed = |text: &str| text.split_inclusive('\n').map(str::len).rev().collect::<Vec<_>>();
    let (mut tail, mut lengths) = (0, reversed(old).into_iter().zip(reversed(new)));
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

/// The hunk's lines with their signs, below the line that says where it is.
fn hunk_lines(text: &str, hunk: &[Block], so_far: &mut At) -> Vec<String> {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return Vec::new() };
    let start =
        (0..CONTEXT).fold(first.old.start, |at, _| start_of_line(text, at.saturating_sub(1)));
    let end = (0..CONTEXT).fold(last.old.end, |at, _| end_of_line(text, at));
    let mut lines = vec![String::new()];
    let mut at = start;
    for block in hunk {
        lines.extend(signed(' ', &text[at..block.old.start]));
        lines.extend(signed('-', &text[block.old.clone()]));
        lines.extend(signed('+', &block.new));
        at = block.old.end;
    }
    lines.extend(signed(' ', &text[at..end]));
    let n_of = |sign: [char; 2]| lines.iter().filter(|line| line.starts_with(sign)).count();
    let (n_old, n_new) = (n_of([' ', '-']), n_of([' ', '+']));
    so_far.ends += text[so_far.offset..start].matches('\n').count();
    so_far.offset = start;
    // A hunk without lines of one side is said to be after the line before it.
    let (old, new) = (so_far.ends + usize::from(n_old > 0), so_far.ends + usize::from(n_new > 0));
    lines[0] =
        format!("@@ -{old},{n_old} +{},{n_new} @@", new.saturating_add_signed(so_far.growth));
    let signed = |n: usize| isize::try_from(n).unwrap_or(isize::MAX);
    so_far.growth += signed(n_new) - signed(n_old);
    lines
}

fn signed(sign: char, text: &str) -> impl Iterator<Item = String> {
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

/// The end of the line that has `at` in it or begins there, after its line end.
fn end_of_line(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}
