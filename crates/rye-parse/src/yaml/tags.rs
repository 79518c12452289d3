//! Detection of tags that the parser would ignore.
//!
//! The parser understands `!!str` and similar tags, and ignores every other `!!name`, so that a text would lose a part
//! of its meaning. Only a parser can distinguish tags from text, comments and quotes. Each ignored name is therefore
//! replaced by a name of the same length that the parser does not ignore, and the result is parsed.

/// The names after `!!` that the parser understands.
const KNOWN: [&str; 7] = ["bool", "float", "int", "map", "null", "seq", "str"];

/// Returns a text of the same length in which the parser ignores no tag; `None` if nothing looks like such a tag.
pub(super) fn reveal_tags(text: &str) -> Option<String> {
    let mut shown = text.to_owned();
    in_full(text).into_iter().for_each(|at| shown.replace_range(at..=at, "!"));
    let mut from = 0;
    while let Some(at) = shown.get(from..).and_then(|rest| rest.find("!!")).map(|at| from + at) {
        from = at + 2;
        if !KNOWN.contains(&name(&shown, from)) {
            shown.replace_range(at + 1..from, "_");
        }
    }
    (shown != text).then_some(shown)
}

/// Returns the starts of names that are written in full: in `!<name>` and at the end of `%TAG !sign! name`. The parser
/// does not ignore a name that starts with `!`.
fn in_full(text: &str) -> Vec<usize> {
    let verbatim = text.match_indices("!<").map(|(at, _)| at + 2);
    let lines = text.split_inclusive('\n').scan(0, |start, line| {
        *start += line.len();
        Some((*start - line.len(), line.trim_end()))
    });
    let declared = lines
        .filter(|(_, line)| line.starts_with("%TAG"))
        .filter_map(|(start, line)| Some(start + line.rfind([' ', '\t'])? + 1));
    let begins = |at: &usize| text.as_bytes().get(*at).copied().is_some_and(begins_a_name);
    verbatim.chain(declared).filter(begins).collect()
}

/// Returns `true` if a name can begin with the byte, and no surrounding text ends with it: a quotation mark may follow
/// `!<`.
fn begins_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_;/?@&=+$.%!~*()".contains(&byte)
}

/// Returns the name at `from`, up to white space or a sign of a list or a mapping.
fn name(text: &str, from: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let ends = |char: char| char.is_whitespace() || ",[]{}".contains(char);
    rest.split(ends).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_mean_nothing_are_written_anew() {
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(reveal_tags(text).as_deref(), expected, "{text}");
        };
        check("a: !!str 1\nb: [!!int 2, !!seq [], !!map {}]", None);
        check("a: !x 1", None);
        check("a: !!other 1", Some("a: !_other 1"));
        check("a: !!strange 1", Some("a: !_strange 1"));
        check("a: !!", Some("a: !_"));
        check("a: !!!x", Some("a: !_!x"));
        check("a: !<tag:yaml.org,2002:str> 1", Some("a: !<!ag:yaml.org,2002:str> 1"));
        check("%TAG !e! tag:x:\n---\na: !e!y 1", Some("%TAG !e! !ag:x:\n---\na: !e!y 1"));
        check("%TAG !e! ü\n--- !<", None);
        for text in ["a: \"!<\"", "a: '!<'", "a: \"!<\\\"\"", "a: [!<, b]", "a!<: b", "a: {b!<}"] {
            check(text, None);
        }
        check("a: \"\n%TAG x \"", None);
        check("a: !<-x> 1", Some("a: !<!x> 1"));
    }
}
