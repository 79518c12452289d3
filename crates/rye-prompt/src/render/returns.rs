//! The instruction to return outputs (SPEC 8.3, D1, D2).

use rye_parse::{Output, Outputs};
use rye_types::ReturnStyle;

use super::{in_attribute, in_element};
use crate::json::quote;

/// One declared output, from either form of declaration.
struct Field<'a> {
    name: &'a str,
    /// The author's description; may be empty.
    description: &'a str,
    /// The text in the place of the value. Never empty.
    label: String,
}

/// Returns the part of the prompt about outputs; `None` if the directive declares none. `place` puts the inputs into a
/// label.
pub(super) fn instruction(
    outputs: &Outputs,
    style: ReturnStyle,
    place: &mut dyn FnMut(&str) -> String,
) -> Option<String> {
    let fields = fields(outputs);
    if fields.is_empty() {
        return None;
    }
    Some(match style {
        ReturnStyle::Call => format!(
            "When you have completed all steps, return structured results:\n\
             `rye_execute(item_type=\"tool\", item_id=\"rye/agent/threads/directive_return\", parameters={})`",
            parameters(&fields, place)
        ),
        ReturnStyle::Block => block(&fields, place),
        ReturnStyle::Tool => format!(
            "When you have completed all steps, call the `rye_agent_threads_directive_return` tool with `{}`.",
            parameters(&fields, place)
        ),
    })
}

fn fields(outputs: &Outputs) -> Vec<Field<'_>> {
    match outputs {
        Outputs::None => Vec::new(),
        Outputs::List(outputs) => outputs.iter().map(|output| list_field(&output.value)).collect(),
        Outputs::Dict(outputs) => outputs
            .iter()
            .map(|output| &output.value)
            .map(|output| Field {
                name: &output.name,
                description: &output.text,
                label: dict_label(&output.name, &output.text),
            })
            .collect(),
    }
}

/// Returns the description with the type, or only the type, and a mark if the output is required (SPEC D2).
fn list_field(output: &Output) -> Field<'_> {
    let value_type = output.value_type.as_str();
    let description = output.description.as_str();
    let label = if is_blank(description) {
        value_type.to_owned()
    } else {
        format!("{description} ({value_type})")
    };
    let label = if output.required { format!("{label} [required]") } else { label };
    Field { name: &output.name.value, description, label }
}

fn dict_label(name: &str, text: &str) -> String {
    if is_blank(text) { name.to_owned() } else { text.to_owned() }
}

/// Returns the JSON object of the call, with labels in the places of the values.
fn parameters(fields: &[Field<'_>], place: &mut dyn FnMut(&str) -> String) -> String {
    let mut parameter = |field: &Field<'_>| {
        // The brackets are added before placing, so that a value cannot form a directive tag with them.
        let label = place(&format!("<{}>", field.label.trim()));
        format!("{}: {}", quote(field.name), quote(&one_line(&label)))
    };
    format!("{{{}}}", fields.iter().map(&mut parameter).collect::<Vec<_>>().join(", "))
}

fn block(fields: &[Field<'_>], place: &mut dyn FnMut(&str) -> String) -> String {
    let mut output = |field: &Field<'_>| {
        let name = in_attribute(field.name);
        match in_element(&one_line(&place(field.description))) {
            empty if empty.is_empty() => format!("  <output name=\"{name}\" />"),
            description => format!("  <output name=\"{name}\">{description}</output>"),
        }
    };
    format!(
        "<returns>\n{}\n</returns>",
        fields.iter().map(&mut output).collect::<Vec<_>>().join("\n")
    )
}

/// Replaces each run of white space by one space.
fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}
