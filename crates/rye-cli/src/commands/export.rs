//! `rye export`.

mod writing;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::parse::{ContextContent, Directive};
use rye::port::{
    Access, ExportedFile, ExportedSkill, LeftOut, PluginFacts, PluginName, agents_section,
    left_out, plugin, skill, skill_names, subagent,
};
use rye::primary::needed_items;
use rye::resolve::{ExtendsChain, FilePath, ItemId};
use rye::sign::{KeyId, Provenance};
use rye::types::{ItemKind, ReturnStyle};
use rye::{Explained, Lock, PlanRequest, Rye, Signer};
use serde_json::{Value, json};

use self::writing::{refuse_existing, write_together};
use super::{lock, trust};
use crate::directive::resolve_directive;
use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Write directives in forms that other agent programs read
#[derive(Debug, Args)]
#[command(
    after_help = "Only verified directives are exported, and no file is replaced. What is written tells an agent how to get the \
                  directive from `rye mcp`, so that the signature counts whenever it is used; with --text, it is the rendered \
                  text, for agents without Rye. The output says what is left out, such as permissions.\n\n\
                  A plugin holds the signed items and the trust document of their signer. Its server starts without rights of its \
                  own, and its user trusts the key with `rye trust add`.\n\n\
                  Examples:\n  rye export skill notes/index --to .claude/skills\n  rye export skill notes/index --text --to skills\n  \
                  rye export plugin notes/index notes/plan --name notes --to plugins\n  \
                  rye export subagent notes/index --to .claude/agents\n  rye export agents-md notes/index --to ."
)]
pub(crate) struct Arguments {
    /// The form: Agent Skills, an Agent Plugin 1.0 with the signed items, subagents of Claude Code, or one file AGENTS.md
    form: Form,
    /// The directives: ids, or files in one of the spaces
    #[arg(required = true)]
    directives: Vec<String>,
    /// The folder that gets the files
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Put the rendered text into the file of a skill or a subagent, with the inputs described
    #[arg(long)]
    text: bool,
    /// The name of the plugin; default: that of the first directive's skill
    #[arg(long, value_name = "NAME")]
    name: Option<PluginName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    Skill,
    Plugin,
    Subagent,
    AgentsMd,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    refuse_contradictions(arguments)?;
    let rye = environment.rye()?;
    let mut exported = Vec::new();
    for argument in &arguments.directives {
        let id = resolve_directive(argument, &rye, environment)?;
        if exported.iter().all(|known: &Verified| known.id != id) {
            exported.push(Verified::of(&rye, id, arguments.text)?);
        }
    }
    let files = match arguments.form {
        Form::Skill => exported.iter().flat_map(skill_files).collect(),
        Form::Subagent => exported.iter().map(subagent_file).collect(),
        Form::AgentsMd => vec![agents_file(&exported)],
        Form::Plugin => plugin_files(&exported, arguments, &rye, environment)?,
    };
    let folder = environment.absolute(&arguments.to);
    let written: Vec<&ExportedFile> = files.iter().map(|made| &made.file).collect();
    refuse_existing(&folder, &written)?;
    write_together(&folder, &written)?;
    tell(&folder, &files, environment);
    Ok(Exit::Fine)
}

fn refuse_contradictions(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { form, text, name, .. } = arguments;
    if *text && !matches!(form, Form::Skill | Form::Subagent) {
        return Err(Failure::usage(
            "`--text` is for `skill` and `subagent`; the other forms name directives that `rye mcp` serves",
        ));
    }
    if name.is_some() && *form != Form::Plugin {
        return Err(Failure::usage(
            "`--name` is for `plugin`; the other names follow from the ids of the directives",
        ));
    }
    Ok(())
}

/// A directive whose every part is verified.
struct Verified {
    id: ItemId,
    name: String,
    chain: ExtendsChain,
    /// The rendered text, if it is wanted.
    text: Option<String>,
}

impl Verified {
    fn of(rye: &Rye, id: ItemId, has_text: bool) -> Result<Self, Failure> {
        let chain = rye.library().chain(rye.library().directive(&id)?)?;
        let mut request = PlanRequest::new(id.clone());
        request.returns = Some(ReturnStyle::Block);
        let explained = Explained::of(rye, &request)?;
        let unsigned = explained
            .items()
            .into_iter()
            .find(|item| !matches!(item.signer, Signer::Builtin | Signer::Key { .. }));
        if let Some(item) = unsigned {
            return Err(Failure::refused(format!(
                "directive `{id}` is not exported, because no key signed {}; review it and sign it with `rye sign {}`",
                item.name(),
                item.location.path.display()
            )));
        }
        let system = explained.system.map(|system| format!("{system}\n\n")).unwrap_or_default();
        let text = has_text.then(|| format!("{system}{}", explained.first_user_message));
        let name = name_of(rye, &id);
        Ok(Self { id, name, chain, text })
    }

