//! Agents and tasks of crewAI, after its public documentation.

use rye_types::ItemKind;

use super::{ImportError, Importer, skill};
use crate::document::directive::{ContextPart, ContextText, OutputPart};
use crate::document::knowledge::KnowledgeDocument;
use crate::fields::Fields;
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::report::Account as _;
use crate::source::SourceFile;

const FORMAT: Format = Format::CrewAi;

/// Imports agents as knowledge, and tasks as directives that have the knowledge of their agent.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let fields = importer.mapping(file, FORMAT, "yaml")?;
    importer.is_single = importer.is_single && fields.names().len() == 1;
    let mut fields = fields;
    for name in fields.names() {
        let Some(mut member) = fields.mapping(&name) else { continue };
        if member.has("role") {
            agent(importer, &mut member, &name);
        } else {
            task(importer, &mut member, &name);
        }
        member.finish(importer);
    }
    fields.finish(importer);
    Ok(())
}

fn agent(importer: &mut Importer, fields: &mut Fields, name: &str) {
    let file = fields.file().to_owned();
    let id = importer.id("crew", name);
    let mut body = String::new();
    for (field, title) in [("role", "Role"), ("goal", "Goal"), ("backstory", "Backstory")] {
        if let Some(text) = fields.text(field) {
            body += &format!("## {title}\n\n{}\n\n", text.trim());
            importer.carry(&file, &fields.name(field), &format!("knowledge `{id}`"));
        }
    }
    let placed = place(&body, Style::Braces, None);
    for input in &placed.inputs {
        importer.leave(
            &file,
            &format!("placeholder `{{{}}}` of `{name}`", input.source),
            "knowledge has no places; write what is meant",
        );
    }
    if let Some(model) = fields.text("llm") {
        importer.leave(
            &file,
            &fields.name("llm"),
            &format!("knowledge has no model; set `{model}` in the directives"),
        );
    }
    steering(importer, fields);
    let document = KnowledgeDocument {
        title: names::title(name),
        description: String::new(),
        entry_type: "identity",
        author: String::new(),
        tags: Vec::new(),
        body,
        id,
    };
    importer.keep_knowledge(document, &file);
}

fn task(importer: &mut Importer, fields: &mut Fields, name: &str) {
    let file = fields.file().to_owned();
    let id = importer.id("crew", name);
    let mut document = importer.directive(id, &names::title(name));
    let path = format!("directives/{}.md", document.id);
    let text = fields.text("description").unwrap_or_default();
    importer.decide(
        &path,
        "say in `<description>` what the directive does: the source has only the text of the task",
    );
    document.description = format!("{}.", names::title(name));
    importer.body(&mut document, &file, place(&text, Style::Braces, None));
    document.has_own_places = true;
    if let Some(expected) = fields.text("expected_output") {
        let placed = place(expected.trim(), Style::Braces, None);
        document.outputs.push(OutputPart {
            name: "result".to_owned(),
            kind: String::new(),
            is_required: true,
            description: placed.text,
        });
        importer.carry(&file, &fields.name("expected_output"), "the output `result`");
        for input in placed.inputs {
            if document.inputs.iter().all(|known| known.name != input.name) {
                document.inputs.push(crate::document::directive::InputPart {
                    description: names::title(&input.name),
                    is_required: true,
                    name: input.name,
                    ..crate::document::directive::InputPart::default()
                });
            }
        }
    }
    if let Some(agent) = fields.text("agent") {
        let id = names::id(document.id.folder().unwrap_or("crew"), &agent);
        importer.carry(&file, &fields.name("agent"), &format!("knowledge `{id}` in `<system>`"));
        let is_here = |draft: &crate::draft::ImportedDraft| {
            draft.kind == ItemKind::Knowledge && draft.id == id
        };
        if !importer.import.drafts.iter().any(is_here) {
            importer.decide(&path, &format!("write knowledge `{id}`, unless the project has it: the source does not have its agent"));
        }
        document
            .context
            .push(ContextPart { position: "system", content: ContextText::Knowledge(id) });
    }
    for other in skill::texts(fields, "context") {
        let reason = format!(
            "a directive gets no result of another; give `{other}` as an input, or start both from a third"
        );
        importer.leave(&file, &fields.name("context"), &reason);
    }
    steering(importer, fields);
    let tools = fields.words("tools").unwrap_or_default();
    importer.ask(&mut document, &file, &tools);
    importer.keep_directive(document, &file);
}

fn steering(importer: &mut Importer, fields: &mut Fields) {
    for field in [
        "verbose",
        "allow_delegation",
        "max_iter",
        "max_rpm",
        "memory",
        "cache",
        "async_execution",
        "human_input",
        "markdown",
        "step_callback",
        "callback",
        "max_execution_time",
        "max_retry_limit",
        "respect_context_window",
        "reasoning",
        "function_calling_llm",
        "inject_date",
        "knowledge_sources",
        "embedder",
        "system_template",
        "prompt_template",
        "response_template",
        "allow_code_execution",
        "code_execution_mode",
        "multimodal",
        "use_system_prompt",
    ] {
        fields.leave(importer, field, "it steers the other program");
    }
    fields.leave(importer, "output_file", "let a step write the file");
    for field in ["output_json", "output_pydantic", "guardrail", "guardrails"] {
        fields.leave(importer, field, "it names code of the other program");
    }
}
