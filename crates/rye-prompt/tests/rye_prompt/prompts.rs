//! Every fixture as it is sent to the model.
//!
//! A fixture is a directive file. Other data is in `<name>.inputs.json` beside it: the given `inputs`, the return
//! `style`, the `chain` of ancestors (ids of fixtures, root first), the text of `knowledge` items, `hooks`,
//! `system_template` and `tool_names`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rye_parse::Directive;
use rye_prompt::{HookEntry, Inputs, Link, Opening, SystemFacts, Wrap};
use rye_prompt::{compose, opening, render, system, template};
use rye_types::{Position, ReturnStyle};
use serde_json::Value;

use crate::given::{parse, values};
use crate::visible::visible;

#[test]
fn rendered() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::glob!("../fixtures", "*.md", |path| {
            let fixture = Fixture::read(path);
            let prompt = fixture.prompt();
            fixture.assert_invariants(&prompt);
            insta::assert_snapshot!("render", visible(&fixture.opening(&prompt)));
        });
    });
}

/// A directive file and the data of its run.
struct Fixture {
    id: String,
    directive: Directive,
    ancestors: Vec<(String, Directive)>,
    sidecar: Value,
}

impl Fixture {
    fn read(path: &Path) -> Self {
        let sidecar = std::fs::read_to_string(path.with_extension("inputs.json"))
            .unwrap_or_else(|_| "{}".to_owned());
        let sidecar: Value = serde_json::from_str(&sidecar).expect("because sidecars are JSON");
        let folder = path.parent().map(PathBuf::from).unwrap_or_default();
        let ancestors = strings(&sidecar["chain"])
            .map(|id| (id.to_owned(), read(&folder.join(format!("{id}.md")))))
            .collect();
        let id =
            path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Self { id, directive: read(path), ancestors, sidecar }
    }

    fn leaf(&self) -> Link<'_> {
        Link::new(&self.id, &self.directive)
    }

    fn chain(&self) -> Vec<Link<'_>> {
        self.ancestors
            .iter()
            .map(|(id, directive)| Link::new(id, directive))
            .chain([self.leaf()])
            .collect()
    }

    fn inputs(&self) -> Inputs {
        match Inputs::bind(&self.directive.inputs, &object(&self.sidecar["inputs"])) {
            Ok(inputs) => inputs,
            Err(error) => panic!("{}: {error}", self.id),
        }
    }

    /// Returns the slice of the nearest directive that declares permissions, from the leaf to the root (SPEC D5).
    fn permissions(&self) -> Option<String> {
        let mut upward = self.chain().into_iter().rev();
        upward
            .find_map(|link| link.directive.permissions.as_ref())
            .map(|permissions| permissions.value.raw.clone())
    }

    fn style(&self) -> ReturnStyle {
        self.sidecar["style"].as_str().map_or(ReturnStyle::Call, |style| {
            style.parse().expect("because fixtures name a style")
        })
    }

    fn prompt(&self) -> String {
        match render(self.leaf(), self.permissions().as_deref(), &self.inputs(), self.style()) {
            Ok(prompt) => prompt,
            Err(error) => panic!("{}: {error}", self.id),
        }
    }

    fn opening(&self, prompt: &str) -> Opening {
        let knowledge = object(&self.sidecar["knowledge"]);
        let knowledge: BTreeMap<String, String> =
            knowledge.into_iter().map(|(id, text)| (id, string(&text).to_owned())).collect();
        let context = match compose(&self.chain(), &knowledge) {
            Ok(context) => context.with_hooks(&self.hooks()),
            Err(error) => panic!("{}: {error}", self.id),
        };
        let tool_names: Vec<String> =
            strings(&self.sidecar["tool_names"]).map(str::to_owned).collect();
        let facts =
            SystemFacts { leaf: self.leaf(), inputs: &self.inputs(), tool_names: &tool_names };
        let template = self.sidecar["system_template"].as_str();
        let template = template.map(|template| {
            system(template, &facts).expect("because fixtures have good templates")
        });
        opening(&context, prompt, template.as_deref())
    }

    fn hooks(&self) -> Vec<HookEntry> {
        self.sidecar["hooks"].as_array().into_iter().flatten().map(hook).collect()
    }

    /// Asserts that the prompt is correct; a snapshot only asserts that it did not change.
    fn assert_invariants(&self, prompt: &str) {
        let id = &self.id;
        assert_eq!(self.prompt(), *prompt, "{id}: rendering twice gives equal bytes");
        assert!(prompt.starts_with("<directive name=\""), "{id}: begins with the frame");
        assert!(prompt.ends_with("\n</directive>"), "{id}: ends with the frame");
        let unfilled = template(self.leaf(), self.permissions().as_deref(), self.style());
        for tag in ["<directive", "</directive"] {
            assert_eq!(
                prompt.matches(tag).count(),
                unfilled.matches(tag).count(),
                "{id}: values add no `{tag}`"
            );
        }
        for (name, value) in self.inputs().values() {
            for start in [format!("{{input:{name}"), format!("${{inputs.{name}")] {
                let unplaced = prompt
                    .match_indices(&start)
                    .any(|(at, _)| prompt[at + start.len()..].starts_with(['}', '?', ':', '|']));
                assert!(
                    !unplaced,
                    "{id}: `{name}` is bound to {value} and stands nowhere as a placeholder"
                );
            }
        }
        if rye_parse::placeholders(&unfilled).is_empty() {
            assert_eq!(unfilled, prompt, "{id}: without placeholders the template is the prompt");
        }
    }
}

fn read(path: &Path) -> Directive {
    match std::fs::read_to_string(path) {
        Ok(source) => parse(&source),
        Err(error) => panic!("{}: {error}", path.display()),
    }
}

fn hook(entry: &Value) -> HookEntry {
    HookEntry {
        position: match string(&entry["position"]) {
            "system" => Position::System,
            "before" => Position::Before,
            "after" => Position::After,
            other => panic!("no position: {other}"),
        },
        id: string(&entry["id"]).to_owned(),
        name: string(&entry["name"]).to_owned(),
        content: string(&entry["content"]).to_owned(),
        wrap: if entry["wrap"] == true { Wrap::Element } else { Wrap::Bare },
    }
}

fn object(value: &Value) -> BTreeMap<String, Value> {
    if value.is_null() { BTreeMap::new() } else { values(value.clone()) }
}

fn string(value: &Value) -> &str {
    value.as_str().expect("because the sidecar has text here")
}

fn strings(value: &Value) -> impl Iterator<Item = &str> {
    value.as_array().into_iter().flatten().map(string)
}
