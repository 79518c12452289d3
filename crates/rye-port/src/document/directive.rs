//! The text of a directive (SPEC 3).

use rye_resolve::ItemId;

use super::{attribute, comment, escape, one_line};
use crate::report::Asked;

/// The parts of a directive that a source has.
#[derive(Debug)]
pub(crate) struct DirectiveDocument {
    pub(crate) id: ItemId,
    /// The name, if it is not the last segment of the id.
    pub(crate) name: Option<String>,
    /// Its texts have the placeholders of Rye.
    pub(crate) has_own_places: bool,
    pub(crate) title: String,
    pub(crate) description: String,
    pub(crate) version: String,
    pub(crate) author: String,
    pub(crate) extends: Option<String>,
    pub(crate) tier: String,
    /// The attributes of `<limits>`, in order.
    pub(crate) limits: Vec<(&'static str, String)>,
    pub(crate) asked: Vec<Asked>,
    pub(crate) context: Vec<ContextPart>,
    pub(crate) inputs: Vec<InputPart>,
    pub(crate) outputs: Vec<OutputPart>,
    pub(crate) body: String,
}

/// A part of the context.
#[derive(Debug, Clone)]
pub(crate) struct ContextPart {
    /// `system`, `before` or `after`.
    pub(crate) position: &'static str,
    pub(crate) content: ContextText,
}

/// The content of a part of the context.
#[derive(Debug, Clone)]
pub(crate) enum ContextText {
    Knowledge(ItemId),
    Text(String),
}

/// A declared input.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputPart {
    pub(crate) name: String,
    /// The name of the type; `string` if it is empty.
    pub(crate) kind: String,
    pub(crate) is_required: bool,
    pub(crate) default: Option<String>,
    pub(crate) values: Vec<String>,
    pub(crate) description: String,
}

/// A declared output.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputPart {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) is_required: bool,
    pub(crate) description: String,
}

impl DirectiveDocument {
    /// The file, unsigned. A blank line comes first, so that a signature line stands apart from what formatters move (SPEC 16.2).
    pub(crate) fn text(&self) -> String {
        let mut text = format!("\n# {}\n\n```xml\n", one_line(&self.title));
        let extends = self.extends.as_ref().map(|id| format!(" extends=\"{}\"", attribute(id)));
        text += &format!(
            "<directive name=\"{}\" version=\"{}\"{}>\n  <metadata>\n",
            attribute(self.name.as_deref().unwrap_or(self.id.name())),
            attribute(&self.version),
            extends.unwrap_or_default()
        );
        let category = self.id.folder().unwrap_or_default();
        text += &format!("    <description>{}</description>\n", escape(&self.description));
        if !category.is_empty() {
            text += &format!("    <category>{}</category>\n", escape(category));
        }
        text += &format!("    <author>{}</author>\n", escape(&one_line(&self.author)));
        text += &format!("    <model tier=\"{}\" />\n", attribute(&self.tier));
        let limits: Vec<String> = self
            .limits
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", attribute(value)))
            .collect();
        text += &format!("    <limits {} />\n", limits.join(" "));
        text += &asked(&self.asked);
        text += "    <permissions></permissions>\n";
        text += &self.context_element();
        text += "  </metadata>\n";
        text += &self.inputs_element();
        text += &self.outputs_element();
        text += "</directive>\n```\n\n";
        text += self.body.trim();
        text.push('\n');
        text
    }

    fn context_element(&self) -> String {
        if self.context.is_empty() {
            return String::new();
        }
        let parts = self.context.iter().map(|ContextPart { position, content }| match content {
            ContextText::Knowledge(id) => format!("      <{position}>{id}</{position}>\n"),
            // A text of one word would be taken for an id.
            ContextText::Text(text) => {
                format!("      <{position}><![CDATA[{}]]></{position}>\n", cdata(text))
            }
        });
        format!("    <context>\n{}    </context>\n", parts.collect::<String>())
    }

    fn inputs_element(&self) -> String {
        if self.inputs.is_empty() {
            return String::new();
        }
        let input = |input: &InputPart| {
            let mut attributes = format!("name=\"{}\"", attribute(&input.name));
            attributes += &format!(" type=\"{}\"", kind(&input.kind));
            if input.is_required {
                attributes += " required=\"true\"";
            }
            if let Some(default) = &input.default {
                attributes += &format!(" default=\"{}\"", attribute(default));
            }
            if !input.values.is_empty() {
                attributes += &format!(" enum=\"{}\"", attribute(&input.values.join(",")));
            }
            format!("    <input {attributes}>{}</input>\n", escape(&one_line(&input.description)))
        };
        let inputs: String = self.inputs.iter().map(input).collect();
        format!("\n  <inputs>\n{inputs}  </inputs>\n")
    }

    fn outputs_element(&self) -> String {
        if self.outputs.is_empty() {
            return String::new();
        }
        let output = |output: &OutputPart| {
            let required = if output.is_required { " required=\"true\"" } else { "" };
            format!(
                "    <output name=\"{}\" type=\"{}\"{required}>{}</output>\n",
                attribute(&output.name),
                kind(&output.kind),
                escape(&one_line(&output.description))
            )
        };
        let outputs: String = self.outputs.iter().map(output).collect();
        format!("\n  <outputs>\n{outputs}  </outputs>\n")
    }
}

/// A type of Rye; `string` for all others.
fn kind(kind: &str) -> &str {
    match kind {
        "integer" | "number" | "boolean" | "array" | "object" => kind,
        _ => "string",
    }
}

fn cdata(text: &str) -> String {
    let text: String = text
        .chars()
        .map(|c| if c.is_control() && c != '\n' && c != '\t' { '\u{fffd}' } else { c })
        .collect();
    text.replace("]]>", "]]]]><![CDATA[>")
}

/// A comment with what the source asks for, and with the element that would give it.
fn asked(asked: &[Asked]) -> String {
    if asked.is_empty() {
        return String::new();
    }
    let mut entries: Vec<&String> = asked.iter().flat_map(|asked| &asked.entries).collect();
    entries.sort();
    entries.dedup();
    let names: Vec<String> =
        asked.iter().map(|asked| format!("`{}`", one_line(&asked.asked))).collect();
    let mut text = format!("The source asks for {}.", names.join(", "));
    if entries.is_empty() {
        text += " No permission of Rye gives that.\n";
    } else {
        text +=
            " Nothing of it is granted. This would grant what Rye has of it:\n    <permissions>\n";
        entries.iter().for_each(|entry| text += &format!("      {entry}\n"));
        text += "    </permissions>\n";
    }
    format!("    <!-- {}    -->\n", comment(&text))
}
