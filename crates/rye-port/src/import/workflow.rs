//! Workflows of GitHub Agentic Workflows, after its public documentation.

use serde_json::Value;

use super::{ImportError, Importer, skill};
use crate::document::directive::DirectiveDocument;
use crate::fields::{Fields, scalar, shown};
use crate::format::Format;
use crate::names;
use crate::placing::{Style, place};
use crate::report::Account as _;
use crate::report::Asked;
use crate::source::SourceFile;

const FORMAT: Format = Format::GhAwWorkflow;

/// Imports a workflow: its text becomes the body of a directive, with an input for each `${{ … }}`.
pub(super) fn read(importer: &mut Importer, file: &SourceFile) -> Result<(), ImportError> {
    let (mut fields, body) = importer.front_matter(file, FORMAT)?;
    let stem = names::stem(&file.path, &[".md"]);
    let title = fields.text("name").inspect(|_| importer.carry(&file.path, "name", "the title"));
    let title = title.or_else(|| skill::heading(&body)).unwrap_or_else(|| names::title(stem));
    let id = importer.id("workflows", stem);
    let mut document = importer.directive(id, &title);
    if let Some(description) = fields.text("description") {
        document.description = description.trim().to_owned();
        importer.carry(&file.path, "description", "the description");
    }
    importer.body(&mut document, &file.path, place(&body, Style::Expressions, None));
    let blocks = ["{{#if", "{{#import", "{{#runtime-import", "@include"];
    for block in blocks.iter().filter(|block| body.contains(*block)) {
        importer.leave(&file.path, &format!("`{block}`"), "a body has no blocks; it stays as text");
    }
    engine(importer, &mut fields, &mut document);
    if let Some(minutes) = fields.text("timeout-minutes").or_else(|| fields.text("timeout_minutes"))
    {
        match minutes.parse::<u64>() {
            Ok(minutes) => {
                let seconds = minutes.saturating_mul(60).to_string();
                importer.limit(
                    &mut document,
                    &file.path,
                    "timeout-minutes",
                    "duration_seconds",
                    &seconds,
                );
            }
            Err(_) => {
                importer.leave(&file.path, "timeout-minutes", &format!("`{minutes}` is no number"))
            }
        }
    }
    tools(importer, &mut fields, &mut document);
    permissions(importer, &mut fields, &mut document);
    fields.leave(
        importer,
        "on",
        "Rye starts nothing by an event; let the other program's runner call `rye run`",
    );
    fields.leave(
        importer,
        "safe-outputs",
        "write a tool for each effect, so that a permission names it",
    );
    fields.leave(
        importer,
        "network",
        "the operator's `config/agent/web.yaml` says which hosts are reached",
    );
    fields.leave(importer, "imports", "import each file, and name it in `extends` or `<context>`");
    fields.leave(importer, "mcp-servers", "import the servers from a client's configuration");
    for field in [
        "runs-on",
        "strict",
        "if",
        "env",
        "steps",
        "post-steps",
        "concurrency",
        "roles",
        "cache",
        "services",
        "container",
        "run-name",
        "environment",
        "tracker-id",
        "source",
        "labels",
        "features",
        "sandbox",
        "secrets",
    ] {
        fields.leave(importer, field, "it is about the runner of the workflow");
    }
    fields.finish(importer);
    importer.keep_directive(document, &file.path);
    Ok(())
}

fn engine(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    if let Some(mut engine) = fields.mapping("engine") {
        engine.leave(importer, "id", "the operator chooses the provider");
        if let Some(model) = engine.text("model") {
            importer.model(document, &file, "engine.model", &model);
        }
        if let Some(turns) = engine.text("max-turns") {
            importer.limit(document, &file, "engine.max-turns", "turns", &turns);
        }
        engine.finish(importer);
    } else {
        fields.leave(importer, "engine", "the operator chooses the provider");
    }
}

fn tools(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    match fields.take("tools") {
        Some(Value::Object(tools)) => {
            for (name, options) in tools {
                let mut names = vec![name.clone()];
                if let Value::Array(words) = &options {
                    names = words
                        .iter()
                        .filter_map(scalar)
                        .map(|word| format!("{name}({word})"))
                        .collect();
                } else if let Some(Value::Array(allowed)) =
                    options.get("allowed").or_else(|| options.get("toolsets"))
                {
                    names = allowed
                        .iter()
                        .filter_map(scalar)
                        .map(|tool| format!("mcp__{name}__{tool}"))
                        .collect();
                    let others = options.as_object().into_iter().flat_map(|it| it.keys());
                    for other in
                        others.filter(|other| !["allowed", "toolsets"].contains(&other.as_str()))
                    {
                        importer.leave(
                            &file,
                            &format!("tools.{name}.{other}"),
                            "it is about the runner of the workflow",
                        );
                    }
                } else if !matches!(options, Value::Null | Value::Bool(_) | Value::String(_)) {
                    importer.leave(
                        &file,
                        &format!("tools.{name}"),
                        &format!("its options have no counterpart: {}", shown(&name, &options)),
                    );
                }
                importer.ask(document, &file, &names);
            }
        }
        Some(value) => {
            importer.leave(&file, "tools", &format!("it is no mapping: {}", shown("tools", &value)))
        }
        None => {}
    }
}

fn permissions(importer: &mut Importer, fields: &mut Fields, document: &mut DirectiveDocument) {
    let file = fields.file().to_owned();
    let names: Vec<String> = match fields.take("permissions") {
        Some(Value::Object(permissions)) => permissions
            .iter()
            .map(|(name, value)| {
                format!("{name}: {}", scalar(value).unwrap_or_else(|| value.to_string()))
            })
            .collect(),
        Some(value) => scalar(&value).into_iter().collect(),
        None => return,
    };
    for name in names {
        let asked = Asked {
            file: file.clone(),
            asked: name,
            entries: Vec::new(),
            note: "it is a permission of the runner's token, which Rye never has".to_owned(),
        };
        document.asked.push(asked.clone());
        importer.import.asked.push(asked);
    }
}
