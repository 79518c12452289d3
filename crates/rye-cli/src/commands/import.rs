//! `rye import PATH`.

mod read;

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use rye::Complexity;
use rye::port::{Import, ImportError, ImportOptions, LeftOut, Target, import, with_servers};
use rye::resolve::ItemId;
use rye::sign::TrustedKey;
use rye::types::ItemKind;
use serde_json::{Value, json};

use crate::environment::{Environment, read_text};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::files::{self, refuse_links};
use crate::key_store::signing_key_if_any;
use crate::output::{self, Answer};

/// Make drafts of skills, subagents, commands, recipes, rules, prompts, tool schemas and servers of other programs
#[derive(Debug, Args)]
#[command(
    after_help = "The command recognises what a file or a folder is and writes unsigned drafts. No draft grants what its source asks for: a \
                  comment in the draft has the permissions that would give it. Each field that is left out is printed with its \
                  reason, and each decision that is left to you.\n\n\
                  Skills (SKILL.md), plugins, subagents and commands of Claude Code, AGENTS.md and other rules, goose recipes, commands of \
                  Gemini CLI, GitHub Agentic Workflows, Dotprompt, Prompty, prompts of VS Code, servers of MCP clients, tool schemas of \
                  OpenAI and Anthropic, crewAI, and items of the original system are known.\n\n\
                  Examples:\n  rye import .claude/skills/pdf\n  rye import .claude --dry-run\n  \
                  rye import AGENTS.md --as knowledge --to team/rules\n  rye import .vscode/mcp.json --project ~"
)]
pub(crate) struct Arguments {
    /// A file or a folder
    path: PathBuf,
    /// The kind of item to make of it; default: the one that its form is made into
    #[arg(long = "as", value_name = "KIND", value_enum)]
    target: Option<Kind>,
    /// The id of the item, or the folder of several
    #[arg(long, value_name = "ID")]
    to: Option<ItemId>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    Directive,
    Knowledge,
    Tool,
    Server,
}

impl Kind {
    fn target(self) -> Target {
        match self {
            Self::Directive => Target::Directive,
            Self::Knowledge => Target::Knowledge,
            Self::Tool => Target::Tool,
            Self::Server => Target::Server,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let folder = environment.items_folder()?.join(".ai");
    let (source, passed_over) = read::source(&environment.absolute(&arguments.path))?;
    let options = options(arguments, environment)?;
    let mut imported = import(&source, &options).map_err(|error| failure(&error))?;
    imported.left_out.extend(passed_over);
    let files = files_of(&imported, &folder)?;
    refuse_existing(&files)?;
    if !arguments.dry_run {
        write(&files)?;
    }
    if environment.json() {
        answer(&imported, &files, arguments.dry_run).print();
    } else {
        tell(&imported, &files, arguments.dry_run, environment);
    }
    Ok(Exit::Fine)
}

fn failure(error: &ImportError) -> Failure {
    match error {
        ImportError::NotSuch { .. } => Failure::usage(error.to_string()),
        _ => Failure::of(error, Exit::Failed),
    }
}

fn options(arguments: &Arguments, environment: &Environment) -> Result<ImportOptions, Failure> {
    let class = Complexity::Moderate;
    let rye = environment.rye()?;
    let limits = rye.class_limits(class)?;
    let limits = [
        ("turns", limits.turns.to_string()),
        ("tokens", limits.tokens.to_string()),
        ("spend", limits.spend),
    ];
    let key = signing_key_if_any(environment)?;
    let trust = rye.library().trust();
    let owner = key.and_then(|key| {
        trust.find(key.public().key_id()).and_then(TrustedKey::owner).map(str::to_owned)
    });
    let author = owner.unwrap_or_default();
    let mut options = ImportOptions::new(&author, class.tier(), limits.into());
    options.target = arguments.target.map(Kind::target);
    options.to.clone_from(&arguments.to);
    Ok(options)
}

/// A file that is to be written.
struct Written {
    path: PathBuf,
    text: String,
    /// The text that the file has, if it is one that gets further entries.
    old: Option<String>,
}

fn files_of(imported: &Import, folder: &Path) -> Result<Vec<Written>, Failure> {
    let drafts = imported.drafts.iter();
    let mut files: Vec<Written> = drafts
        .map(|draft| Written {
            path: folder.join(&draft.path),
            text: draft.text.clone(),
            old: None,
        })
        .collect();
    if !imported.servers.is_empty() {
        let path = folder.join("config/mcp/servers.yaml");
        let old = match path.symlink_metadata() {
            Ok(_) => Some(read_text(&path)?),
            Err(_) => None,
        };
        let text = with_servers(old.as_deref(), &imported.servers).map_err(|error| {
            Failure::failed(format!("`{}` stays as it is: {error}", path.display()))
        })?;
        if old.as_ref() != Some(&text) {
            files.push(Written { path, text, old });
        }
    }
    Ok(files)
}

/// Refuses all files that exist, before one is written.
fn refuse_existing(files: &[Written]) -> Result<(), Failure> {
    for file in files {
        refuse_links(&file.path)?;
    }
    let new = files.iter().filter(|file| file.old.is_none());
    let existing: Vec<String> = new
        .flat_map(|file| twins(&file.path))
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| format!("`{}`", path.display()))
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let which = existing.join(", ");
    Err(Failure::failed(format!(
        "nothing is written, because there is already {which}; give another id with `--to`, or remove it"
    )))
}

/// The paths that an item's id may have, whose extensions differ (SPEC 1.4).
fn twins(path: &Path) -> Vec<PathBuf> {
    let kind = rye::place(path).map(|(kind, _)| kind);
    let extensions = kind.map(ItemKind::extensions).unwrap_or_default();
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    extensions.iter().map(|extension| path.with_file_name(format!("{stem}.{extension}"))).collect()
}

/// Writes all files, or none of the new ones.
fn write(files: &[Written]) -> Result<(), Failure> {
    let mut made: Vec<&Path> = Vec::new();
    for file in files {
        let written = match &file.old {
            Some(old) => files::replace(&file.path, old, &file.text),
            None => create(&file.path, &file.text),
        };
        if let Err(failure) = written {
            made.into_iter().for_each(remove);
            return Err(failure);
        }
        if file.old.is_none() {
            made.push(&file.path);
        }
    }
    Ok(())
}

/// Writes a new file; nothing of it stays if that fails.
fn create(path: &Path, text: &str) -> Result<(), Failure> {
    let written = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        file.write_all(text.as_bytes()).inspect_err(|_| remove(path))
    };
    written().map_err(|source| Failure::io("write", path, &source))
}

