//! Items in columns.

use rye::resolve::{Item, Summary};
use rye::sign::Provenance;
use unicode_width::UnicodeWidthStr as _;

/// Returns the rows as lines, with columns as wide as a terminal shows their texts.
pub(crate) fn align<const N: usize>(rows: &[[String; N]]) -> impl Iterator<Item = String> {
    let width = |column: usize| {
        let texts = rows.iter().filter_map(|row| row.get(column));
        texts.map(|text| text.width()).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    rows.iter().map(move |row| {
        let pad = |text: &str, width: usize| " ".repeat(width.saturating_sub(text.width()));
        let cells = row.iter().zip(widths).map(|(text, width)| text.clone() + &pad(text, width));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    })
}

/// Returns the title of the item for one line, or else the first line of its description. Unsigned items have
/// a mark.
pub(crate) fn title_of<T>(summary: &Summary, item: &Item<T>) -> String {
    let description = summary.description.as_deref().and_then(|text| text.trim().lines().next());
    let text = summary.title.as_deref().or(description).unwrap_or_default();
    let text: String = text.chars().map(plain).collect();
    let mark = if is_signed(item) { "" } else { "(unsigned)" };
    format!("{text} {mark}").trim().to_owned()
}

/// Returns `true` if the item is signed or part of the program.
pub(crate) fn is_signed<T>(item: &Item<T>) -> bool {
    *item.content.provenance() != Provenance::Unsigned
}

fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}
