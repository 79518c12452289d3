//! The facts as a page for people: one line for each, in columns.

use std::fmt;

use rye_project::LimitSource;
use rye_resolve::Location;

use super::{
    ContextFacts, Explained, ItemFacts, LayerFacts, ModelSource, PortFacts, Signer, StartFacts,
    ToolFacts,
};
use crate::columns::columns;
use crate::one_line::one_line;

impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "directive {}", self.id)?;
        writeln!(f, "prompt sha256 {}", self.digest)?;
        section(f, "chain, leaf first", self.chain.iter().map(link))?;
        section(f, "context, as read", self.context.iter().map(context))?;
        section(
            f,
            "suppressed",
            self.suppressed
                .iter()
                .map(|row| vec![row.id.clone(), format!("by {}", row.declared_by)]),
        )?;
        section(
            f,
            "skipped, optional and not found",
            self.skipped.iter().map(|row| {
                vec![row.position.to_string(), row.id.clone(), format!("asked by {}", row.asked_by)]
            }),
        )?;
        section(f, self.capabilities_title().as_str(), self.layers.iter().flat_map(layer))?;
        section(f, "risk", self.risks.iter().map(|risk| vec![risk.clone()]))?;
        section(f, "tools", self.tools.iter().map(tool))?;
        section(
            f,
            "granted and not offered",
            self.withheld.iter().map(|reason| vec![reason.clone()]),
        )?;
        section(
            f,
            "may start, as threads below its own",
            self.starts.iter().flatten().flat_map(start),
        )?;
        section(
            f,
            "limits",
            self.limits.iter().map(|limit| {
                vec![limit.name.to_owned(), limit.value.clone(), set_by(&limit.set_by)]
            }),
        )?;
        section(f, "model", std::iter::once(self.model_row()))?;
        section(f, "inputs", self.inputs.iter().map(port))?;
        section(f, "outputs, which it may therefore return", self.outputs.iter().map(port))?;
        section(
            f,
            "hooks",
            self.hooks.iter().map(|hook| {
                let effect = hook.effect.map(|effect| format!("decides `{effect}`"));
                let by = format!("by {}", hook.declared_by);
                [hook.event.to_owned(), hook.id.clone(), by].into_iter().chain(effect).collect()
            }),
        )?;
        section(f, "may be told later", self.later.iter().map(link))?;
        section(f, "configuration, nearest first", self.configs.iter().map(link))?;
        section(f, "to know", self.warnings.iter().map(|warning| vec![warning.clone()]))
    }
}

impl Explained {
    fn capabilities_title(&self) -> String {
        match &self.declared_by {
            Some(id) => format!("capabilities, declared by {id}; every layer has to allow"),
            None => "capabilities, declared by nobody, so none".to_owned(),
        }
    }

    fn model_row(&self) -> Vec<String> {
        match &self.model {
            Ok(model) => {
                let mut row = vec![model.provider.clone(), model.model.clone().unwrap_or_default()];
                row.extend(model.item.iter().flat_map(origin));
                row.push(match &model.set_by {
                    ModelSource::Default => "default".to_owned(),
                    ModelSource::Directive(id) => format!("directive {id}"),
                    ModelSource::Options => "options".to_owned(),
                });
                row
            }
            Err(reason) => vec![format!("none: {reason}")],
        }
    }
}

/// A heading and its rows in columns; nothing when there are no rows.
fn section(
    f: &mut fmt::Formatter<'_>,
    title: &str,
    rows: impl Iterator<Item = Vec<String>>,
) -> fmt::Result {
    let line = |row: Vec<String>| row.iter().map(|cell| one_line(cell)).collect();
    let rows: Vec<Vec<String>> = rows.map(line).collect();
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(f, "\n{title}")?;
    columns(&rows).iter().try_for_each(|line| writeln!(f, "  {line}"))
}

/// Returns the space of an item, the file below it, and the signer. A built-in item has no signer in its row,
/// because the space says the same.
fn origin(item: &ItemFacts) -> Vec<String> {
    let path = item.id.file().map_or_else(|| below(&item.location), |file| file.to_string());
    let mut row = vec![item.location.space.to_string(), path];
    if item.signer != Signer::Builtin {
        row.push(item.signer.to_string());
    }
    row
}

/// The path from the space's `.ai` folder on; whole for a file that lies in none.
fn below(location: &Location) -> String {
    let mut parts = location.path.components();
    let found = parts.by_ref().any(|part| part.as_os_str() == ".ai");
    let path = if found { parts.as_path() } else { &location.path };
    path.display().to_string()
}

fn link(item: &ItemFacts) -> Vec<String> {
    [vec![item.id.to_string()], origin(item)].concat()
}

fn context(entry: &ContextFacts) -> Vec<String> {
    let id = entry
        .item
        .as_ref()
        .map_or_else(|| "text of its own".to_owned(), |item| item.id.to_string());
    let mut row = vec![
        entry.position.to_string(),
        id,
        format!("{} bytes", entry.bytes),
        format!("asked by {}", entry.asked_by),
    ];
    row.extend(entry.item.iter().flat_map(origin));
    row
}

fn layer(layer: &LayerFacts) -> Vec<Vec<String>> {
    let name = layer.name.to_string();
    let patterns = layer.grant.patterns();
    if patterns.is_empty() {
        return vec![vec![name, "nothing".to_owned()]];
    }
    patterns.iter().map(|pattern| vec![name.clone(), pattern.to_string()]).collect()
}

fn tool(tool: &ToolFacts) -> Vec<String> {
    match &tool.item {
        Some(item) => [vec![tool.name.clone(), item.id.to_string()], origin(item)].concat(),
        None => vec![tool.name.clone(), "of every thread".to_owned()],
    }
}

fn start(start: &StartFacts) -> Vec<Vec<String>> {
    let id = start.id.to_string();
    let told = match &start.refused {
        Some(reason) => format!("would be refused: {reason}"),
        None if start.lost.is_empty() => "with all that it declares".to_owned(),
        None => String::new(),
    };
    let lost = start.lost.iter().map(|lost| {
        format!("without all of `{}`, which {} does not allow", lost.pattern, lost.denied_by)
    });
    let rows = std::iter::once(told).filter(|told| !told.is_empty()).chain(lost);
    rows.map(|row| vec![id.clone(), row]).collect()
}

fn set_by(source: &LimitSource) -> String {
    match source {
        LimitSource::Default => "default".to_owned(),
        LimitSource::Config(location) => format!("config, {} {}", location.space, below(location)),
        LimitSource::Directive(id) => format!("directive {id}"),
        LimitSource::Options => "options".to_owned(),
        LimitSource::Parent(thread) => format!("thread {thread}"),
    }
}

fn port(port: &PortFacts) -> Vec<String> {
    let need = if port.required { "required".to_owned() } else { "optional".to_owned() };
    let need = match &port.default {
        Some(default) => format!("default `{default}`"),
        None => need,
    };
    let mut row = vec![port.name.clone(), port.value_type.clone(), need];
    if !port.choices.is_empty() {
        row.push(format!("one of `{}`", port.choices.join("`, `")));
    }
    row.push(port.description.split_whitespace().collect::<Vec<_>>().join(" "));
    row
}
