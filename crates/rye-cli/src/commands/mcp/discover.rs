//! `rye mcp discover SERVER`.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use rye::{Lock, ServerChange, ServerTools, WrapperFile};
use serde_json::Value;

use crate::commands::lock;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Ask an MCP server for its tools, and write manifests that wrap them
#[derive(Debug, Args)]
#[command(
    after_help = "Starts a server of `config/mcp/servers.yaml`, or goes to its address, and asks what it offers. What it says of \
                  itself is shown with every hidden character spelled out, and compared with what `rye lock --server` wrote down.\n\n\
                  With --write, each tool gets a manifest below `.ai/tools`, which is the only way for a directive to call it. A \
                  file that is there is never changed. Nothing is signed: read each one, because a model will, then sign it.\n\n\
                  Examples:\n  rye mcp discover notes\n  rye mcp discover notes --write\n  \
                  rye mcp discover notes --write --into team/notes --json"
)]
pub(super) struct Arguments {
    /// The server, by its name in `config/mcp/servers.yaml`
    server: String,
    /// Write a manifest for each tool that has none
    #[arg(long)]
    write: bool,
    /// The folder in `.ai/tools` for the manifests; default: `mcp/SERVER`
    #[arg(long, value_name = "FOLDER", requires = "write")]
    into: Option<String>,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let server = &arguments.server;
    let locked = lock::salvage(&lock::path(environment)?)?;
    let offered = super::server_tools(&rye, server)?;
    let changes = offered.changes(locked.server(server));
    let written = match arguments.write {
        true => write(arguments, &offered, environment)?,
        false => Written::default(),
    };
    if environment.json() {
        let mut value = offered.to_json();
        value["locked"] = locked.server(server).is_some().into();
        value["changes"] = changes.iter().map(ServerChange::to_json).collect();
        value["written"] = written.new.iter().map(|path| output::path(path)).collect();
        value["kept"] = written.kept.iter().map(|path| output::path(path)).collect();
        value["problems"] = written.problems.iter().map(String::as_str).collect();
        Answer::one("servers", value).print();
    } else {
        tell(&offered);
        tell_lock(server, &locked, &changes);
        tell_written(server, &written);
    }
    Ok(if written.problems.is_empty() { Exit::Fine } else { Exit::Failed })
}

fn tell(offered: &ServerTools) {
    let counted = output::counted(offered.tools.len(), "tool");
    println!("server {} offers {counted}", offered.server);
    for tool in &offered.tools {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        println!("  {}", name);
        for line in offered.pinned_text(name).lines() {
            println!("    {line}");
        }
    }
    offered.left_out.iter().for_each(|it| println!("left out: {it}"));
    offered.suspicions().iter().for_each(|it| println!("look twice: {it}"));
}

fn tell_lock(server: &str, locked: &Lock, changes: &[ServerChange]) {
    match locked.server(server) {
        None => println!(
            "not locked: nothing of it is called; `rye lock --server {server}` accepts it as it is"
        ),
        Some(_) if changes.is_empty() => println!("as locked"),
        Some(_) => {
            println!(
                "not as locked: nothing of it is called; `rye lock --server {server}` accepts it as it is"
            );
            lock::print_changes(changes);
        }
    }
}

/// The manifests that were written or kept.
#[derive(Default)]
struct Written {
    new: Vec<PathBuf>,
    kept: Vec<PathBuf>,
    problems: Vec<String>,
}

fn write(
    arguments: &Arguments,
    offered: &ServerTools,
    environment: &Environment,
) -> Result<Written, Failure> {
    let usual = format!("mcp/{}", offered.server);
    let folder = arguments.into.as_deref().unwrap_or(&usual);
    let tools = environment.project()?.join(".ai/tools");
    let mut written = Written::default();
    for wrapper in offered.wrappers(folder) {
        match wrapper {
            Ok(wrapper) => one(&tools, &wrapper, &mut written)?,
            Err(error) => written.problems.push(error.to_string()),
        }
    }
    Ok(written)
}

/// Writes a manifest, if no file or link with its path exists.
fn one(tools: &Path, wrapper: &WrapperFile, written: &mut Written) -> Result<(), Failure> {
    let path = tools.join(format!("{}.yaml", wrapper.id));
    if let Some(folder) = path.parent() {
        refuse_links(tools, folder)?;
        fs::create_dir_all(folder).map_err(|source| Failure::io("make", folder, &source))?;
    }
    let file = OpenOptions::new().write(true).create_new(true).open(&path);
    match file.and_then(|mut file| file.write_all(wrapper.text.as_bytes())) {
        Ok(()) => written.new.push(path),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => written.kept.push(path),
        Err(source) => return Err(Failure::io("write", &path, &source)),
    }
    Ok(())
}

/// Refuses links in the path of the manifests. The server ran in the project and may have made them.
fn refuse_links(tools: &Path, folder: &Path) -> Result<(), Failure> {
    let is_link =
        |path: &&Path| fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_symlink());
    let within = folder.ancestors().take_while(|path| path.starts_with(tools));
    match within.into_iter().find(is_link) {
        Some(link) => Err(Failure::io(
            "make",
            link,
            &std::io::Error::other("it is a link, which would lead the manifests elsewhere"),
        )),
        None => Ok(()),
    }
}

fn tell_written(server: &str, written: &Written) {
    written.new.iter().for_each(|path| println!("wrote {}", path.display()));
    written.kept.iter().for_each(|path| println!("kept {}", path.display()));
    written.problems.iter().for_each(|problem| println!("problem: {problem}"));
    if !written.new.is_empty() {
        println!("read each, then `rye sign` them and `rye lock --server {server}`");
    }
}