/// Removes a file that was made for nothing, and the folders that are empty without it. The failure that is told is the one of the write.
fn remove(path: &Path) {
    let _ = fs::remove_file(path);
    for folder in path
        .ancestors()
        .skip(1)
        .take_while(|folder| folder.file_name().is_none_or(|name| name != ".ai"))
    {
        if fs::remove_dir(folder).is_err() {
            return;
        }
    }
}

fn tell(imported: &Import, files: &[Written], is_dry: bool, environment: &Environment) {
    for found in &imported.found {
        let place = if found.path.is_empty() { "." } else { &found.path };
        println!("{}  {}", found.format, output::line(place));
    }
    let done = if is_dry { "would write" } else { "wrote" };
    for file in files {
        println!("{done}  {}", output::path(&file.path));
    }
    let carried = output::counted(imported.carried.len(), "field");
    println!("{carried} carried over; `--json` lists them");
    let (unknown, left_out): (Vec<&LeftOut>, Vec<&LeftOut>) =
        imported.left_out.iter().partition(|row| row.is_unknown_file());
    heading("left out", left_out.len());
    for row in left_out {
        println!("  {}: {}", field(&row.file, &row.field), output::line(&row.reason));
    }
    if !unknown.is_empty() {
        let first = unknown.first().map(|row| row.file.as_str()).unwrap_or_default();
        let count = output::counted(unknown.len(), "file");
        println!("  {count} without a known form, such as `{}`", output::line(first));
    }
    heading("asked for, and not granted", imported.asked.len());
    for row in &imported.asked {
        let entries = row.entries.join(" ");
        let parts = [entries.as_str(), row.note.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        println!("  {}: {}", field(&row.file, &row.asked), output::line(&parts.join("; ")));
    }
    heading("for you to decide", imported.decisions.len());
    for row in &imported.decisions {
        println!("  .ai/{}: {}", output::line(&row.path), output::line(&row.what));
    }
    if !is_dry && !files.is_empty() {
        println!("next: read the drafts, then `rye check` and `rye sign` them");
        if !imported.servers.is_empty() {
            let runs =
                if environment.items_are_of_user() { "all projects" } else { "this project" };
            println!("until the file of the servers is signed, runs of {runs} are refused");
        }
    }
}

fn heading(title: &str, count: usize) {
    if count > 0 {
        println!("{title}:");
    }
}

fn field(file: &str, field: &str) -> String {
    let field = if field.is_empty() { String::new() } else { format!("  {}", output::line(field)) };
    format!("{}{field}", output::line(file))
}

fn answer(imported: &Import, files: &[Written], is_dry: bool) -> Answer {
    let found = imported.found.iter();
    let carried = imported.carried.iter();
    let left_out = imported.left_out.iter();
    let asked = imported.asked.iter();
    let decisions = imported.decisions.iter();
    let row = |file: &Written| {
        let draft = imported.drafts.iter().find(|draft| file.path.ends_with(&draft.path));
        json!({
            "path": output::path(&file.path),
            "kind": draft.map_or("config", |draft| draft.kind.as_str()),
            "id": draft.map_or("mcp/servers", |draft| draft.id.as_str()),
            "from": draft.map(|draft| draft.from.as_str()),
            "text": is_dry.then_some(&file.text),
        })
    };
    Answer::of("drafts", files.iter().map(row))
        .beside("found", found.map(|row| json!({ "format": row.format.to_string(), "path": row.path })))
        .beside("carried", carried.map(|row| json!({ "file": row.file, "field": row.field, "to": row.to })))
        .beside("left_out", left_out.map(|row| json!({ "file": row.file, "field": row.field, "reason": row.reason })))
        .beside(
            "asked",
            asked.map(|row| json!({ "file": row.file, "asked": row.asked, "entries": row.entries, "note": row.note })),
        )
        .beside("decisions", decisions.map(|row| -> Value { json!({ "path": row.path, "what": row.what }) }))
        .with("written", !is_dry)
}
