//! `rye trust policy`: the difference from the pinned policy of the project, and its acceptance (SPEC 4.3).

use clap::Args;
use rye::{FileChanges, ProjectPolicy};
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Answer;

/// Compare the project's policy with the pinned one, and accept what differs
#[derive(Debug, Args)]
#[command(
    after_help = "The policy is every file below `.ai/config` and `.ai/tools/rye/agent/providers`, and `.ai/rye.lock`. Where the \
                  sandbox does not keep programs from changing it, the first run that starts programs pins it, and later runs are \
                  refused while it differs. Exits with 3 while it does.\n\n\
                  Examples:\n  rye trust policy\n  rye trust policy --accept\n  rye trust policy --json"
)]
pub(crate) struct Arguments {
    /// Accept the files as they are now: later runs are held against them
    #[arg(long)]
    accept: bool,
}

pub(super) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let user = environment.user()?;
    let pins = environment.policy_pins().ok_or_else(|| {
        Failure::failed(format!("the user space `{}` is no folder", user.display()))
    })?;
    let policy = ProjectPolicy::new(environment.project()?, &pins);
    let policy = policy.map_err(|error| Failure::of(&error, Exit::Failed))?;
    let change = if arguments.accept { policy.accept() } else { policy.change() };
    let change = change.map_err(|error| Failure::of(&error, Exit::Failed))?;
    tell(change.as_ref(), arguments.accept, environment);
    let differs = change.is_some_and(|change| !change.is_empty());
    Ok(if differs && !arguments.accept { Exit::Refused } else { Exit::Fine })
}

fn tell(change: Option<&FileChanges>, is_accepted: bool, environment: &Environment) {
    let none = FileChanges::default();
    let FileChanges { added, changed, removed, .. } = change.unwrap_or(&none);
    if environment.json() {
        let of = |change: &'static str, paths: &[String]| {
            let rows = paths.iter().map(move |path| json!({ "path": path, "change": change }));
            rows.collect::<Vec<_>>()
        };
        let rows = [of("added", added), of("changed", changed), of("removed", removed)].concat();
        let is_fine = is_accepted || change.is_none_or(FileChanges::is_empty);
        let answer = Answer::of("files", rows).fine_if(is_fine).with("accepted", is_accepted);
        return answer.with("pinned", change.is_some() || is_accepted).print();
    }
    for (word, paths) in [("added", added), ("changed", changed), ("removed", removed)] {
        paths.iter().for_each(|path| println!("{word:<8} {path}"));
    }
    match change {
        _ if is_accepted => println!("accepted: later runs are held against these files"),
        None => println!("no policy is pinned for this project"),
        Some(change) if change.is_empty() => println!("the policy is the pinned one"),
        Some(_) => println!("`rye trust policy --accept` accepts these files"),
    }
}
