//! Writer of blocks and lines, with or without the marks of Markdown.

mod marks;
mod tables;

pub(super) use self::marks::Mark;
use self::marks::{Open, mark_of};
use self::tables::Table;
use super::{LINES, Style};

/// A writer that receives text and tags in order.
pub(super) struct Writer {
    out: String,
    style: Style,
    most: usize,
    is_full: bool,
    /// The number of line ends to write before the next text.
    gap: usize,
    /// `true` if a space is to be written before the next text.
    space: bool,
    /// `true` if the line has only the mark of an item or a heading.
    fresh: bool,
    quotes: usize,
    /// The next number of each open list, or `None` for lists without numbers.
    lists: Vec<Option<u32>>,
    open: Vec<Open>,
    tables: Vec<Table>,
}

/// The largest depth of nested blocks that has an effect.
const DEEPEST: usize = 8;

impl Writer {
    pub(super) fn new(style: Style, most: usize) -> Self {
        let out = String::new();
        let lists = Vec::new();
        let open = Vec::new();
        let tables = Vec::new();
        let is_full = false;
        let gap = 0;
        let space = false;
        let fresh = false;
        let quotes = 0;
        Self { out, style, most, is_full, gap, space, fresh, quotes, lists, open, tables }
    }

    /// Returns the text, and `true` if there is more.
    pub(super) fn finish(mut self) -> (String, bool) {
        while let Some(open) = self.open.last() {
            let mark = open.mark.clone();
            self.close(&mark);
        }
        self.out.truncate(self.out.trim_end().len());
        (self.out, self.is_full)
    }

    pub(super) fn text(&mut self, text: &str) {
        if self.out.len() > self.most {
            self.is_full = true;
            return;
        }
        if self.is_preformatted() {
            return self.verbatim(text);
        }
        for (index, word) in text.split(char::is_whitespace).enumerate() {
            self.space |= index > 0;
            if self.out.len() > self.most {
                self.is_full = true;
                return;
            }
            if !word.is_empty() {
                self.put(word);
            }
        }
    }

