//! Tables with one row per line.

use super::{Style, Writer};

#[derive(Default)]
pub(super) struct Table {
    rows: usize,
    cells: usize,
    in_row: bool,
    pub(super) in_cell: bool,
}

impl Writer {
    pub(super) fn row(&mut self) {
        self.end_row();
        let nested = self.in_cell();
        if let Some(table) = self.tables.last_mut().filter(|_| !nested) {
            (table.in_row, table.cells) = (true, 0);
            self.fresh = false;
            self.block(1);
            if self.marks() {
                self.put("|");
            }
        }
    }

    pub(super) fn cell(&mut self) {
        self.end_cell();
        self.block(1);
        if self.in_cell() {
            return;
        }
        if let Some(table) = self.tables.last_mut().filter(|table| table.in_row) {
            table.in_cell = true;
            table.cells += 1;
            if self.style == Style::Markdown || table.cells > 1 {
                (self.gap, self.space) = (0, true);
            }
        }
    }

    /// Ends the open cell of the innermost table. The start of the next cell does the same.
    pub(super) fn end_cell(&mut self) {
        let Some(table) = self.tables.last_mut().filter(|table| table.in_cell) else { return };
        table.in_cell = false;
        (self.gap, self.space) = (0, true);
        if self.style == Style::Markdown && !self.in_cell() {
            self.put("|");
        }
    }

    pub(super) fn end_row(&mut self) {
        self.end_cell();
        let nested = self.in_cell();
        let Some(table) = self.tables.last_mut().filter(|table| table.in_row && !nested) else {
            return;
        };
        table.in_row = false;
        table.rows += 1;
        if table.rows == 1 && self.style == Style::Markdown {
            let cells = table.cells.clamp(1, 100);
            self.gap = 1;
            self.put(&format!("|{}", " --- |".repeat(cells)));
        }
        (self.gap, self.space) = (1, false);
    }
}