    fn directive(&self) -> &Directive {
        self.chain.leaf().content.value()
    }

    /// The plain files of the project that the context of the chain names.
    fn plain_files(&self) -> Vec<FilePath> {
        let links = self.chain.root_first().map(|link| link.content.value());
        let entries = links.flat_map(|link| &link.context);
        let path = |entry: &ContextContent| match entry {
            ContextContent::File(path) => path.parse().ok(),
            ContextContent::Inline(_) | ContextContent::Knowledge(_) => None,
        };
        entries.filter_map(|entry| path(&entry.value.content)).collect()
    }

    fn access(&self) -> Access<'_> {
        self.text.as_deref().map_or(Access::RyeServer, Access::Text)
    }

    fn skill(&self) -> ExportedSkill {
        skill(&self.id, self.directive(), &self.name, self.access())
    }

    /// Makes a file of this directive.
    fn made(&self, path: String, text: String) -> Made {
        let left_out = self.left_out(&path);
        Made { file: ExportedFile::new(path, text), ids: vec![self.id.clone()], left_out }
    }

    fn left_out(&self, path: &str) -> Vec<LeftOut> {
        let chain: Vec<&Directive> =
            self.chain.root_first().map(|link| link.content.value()).collect();
        left_out(path, &chain, self.access())
    }
}

/// Returns the name of a directive's skill, the same as `rye mcp` gives it.
fn name_of(rye: &Rye, id: &ItemId) -> String {
    let survey = rye.library().survey(ItemKind::Directive);
    let ids: Vec<&str> = survey.items.iter().map(|listed| listed.id.as_str()).collect();
    let named = ids.iter().zip(skill_names(&ids)).find(|(known, _)| **known == id.as_str());
    named.map_or_else(|| skill_names(&[id.as_str()]).concat(), |(_, name)| name)
}

/// A file that is about to be written.
struct Made {
    file: ExportedFile,
    ids: Vec<ItemId>,
    left_out: Vec<LeftOut>,
}

fn skill_files(verified: &Verified) -> Vec<Made> {
    let source = &verified.chain.leaf().source;
    let files = verified.skill().files(verified.access(), source).into_iter();
    let made = files.enumerate().map(|(place, file)| match place {
        0 => verified.made(file.path, file.text),
        _ => Made { file, ids: vec![verified.id.clone()], left_out: Vec::new() },
    });
    made.collect()
}

fn subagent_file(verified: &Verified) -> Made {
    let Verified { id, name, .. } = verified;
    let text = subagent(id, verified.directive(), name, verified.access());
    verified.made(format!("{name}.md"), text)
}

fn agents_file(exported: &[Verified]) -> Made {
    let directives: Vec<(&ItemId, &Directive)> =
        exported.iter().map(|verified| (&verified.id, verified.directive())).collect();
    let mut left_out: Vec<LeftOut> = Vec::new();
    for part in exported.iter().flat_map(|verified| verified.left_out(AGENTS)) {
        if !left_out.contains(&part) {
            left_out.push(part);
        }
    }
    let ids = exported.iter().map(|verified| verified.id.clone()).collect();
    Made { file: ExportedFile::new(AGENTS, agents_section(&directives)), ids, left_out }
}

const AGENTS: &str = "AGENTS.md";

fn plugin_files(
    exported: &[Verified],
    arguments: &Arguments,
    rye: &Rye,
    environment: &Environment,
) -> Result<Vec<Made>, Failure> {
    let skills: Vec<ExportedSkill> = exported.iter().map(Verified::skill).collect();
    let first = exported.first().zip(skills.first());
    let Some((first, first_skill)) = first else { return Ok(Vec::new()) };
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => first.name.parse().map_err(|error| Failure::of(&error, Exit::Usage))?,
    };
    let description = match skills.len() {
        1 => first_skill.frontmatter.description.clone(),
        _ => format!("The directives {}.", listed(exported)),
    };
    let folder = name.to_string();
    let mut facts = PluginFacts::new(name, description);
    let version = first.directive().version.as_ref().map(|version| version.value.clone());
    facts.version = version.filter(|_| exported.len() == 1);
    let files = plugin(&facts, &skills, own_files(exported, rye, environment)?).into_iter();
    let made = files.map(|file| {
        let path = format!("{folder}/{}", file.path);
        let of_skill = exported
            .iter()
            .find(|verified| file.path == format!("skills/{}/SKILL.md", verified.name));
        match of_skill {
            Some(verified) => verified.made(path, file.text),
            None => {
                let is_manifest = file.path == MANIFEST;
                let left_out = if is_manifest { not_in_plugin(&path) } else { Vec::new() };
                Made { left_out, file: ExportedFile::new(path, file.text), ids: Vec::new() }
            }
        }
    });
    Ok(made.collect())
}

