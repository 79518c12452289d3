//! Text in columns.

use unicode_width::UnicodeWidthStr as _;

/// Returns the rows as lines, with columns as wide as a terminal shows their texts. A column without text is left out.
///
/// The last cell of a row pads nothing, so it widens nothing.
pub(crate) fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let n_columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let has_text = |column: &usize| {
        rows.iter().any(|row| row.get(*column).is_some_and(|cell| !cell.is_empty()))
    };
    let shown: Vec<usize> = (0..n_columns).filter(has_text).collect();
    let width = |column: usize| {
        let cells =
            rows.iter().filter(|row| row.len() > column + 1).filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..n_columns).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = shown.iter().filter_map(|column| Some((row.get(*column)?, widths[*column])));
        let cells: Vec<String> = cells.map(|(cell, width)| pad(cell, width)).collect();
        cells.join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

fn pad(cell: &str, width: usize) -> String {
    format!("{cell}{}", " ".repeat(width.saturating_sub(cell.width())))
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_as_wide_as_a_terminal_shows_them() {
        let rows = [
            vec!["日本".to_owned(), String::new(), "a".to_owned()],
            vec!["e\u{301}t".to_owned(), String::new(), "b".to_owned()],
            vec!["a long cell at the end".to_owned()],
        ];
        let lines = columns(&rows);
        assert_eq!(lines, ["日本  a", "e\u{301}t    b", "a long cell at the end"]);
    }
}
