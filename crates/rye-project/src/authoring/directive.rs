//! The text of a new directive, made from what its author says of it.

use rye_resolve::ItemId;

use super::complexity::{ClassLimits, Complexity};
use super::permissions::Permissions;
use super::title;

/// The parts of a new directive.
pub(crate) struct DirectiveDraft<'a> {
    pub(crate) id: &'a ItemId,
    pub(crate) description: &'a str,
    pub(crate) author: &'a str,
    pub(crate) extends: Option<&'a ItemId>,
    pub(crate) class: Complexity,
    pub(crate) limits: &'a ClassLimits,
    pub(crate) permissions: &'a Permissions,
    /// The steps in a few words, one a line.
    pub(crate) steps: &'a str,
}

impl DirectiveDraft<'_> {
    /// Returns the file, unsigned, with a line end at its end.
    pub(crate) fn text(&self) -> String {
        let Self { id, description, class, limits, permissions, .. } = self;
        let name = id.name();
        let category = id.folder().unwrap_or_default();
        let extends = self.extends.map(|id| format!(" extends=\"{id}\"")).unwrap_or_default();
        format!(
            r#"# {title}

{description}

```xml
<directive name="{name}" version="0.1.0"{extends}>
  <metadata>
    <description>{escaped}</description>
    <category>{category}</category>
    <author>{author}</author>
    <model tier="{tier}" />
    {limits}
{permissions}
  </metadata>

  <outputs>
    <output name="result" type="string" required="true">What was done</output>
  </outputs>
</directive>
```

<process>
{steps}
</process>
"#,
            title = title(name),
            description = description.trim(),
            escaped = escape(description.trim()),
            author = escape(self.author),
            tier = class.tier(),
            limits = limits.element(),
            permissions = permissions.element("    "),
            steps = steps(self.steps),
        )
    }
}

/// A `<step>` for each line, without the mark of a list item before it.
fn steps(text: &str) -> String {
    let lines = text.lines().map(without_mark).filter(|line| !line.is_empty());
    let steps = lines.enumerate().map(|(place, line)| {
        let number = place + 1;
        let line = escape(line);
        format!("  <step name=\"step_{number}\">\n    <description>{line}</description>\n  </step>")
    });
    steps.collect::<Vec<_>>().join("\n\n")
}

fn without_mark(line: &str) -> &str {
    let line = line.trim();
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = match numbered.strip_prefix(['.', ')']) {
        Some(rest) if numbered.len() < line.len() => rest,
        _ => line.strip_prefix(['-', '*']).unwrap_or(line),
    };
    if rest.starts_with(char::is_whitespace) { rest.trim() } else { line }
}

/// The text as XML has it.
pub(super) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_becomes_a_step() {
        for (line, expected) in [
            ("- read it", "read it"),
            ("* read it", "read it"),
            ("12. read it", "read it"),
            ("3) read it", "read it"),
            ("1.5 is a number", "1.5 is a number"),
            ("-5 degrees", "-5 degrees"),
            ("  read it  ", "read it"),
        ] {
            assert_eq!(without_mark(line), expected, "{line}");
        }
        assert_eq!(steps("- a\n\n- b < c").matches("<step ").count(), 2);
        assert!(steps("b < c").contains("<description>b &lt; c</description>"));
    }
}