const MANIFEST: &str = "plugin.json";

/// The parts of the project that decide about runs and are no items.
fn not_in_plugin(file: &str) -> Vec<LeftOut> {
    let parts = [
        (
            "trust",
            "the plugin makes no key count; its user adds the document in its folder `trust` with `rye trust add`",
        ),
        (
            "configuration",
            "hooks files, providers, MCP servers, limits and approval rules are those of the plugin's user",
        ),
    ];
    parts.into_iter().map(|(field, reason)| LeftOut::new(file, field, reason)).collect()
}

fn listed(exported: &[Verified]) -> String {
    exported.iter().map(|verified| verified.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// Returns the files of the plugin's project: the items that the directives need, the documents of the keys that signed them, and what
/// the lock of this project says of the directives.
fn own_files(
    exported: &[Verified],
    rye: &Rye,
    environment: &Environment,
) -> Result<Vec<ExportedFile>, Failure> {
    let mut files: Vec<ExportedFile> = Vec::new();
    let mut keys: Vec<KeyId> = Vec::new();
    for Verified { id, .. } in exported {
        for (kind, id) in needed_items(rye, ItemKind::Directive, id)? {
            let item = rye.library().text(kind, &id)?;
            let Provenance::Signed(signature) = item.content.provenance() else { continue };
            let path = format!(".ai/{}/{id}.{}", kind.folder(), item.location.extension());
            if files.iter().all(|file| file.path != path) {
                files.push(ExportedFile::new(path, &*item.source));
            }
            if !keys.contains(signature.key_id()) {
                keys.push(signature.key_id().clone());
            }
        }
    }
    for verified in exported {
        for file in verified.plain_files() {
            let item = rye.library().file(&file)?;
            if let Provenance::Signed(signature) = item.content.provenance() {
                if !keys.contains(signature.key_id()) {
                    keys.push(signature.key_id().clone());
                }
                let project = environment.project()?;
                let signature = read_text(&project.join(file.signature()))?;
                files.push(ExportedFile::new(file.as_str(), &*item.source));
                files.push(ExportedFile::new(file.signature(), signature));
            }
        }
    }
    files.sort_by(|one, other| one.path.cmp(&other.path));
    files.dedup_by(|one, other| one.path == other.path);
    let documents = trust::documents_to_hand_on(&keys, environment)?;
    files.extend(
        keys.iter()
            .zip(documents)
            .map(|(key_id, document)| ExportedFile::new(format!("trust/{key_id}.toml"), document)),
    );
    files.extend(lock_of(exported, rye, environment)?);
    files.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(files)
}

/// Returns the part of the project's lock that is about the directives.
fn lock_of(
    exported: &[Verified],
    rye: &Rye,
    environment: &Environment,
) -> Result<Option<ExportedFile>, Failure> {
    if rye.library().spaces().project().is_none() {
        return Ok(None);
    }
    let path = lock::path(environment)?;
    if !path.exists() {
        return Ok(None);
    }
    let whole: Lock =
        read_text(&path)?.parse().map_err(|error| Failure::of(&error, Exit::Failed))?;
    let mut lock = Lock::default();
    exported.iter().for_each(|verified| lock.keep(&verified.id, &whole));
    let is_empty = lock.directives().next().is_none();
    Ok((!is_empty).then(|| ExportedFile::new(LOCK, lock.to_string())))
}

const LOCK: &str = ".ai/rye.lock";

fn tell(folder: &Path, files: &[Made], environment: &Environment) {
    if environment.json() {
        return Answer::of("files", files.iter().map(|made| row(folder, made))).print();
    }
    for Made { file, left_out, .. } in files {
        println!("{}", folder.join(&file.path).display());
        for LeftOut { field, reason, .. } in left_out {
            println!("  without {field}: {reason}");
        }
    }
}

fn row(folder: &Path, made: &Made) -> Value {
    let Made { file, ids, left_out } = made;
    let left_out = left_out.iter();
    json!({
        "path": output::path(&folder.join(&file.path)),
        "directives": ids.iter().map(ItemId::as_str).collect::<Value>(),
        "left_out": left_out.map(|part| json!({ "field": part.field, "reason": part.reason })).collect::<Value>(),
    })
}
