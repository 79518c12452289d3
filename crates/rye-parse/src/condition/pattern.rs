//! The regular expressions of conditions, with bounds on what it takes to compile them.

use regex::{Regex, RegexBuilder};
use regex_syntax::ast::{self, Ast, ClassSetItem, Flag};

/// The longest pattern, in bytes.
const LONGEST: usize = 1024;

/// The most patterns that the conditions of one file may have.
const MOST: usize = 100;

/// The most memory that a compiled pattern may take, in bytes.
const MEMORY: usize = 1024 * 1024;

/// The widest range of characters in a pattern that ignores case. The library looks up the other case of each
/// character of a range.
const WIDEST: u32 = 1024;

/// The most classes such as `\w` in brackets in a pattern that ignores case, for the same reason.
const MOST_CLASSES: usize = 16;

/// The patterns that the conditions of a file may still have.
#[derive(Debug)]
pub(crate) struct PatternBudget {
    left: usize,
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self { left: MOST }
    }
}

impl PatternBudget {
    /// Counts a pattern and compiles it. The error says why it is refused.
    pub(crate) fn admit(&mut self, text: &str) -> Result<(), String> {
        let Some(left) = self.left.checked_sub(1) else {
            return Err(format!("the conditions of a file have at most {MOST} patterns"));
        };
        self.left = left;
        compile(text).map(drop)
    }
}

/// Compiles a pattern with limits on its length, its time and its memory. Matching takes time linear in the text.
pub(super) fn compile(text: &str) -> Result<Regex, String> {
    if LONGEST < text.len() {
        return Err(format!("at most {LONGEST} bytes are read"));
    }
    let parsed = ast::parse::ParserBuilder::new().nest_limit(32).build().parse(text);
    if parsed.is_ok_and(|pattern| is_costly(&pattern)) {
        return Err(format!(
            "a pattern that ignores case may not have `\\p{{…}}`, a range of more than {WIDEST} characters, \
             a negated class in brackets, or more than {MOST_CLASSES} classes such as `\\w` in brackets"
        ));
    }
    let mut builder = RegexBuilder::new(text);
    builder.size_limit(MEMORY).dfa_size_limit(MEMORY).nest_limit(32);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "it takes too much memory".to_owned(),
        error => {
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        }
    })
}

/// Returns `true` if the pattern ignores case anywhere and has a wide class or many classes anywhere.
fn is_costly(pattern: &Ast) -> bool {
    match ast::visit(pattern, Finder::default()) {
        Ok(found) => found.ignores_case && (found.has_wide_class || found.classes > MOST_CLASSES),
        Err(never) => match never {},
    }
}

#[derive(Debug, Default)]
struct Finder {
    ignores_case: bool,
    has_wide_class: bool,
    /// The classes such as `\w` in brackets. Outside of brackets, the library does not look up their other case.
    classes: usize,
}

impl ast::Visitor for Finder {
    type Output = Self;
    type Err = std::convert::Infallible;

    fn finish(self) -> Result<Self, Self::Err> {
        Ok(self)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), Self::Err> {
        let flags = match part {
            Ast::Flags(set) => Some(&set.flags),
            Ast::Group(group) => group.flags(),
            Ast::ClassUnicode(_) => {
                self.has_wide_class = true;
                None
            }
            _ => None,
        };
        self.ignores_case |=
            flags.is_some_and(|flags| flags.flag_state(Flag::CaseInsensitive) == Some(true));
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Self::Err> {
        self.has_wide_class |= match item {
            ClassSetItem::Range(range) => {
                u32::from(range.end.c).saturating_sub(u32::from(range.start.c)) > WIDEST
            }
            ClassSetItem::Unicode(_) => true,
            // A negated class has nearly all characters.
            ClassSetItem::Ascii(class) => class.negated,
            ClassSetItem::Bracketed(class) => class.negated,
            ClassSetItem::Perl(class) => {
                self.classes += 1;
                class.negated
            }
            _ => false,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, refused: Option<&str>) {
        let error = compile(pattern).err();
        let is_expected = match (&error, refused) {
            (None, None) => true,
            (Some(error), Some(part)) => error.contains(part),
            _ => false,
        };
        assert!(is_expected, "{pattern}: {error:?}");
    }

    #[test]
    fn a_pattern_takes_little_to_compile() {
        const WIDE: &str = "ignores case";
        check("(?i)timeout|rate.?limit", None);
        check(r"(?i)[a-z\u{c0}-\u{17f}]\w+", None);
        check(r"[ -\u{10ffff}]\pL", None);
        check(&format!("(?i){}", r"[ -\u{10ffff}]".repeat(60)), Some(WIDE));
        check(r"[ -\u{10ffff}](?i:a)", Some(WIDE));
        check(r"(?i)\pL", Some(WIDE));
        check(r"(?im-s)[^\pL]", Some(WIDE));
        check(r"(?-i)\pL", None);
        check(r"(?i)[\w.-]+@[^\s,]+\W\D\S[^a]", None);
        check(r"[\D][[^a]b][[:^alpha:]b]", None);
        for wide in
            [r"[\D]", r"[\Wa]", r"[\S&&a]", "[[^a]b]", "[^[^a]b]", "[[:^alpha:]b]", "[a--[^b]]"]
        {
            check(&format!("(?i){wide}"), Some(WIDE));
        }
        check(&format!("(?i){}", r"[\w]".repeat(MOST_CLASSES)), None);
        check(&format!("(?i){}", r"[\w]".repeat(MOST_CLASSES + 1)), Some(WIDE));
        check(r"\pL{99}{99}", Some("memory"));
        check(&"a".repeat(1025), Some("1024 bytes"));
        check("(", Some("unclosed group"));
    }

    #[test]
    fn a_file_has_so_many_patterns() {
        let mut budget = PatternBudget::default();
        assert!((0..MOST).all(|_| budget.admit("a").is_ok()));
        assert!(budget.admit("a").unwrap_err().contains("at most 100 patterns"));
    }
}
