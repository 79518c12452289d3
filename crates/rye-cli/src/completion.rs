//! Completion of commands, options, ids, keys, threads and paths. Shells call this program for it, with
//! `RYE_COMPLETE` set.
//!
//! Completion only reads: it verifies no item and writes nothing. If something cannot be read, it has no
//! candidates.

use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::ExitCode;
use std::sync::Arc;

use clap::builder::ValueParser;
use clap::{Arg, Command, value_parser};
use clap_complete::Shell;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use clap_complete::env::{CompleteEnv, Shells};
use rye::resolve::{ItemId, Library, TrustEntry, trust_entries};
use rye::sign::{Policy, TrustStore};
use rye::thread::ThreadReference;
use rye::types::ItemKind;

use crate::directive::{own_ids, schema_of_tool};
use crate::directive_inputs::inputs_of;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::thread_argument::{folders, threads_folder};
use crate::typed_spaces::environment_of;

/// The variable that the script of a shell sets to the name of the shell.
const VARIABLE: &str = "RYE_COMPLETE";

const PROGRAM: &str = "rye";

/// The folder of provider configurations among the tools.
const PROVIDERS: &str = "rye/agent/providers/";

/// Answers the script of a shell about the commands of `program`. Returns `None` if no script asks.
pub(crate) fn answer(words: &[OsString], program: fn() -> Command) -> Option<ExitCode> {
    let command = || add_completers(program(), &Arc::new(Place::of(words)));
    let completion = CompleteEnv::with_factory(command).var(VARIABLE).bin(PROGRAM);
    match completion.completer(PROGRAM).try_complete(words.to_vec(), None) {
        Ok(false) => None,
        Ok(true) => Some(ExitCode::SUCCESS),
        Err(error) => {
            eprint!("{error}");
            Some(Exit::Usage.into())
        }
    }
}

/// Returns the script that makes a shell ask this program.
pub(crate) fn script(shell: Shell) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(&shell.to_string());
    let shell = shell.expect("because both lists hold the same five shells");
    shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, &mut script)?;
    Ok(script)
}

/// Adds completers to a command and its subcommands, for arguments that name an item, a key, a thread or a file.
fn add_completers(command: Command, place: &Arc<Place>) -> Command {
    // The name of a new item does not exist yet.
    if command.get_name() == "new" {
        return command;
    }
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| match Wanted::of(&argument, &name) {
        Some(wanted) => {
            let place = Arc::clone(place);
            argument.add(ArgValueCompleter::new(move |word: &OsStr| place.candidates(wanted, word)))
        }
        None => argument,
    });
    command.mut_subcommands(|command| add_completers(command, place))
}

/// The kinds of arguments with completers.
#[derive(Clone, Copy, Debug)]
enum Wanted {
    Directive,
    Input,
    Tool,
    /// An argument of the tool of `rye call`.
    ToolArgument,
    Item,
    /// Files, folders or ids of items.
    Files,
    Key,
    Provider,
    Thread,
    Path,
}

impl Wanted {
    /// Returns the kind of an argument of the command `command`.
    fn of(argument: &Arg, command: &str) -> Option<Self> {
        let parser = argument.get_value_parser().type_id();
        if parser == ValueParser::from(value_parser!(ThreadReference)).type_id() {
            return Some(Self::Thread);
        }
        let id = argument.get_id().as_str();
        if parser == ValueParser::path_buf().type_id() {
            return Some(if id == "paths" { Self::Files } else { Self::Path });
        }
        match id {
            "directive" | "directives" | "sides" => Some(Self::Directive),
            "arguments" | "inputs" | "raw" if command == "call" => Some(Self::ToolArgument),
            "inputs" | "raw" => Some(Self::Input),
            "tool" => Some(Self::Tool),
            "id" => Some(Self::Item),
            "key_id" => Some(Self::Key),
            "provider" => Some(Self::Provider),
            _ => None,
        }
    }
}

/// The environment of the candidates: the spaces and the project in the words.
struct Place {
    environment: Option<Environment>,
    typed: Vec<OsString>,
}

impl Place {
    /// Reads the words after the name of the program.
    fn of(words: &[OsString]) -> Self {
        let typed = words.iter().skip_while(|word| *word != "--").skip(2).cloned();
        let typed: Vec<OsString> = typed.collect();
        Self { environment: environment_of(&typed), typed }
    }

