//! Capability strings put into the order of a `<permissions>` element.

use rye_caps::Pattern;
use rye_parse::nearest_name;

const PRIMARIES: [&str; 5] = ["execute", "search", "load", "fetch", "sign"];
const KINDS: [&str; 3] = ["tool", "directive", "knowledge"];

/// A `<permissions>` element, made from capability strings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Permissions {
    granted: Vec<Granted>,
}

/// The grant of one capability string.
#[derive(Debug, PartialEq, Eq)]
enum Granted {
    Everything,
    /// All of an operation.
    Operation(&'static str),
    Items(&'static str, &'static str, String),
}

impl Permissions {
    /// Reads capability strings between commas or line ends, such as `rye.execute.tool.rye.file-system.*`.
    ///
    /// A string without an operation, such as `rye.file-system.*`, names tools to execute.
    ///
    /// # Errors
    ///
    /// Every string that is no pattern or names no kind of item.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<String>> {
        let mut granted = Vec::new();
        let mut problems = Vec::new();
        let strings = text.split([',', '\n']).map(str::trim).filter(|text| !text.is_empty());
        for string in strings {
            match read_one(string) {
                Ok(one) if granted.contains(&one) => {}
                Ok(one) => granted.push(one),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self { granted }) } else { Err(problems) }
    }

    /// The element, each line behind `indent`.
    pub(crate) fn element(&self, indent: &str) -> String {
        if self.granted.is_empty() {
            return format!("{indent}<permissions></permissions>");
        }
        if self.granted.contains(&Granted::Everything) {
            return format!("{indent}<permissions>*</permissions>");
        }
        let blocks = PRIMARIES.into_iter().filter_map(|primary| self.block(primary, indent));
        let blocks: String = blocks.collect();
        format!("{indent}<permissions>\n{blocks}{indent}</permissions>")
    }

    fn block(&self, primary: &str, indent: &str) -> Option<String> {
        if self.granted.iter().any(|it| matches!(it, Granted::Operation(all) if *all == primary)) {
            return Some(format!("{indent}  <{primary}>*</{primary}>\n"));
        }
        let lines = KINDS.into_iter().flat_map(|kind| self.patterns(primary, kind));
        let lines: String = lines.map(|line| format!("{indent}    {line}\n")).collect();
        (!lines.is_empty())
            .then(|| format!("{indent}  <{primary}>\n{lines}{indent}  </{primary}>\n"))
    }

    fn patterns(&self, primary: &str, kind: &str) -> Vec<String> {
        let element = |granted: &Granted| match granted {
            Granted::Items(of, item, pattern) if *of == primary && *item == kind => {
                Some(format!("<{kind}>{pattern}</{kind}>"))
            }
            _ => None,
        };
        self.granted.iter().filter_map(element).collect()
    }
}

fn read_one(string: &str) -> Result<Granted, String> {
    if let Err(error) = string.parse::<Pattern>() {
        return Err(format!("`{string}` is no capability pattern: {error}"));
    }
    if matches!(string, "*" | "rye.*") {
        return Ok(Granted::Everything);
    }
    let Some((first, rest)) = string.strip_prefix("rye.").map(split) else {
        return Ok(Granted::Items("execute", "tool", string.to_owned()));
    };
    let Some(primary) = PRIMARIES.into_iter().find(|known| *known == first) else {
        return match nearest_name(first, PRIMARIES) {
            Some(near) => Err(format!(
                "`{string}` would be a tool pattern; did you mean `rye.{near}.{}`?",
                rest.unwrap_or("*")
            )),
            None => Ok(Granted::Items("execute", "tool", string.to_owned())),
        };
    };
    let (kind, pattern) = match rest.map(split) {
        None => return Err(without_items(string)),
        Some(("*", None)) => return Ok(Granted::Operation(primary)),
        Some(parts) => parts,
    };
    let Some(kind) = KINDS.into_iter().find(|known| *known == kind) else {
        return Err(format!(
            "`{string}` names no kind of item after `rye.{primary}`; valid: `tool`, `directive`, `knowledge`"
        ));
    };
    match pattern {
        Some(pattern) => Ok(Granted::Items(primary, kind, pattern.to_owned())),
        None => Err(without_items(string)),
    }
}

/// The first word of a pattern, and what follows it.
fn split(text: &str) -> (&str, Option<&str>) {
    text.split_once('.').map_or((text, None), |(first, rest)| (first, Some(rest)))
}

/// Returns the error for a pattern that covers nothing. It does not show if its writer meant all items or
/// none.
fn without_items(string: &str) -> String {
    format!("`{string}` covers nothing; write `{string}.*` for all that it names")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(strings: &str, element: &str) {
        assert_eq!(Permissions::read(strings).unwrap().element(""), element);
    }

    #[test]
    fn strings_become_elements() {
        check("", "<permissions></permissions>");
        check("rye.*", "<permissions>*</permissions>");
        check(
            "rye.search.*, rye.file-system.*\nmcp.server.type.create,rye.execute.tool.rye.web.fetch,",
            "<permissions>\n  <execute>\n    <tool>rye.file-system.*</tool>\n    <tool>mcp.server.type.create</tool>\n    \
             <tool>rye.web.fetch</tool>\n  </execute>\n  <search>*</search>\n</permissions>",
        );
        check(
            "rye.sign.directive.*,rye.fetch.knowledge.a.*,rye.fetch.knowledge.a.*",
            "<permissions>\n  <fetch>\n    <knowledge>a.*</knowledge>\n  </fetch>\n  <sign>\n    <directive>*</directive>\n  \
             </sign>\n</permissions>",
        );
    }

    #[test]
    fn every_problem_is_told() {
        let problems =
            Permissions::read("rye.execute.tools.x, a b, rye.load.knowledge.*").unwrap_err();
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert_eq!(
            problems[0],
            "`rye.execute.tools.x` names no kind of item after `rye.execute`; valid: `tool`, `directive`, `knowledge`"
        );
        assert!(problems[1].starts_with("`a b` is no capability pattern: "), "{}", problems[1]);
    }

    #[test]
    fn what_covers_nothing_and_what_is_misspelt_is_refused() {
        let rows = [
            ("rye.execute", "`rye.execute` covers nothing; write `rye.execute.*`"),
            ("rye.execute.tool", "`rye.execute.tool` covers nothing; write `rye.execute.tool.*`"),
            ("rye.serach.knowledge.*", "did you mean `rye.search.knowledge.*`?"),
            ("rye.sings.tool.a", "did you mean `rye.sign.tool.a`?"),
            ("rye.exceute", "did you mean `rye.execute.*`?"),
        ];
        for (string, expected) in rows {
            let problems = Permissions::read(string).unwrap_err();
            assert!(problems.len() == 1 && problems[0].contains(expected), "{problems:?}");
        }
        for tool in
            ["rye.bash.*", "rye.web.fetch", "rye.file-system.read", "rye.agent.*", "rye.core.*"]
        {
            assert!(Permissions::read(tool).is_ok(), "{tool}");
        }
    }
}