    /// Writes text unchanged, line by line.
    fn verbatim(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if self.out.len() > self.most {
                self.is_full = true;
                return;
            }
            if index > 0 {
                let margin = self.margin(self.lists.len());
                self.out.push('\n');
                self.out.push_str(&margin);
            }
            if self.open.iter().any(|open| open.at.is_none()) {
                self.due();
            }
            self.out.push_str(line.trim_end_matches('\r'));
        }
    }

    fn put(&mut self, word: &str) {
        self.due();
        if self.in_cell() && self.style == Style::Markdown {
            self.out.push_str(&word.replace('|', "\\|"));
        } else {
            self.out.push_str(word);
        }
    }

    /// Writes the pending line ends or space before text, and records the start of open marks.
    fn due(&mut self) {
        if self.gap > 0 && !self.out.is_empty() {
            let margin = self.margin(self.lists.len());
            let between = self.margin(0);
            for _ in 1..self.gap {
                self.out.push('\n');
                self.out.push_str(between.trim_end());
            }
            self.out.push('\n');
            self.out.push_str(&margin);
        } else if self.out.is_empty() {
            self.out = self.margin(self.lists.len());
        } else if self.space && !self.fresh {
            self.out.push(' ');
        }
        (self.gap, self.space, self.fresh) = (0, false, false);
        let here = self.out.len();
        for open in &mut self.open {
            open.at.get_or_insert(here);
        }
    }

    /// Returns the prefix of lines in the outermost `lists`.
    fn margin(&self, lists: usize) -> String {
        if self.style == Style::Text {
            return "  ".repeat(lists.min(DEEPEST));
        }
        let width = |list: &Option<u32>| if list.is_some() { 3 } else { 2 };
        let indent: usize = self.lists.iter().take(lists.min(DEEPEST)).map(width).sum();
        "> ".repeat(self.quotes.min(DEEPEST)) + &" ".repeat(indent)
    }

    /// Requests line ends before the next text.
    fn block(&mut self, lines: usize) {
        if self.in_cell() {
            self.space = true;
        } else if !self.fresh {
            self.gap = self.gap.max(lines);
            self.space = false;
        }
    }

    fn in_cell(&self) -> bool {
        self.tables.iter().any(|table| table.in_cell)
    }

    fn is_preformatted(&self) -> bool {
        self.open.iter().any(|open| open.mark == Mark::Preformatted)
    }

    fn marks(&self) -> bool {
        self.style == Style::Markdown
    }

    pub(super) fn start(&mut self, name: &str) {
        if self.out.len() > self.most {
            self.is_full = true;
            return;
        }
        match name {
            "br" => self.line_end(),
            "hr" => self.rule(),
            "ul" | "menu" => self.list(None),
            "ol" => self.list(Some(1)),
            "li" => self.item(),
            "blockquote" => {
                self.block(2);
                self.quotes += 1;
            }
            "pre" | "xmp" => {
                self.block(2);
                self.open(Mark::Preformatted);
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.heading(name),
            "table" => {
                self.block(2);
                if self.tables.len() < DEEPEST {
                    self.tables.push(Table::default());
                }
            }
            "tr" => self.row(),
            "td" | "th" => self.cell(),
            "p" => self.block(2),
            _ if LINES.contains(&name) => self.block(1),
            _ => {
                if let Some(mark) = mark_of(name) {
                    self.open(mark);
                }
            }
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "ul" | "ol" | "menu" => {
                self.lists.pop();
                self.fresh = false;
                self.block(if self.lists.is_empty() { 2 } else { 1 });
            }
            "blockquote" => {
                self.block(2);
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" | "xmp" => self.close(&Mark::Preformatted),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "p" => {
                self.fresh = false;
                self.block(2);
            }
            "table" => {
                self.end_row();
                self.tables.pop();
                self.block(2);
            }
            "tr" => self.end_row(),
            "td" | "th" => self.end_cell(),
            _ if LINES.contains(&name) => self.block(1),
            _ => {
                if let Some(mark) = mark_of(name) {
                    self.close(&mark);
                }
            }
        }
    }

    fn line_end(&mut self) {
        if self.is_preformatted() {
            self.verbatim("\n");
        } else if self.in_cell() {
            self.space = true;
        } else {
            self.gap = (self.gap + 1).min(2);
        }
    }

    fn rule(&mut self) {
        self.block(2);
        if self.marks() && !self.in_cell() {
            self.put("---");
            self.block(2);
        }
    }

    fn list(&mut self, number: Option<u32>) {
        self.block(if self.lists.is_empty() { 2 } else { 1 });
        self.lists.push(number);
    }

    fn item(&mut self) {
        self.fresh = false;
        self.block(1);
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{}. ", *number - 1)
            }
            _ => "- ".to_owned(),
        };
        if self.in_cell() {
            return;
        }
        let inner = self.lists.pop();
        self.due();
        self.lists.extend(inner);
        self.out.push_str(&marker);
        self.fresh = true;
    }

    fn heading(&mut self, name: &str) {
        self.fresh = false;
        self.block(2);
        if self.marks() && !self.in_cell() {
            let level = name.bytes().last().map_or(1, |digit| usize::from(digit - b'0'));
            self.due();
            self.out.push_str(&"#".repeat(level));
            self.out.push(' ');
            self.fresh = true;
        }
    }

    pub(super) fn image(&mut self, alt: &str, source: Option<&str>) {
        match source.filter(|_| self.marks()) {
            Some(source) => {
                let alt = alt.split_whitespace().collect::<Vec<_>>().join(" ");
                self.text(&format!("![{}]({source})", alt.replace(['[', ']'], "")));
            }
            None => self.text(alt),
        }
    }
}
