//! Agent Skills: a `SKILL.md` for each directive.

use rye_parse::Directive;
use rye_resolve::ItemId;
use serde_json::{Map, Value, json};

use super::calling::{Access, description, parameters, steps, title};
use super::file::ExportedFile;
use super::markdown::{one_line, quoted};
use crate::import::own::{DIRECTIVE, MARK};

/// A skill that has a directive followed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ExportedSkill {
    /// The members of its frontmatter.
    pub frontmatter: SkillFrontmatter,
    /// The bytes of its `SKILL.md`, which are always the same for the same directive.
    pub text: String,
}

/// The frontmatter of a `SKILL.md`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SkillFrontmatter {
    /// The name, which is also that of the skill's folder.
    pub name: String,
    /// The purpose, in at most 800 characters.
    pub description: String,
    /// The further members, each a text or a mapping of texts.
    pub more: Map<String, Value>,
}

/// Returns the skill `name` for a directive. [`skill_names`](super::skill_names) makes names.
#[must_use]
pub fn skill(id: &ItemId, directive: &Directive, name: &str, access: Access<'_>) -> ExportedSkill {
    let mut more = Map::new();
    if access == Access::RyeServer {
        more.insert("compatibility".to_owned(), COMPATIBILITY.into());
    }
    more.insert("metadata".to_owned(), json!({ MARK: id.as_str() }));
    let name = name.to_owned();
    let frontmatter = SkillFrontmatter { name, description: purpose(id, directive), more };
    let own = match access {
        Access::Text(_) => {
            format!("\nThe directive of Rye is in [{DIRECTIVE}]({DIRECTIVE}), as it was signed.\n")
        }
        Access::ThisServer | Access::RyeServer => String::new(),
    };
    let body = format!(
        "# {}\n\n{}\n\n## Parameters\n\n{}\n## Steps\n\n{}{own}",
        title(id, directive),
        description(id, directive),
        parameters(directive),
        steps(id, directive, access),
    );
    let SkillFrontmatter { name, description, more } = &frontmatter;
    let yaml = yaml(name, description, more);
    ExportedSkill { text: format!("{yaml}\n{body}"), frontmatter }
}

impl ExportedSkill {
    /// Returns the files of a skill in a folder of its name. A skill with the text of its directive, whose file is `source`, holds that
    /// file too, so that `rye import` gives it back.
    #[must_use]
    pub fn files(&self, access: Access<'_>, source: &str) -> Vec<ExportedFile> {
        let folder = &self.frontmatter.name;
        let mut files = vec![ExportedFile::new(format!("{folder}/SKILL.md"), &*self.text)];
        if matches!(access, Access::Text(_)) {
            files.push(ExportedFile::new(format!("{folder}/{DIRECTIVE}"), source));
        }
        files
    }
}

const COMPATIBILITY: &str = "Needs Rye, the program `rye`, as the MCP server `rye mcp` of the project that holds the directive.";

/// The specification allows 1,024 characters. An agent reads the descriptions of all skills at once, so validators ask for at most
/// 200 tokens. The body has the whole description.
const LONGEST_DESCRIPTION: usize = 800;

/// Returns the purpose of a skill with the occasion to use it, by which an agent chooses. Angle brackets, which some agents refuse in
/// it, are replaced by others.
pub(super) fn purpose(id: &ItemId, directive: &Directive) -> String {
    let occasion = format!(" Use when the user asks for this, or for the directive {id}.");
    let text = description(id, directive).replace('<', "‹").replace('>', "›");
    let room = LONGEST_DESCRIPTION - occasion.chars().count();
    if text.chars().count() <= room {
        return text + &occasion;
    }
    let cut: String = text.chars().take(room - 1).collect();
    format!("{}…{occasion}", cut.trim_end())
}

/// Returns the frontmatter as YAML, with the lines around it.
pub(super) fn yaml(name: &str, description: &str, more: &Map<String, Value>) -> String {
    let mut yaml = format!("---\nname: {name}\ndescription: {}\n", quoted(description));
    for (key, value) in more {
        match value {
            Value::Object(members) => {
                yaml += &format!("{key}:\n");
                for (key, value) in members {
                    yaml += &format!("  {key}: {}\n", quoted(&as_text(value)));
                }
            }
            value => yaml += &format!("{key}: {}\n", quoted(&as_text(value))),
        }
    }
    yaml + "---\n"
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), one_line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INDEX: &str = r#"# Index the "notes"

```xml
<directive name="index" version="1.0.0">
  <metadata>
    <description>Writes an index of a folder: one line
      for each &lt;note&gt;, newest first</description>
  </metadata>
  <inputs>
    <input name="folder" type="string" required="true">The folder with the `notes`.</input>
    <input name="order" required="true" enum="newest, by-name">The order</input>
    <input name="depth" type="integer" default="3"/>
    <input name="tags" type="array" required="true"/>
  </inputs>
</directive>
```

Read {input:folder}.
"#;

    fn made(text: &str, access: Access<'_>) -> ExportedSkill {
        let directive = rye_parse::directive(text).unwrap();
        skill(&"notes/index".parse().unwrap(), &directive, "notes-index", access)
    }

    #[test]
    fn a_skill_tells_how_to_get_its_directive() {
        insta::assert_snapshot!("skill_of_this_server", made(INDEX, Access::ThisServer).text);
        insta::assert_snapshot!("skill_of_rye_mcp", made(INDEX, Access::RyeServer).text);
        insta::assert_snapshot!(
            "skill_of_text",
            made(INDEX, Access::Text("Read {input:folder}.\n")).text
        );
    }

    #[test]
    fn the_least_directive_is_a_skill() {
        let text = "```xml\n<directive name=\"index\" version=\"1.0.0\"></directive>\n```\n";
        insta::assert_snapshot!("skill_of_the_least", made(text, Access::ThisServer).text);
    }

    proptest! {
        /// The members are one line each, whatever an author writes, and the description has a length that clients accept.
        #[test]
        fn the_frontmatter_holds_any_description(words in "([ -~\n\u{80}-\u{2030}]|-{2,7}){0,1500}") {
            let escaped = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            let text = INDEX.replace("one line", &escaped);
            let Ok(directive) = rye_parse::directive(&text) else { return Ok(()) };
            let made = skill(&"notes/index".parse().unwrap(), &directive, "notes-index", Access::ThisServer);
            let description = &made.frontmatter.description;
            prop_assert!(description.chars().count() <= LONGEST_DESCRIPTION, "{description}");
            prop_assert!(description.ends_with("the directive notes/index."));
            let front: Vec<&str> = made.text.split('\n').take(6).collect();
            prop_assert_eq!((front[0], front[5]), ("---", "---"));
            let line = front[2].strip_prefix("description: ").unwrap();
            let read: Value = serde_json::from_str(line).unwrap();
            prop_assert_eq!(read.as_str(), Some(description.as_str()));
            prop_assert!(!line.contains("---"), "{line}");
        }
    }
}
