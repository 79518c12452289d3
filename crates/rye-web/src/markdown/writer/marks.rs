//! Marks around text, such as `**`. They are written once the end of the text is known.

use super::{DEEPEST, Writer};

/// A mark around text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) enum Mark {
    Code,
    Emphasis,
    Link(Option<String>),
    Preformatted,
    Strong,
}

impl Mark {
    /// Returns `true` if the end tag of one mark ends the other.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// An open mark.
pub(super) struct Open {
    pub(super) mark: Mark,
    /// The start of its text, once there is some.
    pub(super) at: Option<usize>,
}

impl Writer {
    pub(in super::super) fn open(&mut self, mark: Mark) {
        if self.open.len() < 2 * DEEPEST {
            self.open.push(Open { mark, at: None });
        }
    }

    /// Ends the innermost mark of this kind, and the marks inside of it before.
    pub(in super::super) fn close(&mut self, mark: &Mark) {
        if !self.open.iter().any(|open| open.mark.is_like(mark)) {
            return;
        }
        while let Some(open) = self.open.pop() {
            let is_it = open.mark.is_like(mark);
            self.wrap(&open);
            if is_it {
                break;
            }
        }
    }

    fn wrap(&mut self, open: &Open) {
        let pre = open.mark == Mark::Preformatted;
        if let Some(at) = open.at.filter(|_| self.marks() && (pre || !self.is_preformatted())) {
            let text = self.out.split_off(at.min(self.out.len()));
            let wrapped = self.wrap_text(&open.mark, &text);
            self.out.push_str(&wrapped);
        }
        if pre {
            self.out.truncate(self.out.trim_end().len());
            self.block(2);
        }
    }

    fn wrap_text(&self, mark: &Mark, text: &str) -> String {
        let inner = text.trim_end();
        let one_line = !inner.contains('\n');
        match mark {
            _ if inner.is_empty() => String::new(),
            Mark::Preformatted => {
                let fence = fence(inner, 3);
                let margin = self.margin(self.lists.len());
                format!("{fence}\n{margin}{inner}\n{margin}{fence}")
            }
            Mark::Code if one_line => {
                let fence = fence(inner, 1);
                let pad = if inner.starts_with('`') || inner.ends_with('`') { " " } else { "" };
                format!("{fence}{pad}{inner}{pad}{fence}")
            }
            Mark::Emphasis if one_line => format!("*{inner}*"),
            Mark::Strong if one_line => format!("**{inner}**"),
            Mark::Link(Some(to)) if one_line => format!("[{inner}]({to})"),
            _ => text.to_owned(),
        }
    }
}

/// Returns a fence with more backticks than any sequence in the text.
fn fence(text: &str, least: usize) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(least.max(if longest == 0 { 0 } else { longest + 1 }))
}

pub(super) fn mark_of(name: &str) -> Option<Mark> {
    match name {
        "code" | "kbd" | "samp" | "tt" => Some(Mark::Code),
        "em" | "i" => Some(Mark::Emphasis),
        "strong" | "b" => Some(Mark::Strong),
        _ => None,
    }
}
