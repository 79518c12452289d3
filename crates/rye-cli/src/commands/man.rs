//! `rye man [DIR]`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Command};
use clap_mangen::Man;
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Print the program's manual page, or write the pages of all commands
#[derive(Debug, Args)]
#[command(
    after_help = "The pages say what `--help` says. A page of the same name is replaced, so that those of a newer version take \
                        the place of older ones; pages of commands that are gone stay.\n\n\
                        Examples:\n  rye man | man -l -\n  rye man ~/.local/share/man/man1"
)]
pub(crate) struct Arguments {
    /// The folder to write the pages into, made where it is missing; without it, the program's own page is printed
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints or writes the pages of `program`.
pub(crate) fn run(
    arguments: &Arguments,
    mut program: Command,
    environment: &Environment,
) -> Result<Exit, Failure> {
    // After the build, each command knows its full name and the global options.
    program.build();
    let Some(folder) = &arguments.folder else {
        let (_, page) = page(&program);
        if environment.json() {
            let row = json!({ "name": "rye.1", "text": String::from_utf8_lossy(&page) });
            Answer::one("pages", row).print();
        } else {
            output::bytes(&page);
        }
        return Ok(Exit::Fine);
    };
    let mut names = Vec::new();
    fs::create_dir_all(folder).map_err(|error| Failure::io("make", folder, &error))?;
    write(&program, folder, &mut names)?;
    if environment.json() {
        let rows = names.iter().map(|name| json!({ "name": name }));
        Answer::of("pages", rows).with("folder", output::path(folder)).print();
    } else {
        println!("{} in {}", output::counted(names.len(), "page"), folder.display());
    }
    Ok(Exit::Fine)
}

fn write(command: &Command, folder: &Path, names: &mut Vec<String>) -> Result<(), Failure> {
    let (name, page) = page(command);
    let path = folder.join(&name);
    fs::write(&path, page).map_err(|error| Failure::io("write", &path, &error))?;
    names.push(name);
    command.get_subcommands().try_for_each(|below| write(below, folder, names))
}

/// Returns the file name and the text of a command's page.
fn page(command: &Command) -> (String, Vec<u8>) {
    let man = Man::new(command.clone()).source(concat!("rye ", env!("CARGO_PKG_VERSION")));
    let mut page = Vec::new();
    man.render(&mut page).expect("because a vector takes every byte");
    (man.get_filename(), page)
}