    /// Returns the candidates for `word`.
    fn candidates(&self, wanted: Wanted, word: &OsStr) -> Vec<CompletionCandidate> {
        let Some(text) = word.to_str() else { return Vec::new() };
        let names = match wanted {
            Wanted::Directive => self.items(&[ItemKind::Directive]),
            Wanted::Input => self.inputs(),
            Wanted::Tool => self.tools(),
            Wanted::ToolArgument => self.tool_arguments(),
            Wanted::Files => return self.files(word),
            Wanted::Item => self.items(&[ItemKind::Directive, ItemKind::Knowledge, ItemKind::Tool]),
            Wanted::Key => self.keys(),
            Wanted::Provider => self.providers(),
            Wanted::Thread => self.threads(),
            Wanted::Path => return paths(word),
        };
        let fitting = names.into_iter().filter(|name| name.starts_with(text));
        let found: Vec<CompletionCandidate> = fitting.map(CompletionCandidate::new).collect();
        // A directive may also be named by its file.
        match wanted {
            Wanted::Directive if found.is_empty() => paths(word),
            _ => found,
        }
    }

    fn items(&self, kinds: &[ItemKind]) -> Vec<String> {
        let Some(environment) = &self.environment else { return Vec::new() };
        let trust = TrustStore::default();
        let policy = Policy::default();
        let library = Library::new(environment.spaces(), trust, policy, Environment::now());
        let listed = kinds.iter().flat_map(|kind| library.survey(*kind).items);
        let mut ids: Vec<String> = listed.map(|item| item.id.to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the inputs of the directive that was typed, as `NAME=`.
    fn inputs(&self) -> Vec<String> {
        let environment = self.environment.as_ref();
        let found = environment.and_then(|environment| inputs_of(&self.typed, environment));
        let inputs = found.map(|(_, inputs)| inputs).unwrap_or_default();
        inputs.iter().map(|input| format!("{}=", input.name.value)).collect()
    }

    /// Returns the arguments of the tool that was typed, as `NAME=`.
    fn tool_arguments(&self) -> Vec<String> {
        let Some(environment) = &self.environment else { return Vec::new() };
        let words = self.typed.iter().skip_while(|word| *word != "call").skip(1);
        let ids = words.filter_map(|word| word.to_str()?.parse::<ItemId>().ok());
        let schema = ids.filter_map(|id| schema_of_tool(&id, environment)).next();
        let names = schema.as_ref().and_then(|schema| schema.get("properties")?.as_object());
        let plain = names.into_iter().flatten().filter(|(name, _)| is_plain(name));
        plain.map(|(name, _)| format!("{name}=")).collect()
    }

    /// Returns the files and folders, the `.ai` folder among them, and the ids of the operator's own items.
    fn files(&self, word: &OsStr) -> Vec<CompletionCandidate> {
        let shown = |candidate: CompletionCandidate| match candidate.get_value() == ".ai/" {
            true => candidate.hide(false),
            false => candidate,
        };
        let ids = self.environment.as_ref().map(own_ids).unwrap_or_default();
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.retain(|id| word.to_str().is_some_and(|text| id.starts_with(text)));
        ids.sort_unstable();
        ids.dedup();
        let ids = ids.into_iter().map(CompletionCandidate::new);
        paths(word).into_iter().map(shown).chain(ids).collect()
    }

    fn tools(&self) -> Vec<String> {
        let mut tools = self.items(&[ItemKind::Tool]);
        tools.retain(|id| !id.starts_with(PROVIDERS));
        tools
    }

    fn providers(&self) -> Vec<String> {
        let tools = self.items(&[ItemKind::Tool]);
        let names = tools.iter().filter_map(|id| id.strip_prefix(PROVIDERS));
        names.chain(["steps"]).map(str::to_owned).collect()
    }

    /// Returns the ids of the keys that have trust documents.
    fn keys(&self) -> Vec<String> {
        let Some(environment) = &self.environment else { return Vec::new() };
        let reading = trust_entries(&environment.spaces(), &[], Environment::now());
        let documents = reading.map(|reading| reading.documents).unwrap_or_default();
        let documents = documents.iter().filter_map(TrustEntry::document);
        let mut ids: Vec<String> = documents.map(|it| it.key().key_id().to_string()).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns the threads of the project, newest first.
    fn threads(&self) -> Vec<String> {
        let folder = self.environment.as_ref().and_then(|it| threads_folder(it).ok());
        let ids = folder.map(|folder| folders(&folder)).unwrap_or_default();
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        // The end of an id is a UUID, which begins with its time.
        ids.sort_by_cached_key(|id| {
            Reverse(id.get(id.len().saturating_sub(36)..).map(str::to_owned))
        });
        ids
    }
}

/// Returns the files and folders whose paths begin with the word.
fn paths(word: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = PathCompleter::any().complete(word);
    found.retain(|candidate| candidate.get_value().to_str().is_some_and(is_plain));
    found
}

/// Returns `true` if a shell takes the name literally. Some shells do not quote candidates, so that the name
/// of a file in a foreign project could become a command.
fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_alphanumeric() || "_-./+,@:=".contains(c))
}
