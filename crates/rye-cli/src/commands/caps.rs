//! `rye caps …`.

use clap::{Args, Subcommand};
use rye::caps::{Authority, Capability, Denied, LayerName};
use rye::thread::ThreadReference;
use rye::{Privileges, PrivilegesError, Project, ThreadReading, Tightened, Use, Waits};
use serde_json::{Value, json};

use crate::directive::resolve_directive;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::thread_argument::{resolve, unlinked_threads_folder};

/// Look at what directives may do, what of it they use, and how little would do
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say whether a directive may do something, and if not, which layer denies it
    #[command(
        after_help = "The answer is that of a root thread of the directive, and comes with exit code 0 or 3. A capability is \
                      `rye.<execute|search|load|sign>.<tool|directive|knowledge>.<id>`, with the `/` of the id written `.`.\n\n\
                      Examples:\n  rye caps check notes/index rye.execute.tool.rye.file-system.write\n  \
                      rye caps check .ai/directives/notes/index.md rye.load.knowledge.notes.style --json"
    )]
    Check(Check),
    /// Show every layer that has to allow a call: each pattern with its risk, and whether anything uses it
    #[command(
        after_help = "Layers are the operator's policy, the keys whose trust documents limit what they may grant, and the \
                      directive that declares the permissions. What is used is judged by the calls that its steps name, and \
                      by what the given threads really called.\n\n\
                      Examples:\n  rye caps explain notes/index\n  \
                      rye caps explain notes/index --transcript index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Explain(Of),
    /// Print the smallest `<permissions>` block that still covers what the directive's steps and threads need
    #[command(
        after_help = "What becomes of each permission goes to standard error. Steps without a call, and calls that only a model \
                      thinks of, are known from threads alone: give some that did all of the work.\n\n\
                      Examples:\n  rye caps tighten notes/index\n  \
                      rye caps tighten notes/index --transcript index-019a0000-0000-7000-8000-000000000000"
    )]
    Tighten(Of),
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// The directive: its id, or its file in one of the spaces
    directive: String,
    /// The capability, such as `rye.execute.tool.rye.file-system.read`
    capability: String,
}

#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The directive: its id, or its file in one of the spaces
    directive: String,
    /// A thread that ran it: what it called counts as used (may be given many times)
    #[arg(long, value_name = "THREAD_ID")]
    transcript: Vec<ThreadReference>,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    match command {
        Command::Check(arguments) => check(arguments, environment),
        Command::Explain(arguments) => explain(arguments, environment),
        Command::Tighten(arguments) => tighten(arguments, environment),
    }
}

fn check(arguments: &Check, environment: &Environment) -> Result<Exit, Failure> {
    let capability: Capability =
        arguments.capability.parse().map_err(|error| Failure::of(&error, Exit::Usage))?;
    let rye = environment.rye()?;
    let id = resolve_directive(&arguments.directive, &rye, environment)?;
    let privileges = Privileges::of(&rye, &id, &[])?;
    let refusal = privileges.refusal.iter().map(|reason| format!("`{id}` may not run: {reason}"));
    output::warnings(&refusal.collect::<Vec<_>>());
    match privileges.permit(&capability) {
        Ok(permit) => {
            tell_allowed(&privileges, permit.capability(), environment);
            // A directive that may not run does nothing, whatever its permissions are.
            Ok(if privileges.refusal.is_none() { Exit::Fine } else { Exit::Refused })
        }
        Err(denied) => {
            tell_denied(&denied, &privileges, environment);
            Ok(Exit::Refused)
        }
    }
}

fn tell_allowed(privileges: &Privileges, capability: &Capability, environment: &Environment) {
    let by = granting(privileges.authority(), capability);
    if environment.json() {
        let rows = by.iter().map(|(layer, pattern)| json!({ "layer": layer, "pattern": pattern }));
        let row = json!({
            "capability": capability.as_str(),
            "allowed": privileges.refusal.is_none(),
            "by": rows.collect::<Value>(),
            "waits": privileges.waits(capability).as_str(),
            "refusal": privileges.refusal,
        });
        let answer = Answer::one("capabilities", row);
        return answer.fine_if(privileges.refusal.is_none()).print();
    }
    match privileges.refusal {
        None => println!("allowed: `{capability}`"),
        Some(_) => {
            println!("refused: `{capability}` is granted, to a directive that may not run");
        }
    }
    by.iter().for_each(|(layer, pattern)| println!("  by {layer}: `{pattern}`"));
    match privileges.waits(capability) {
        Waits::None => {}
        Waits::Some => println!("  waits for a person's decision where it starts a thread"),
        Waits::Each => println!("  waits for a person's decision at each call"),
    }
}

/// Returns each layer with its pattern that covers the capability.
fn granting(authority: &Authority, capability: &Capability) -> Vec<(String, String)> {
    let layers = authority.layers().iter();
    let pattern =
        |layer: &rye::caps::Layer| layer.grant().granting(capability).map(ToString::to_string);
    layers.filter_map(|layer| Some((layer.name().to_string(), pattern(layer)?))).collect()
}

fn tell_denied(denied: &Denied, privileges: &Privileges, environment: &Environment) {
    if environment.json() {
        let others = denied.others().map(LayerName::to_string);
        let row = json!({
            "capability": denied.capability.as_str(),
            "allowed": false,
            "layer": denied.layer.to_string(),
            "further_layers": others.collect::<Vec<_>>(),
            "smallest_pattern": denied.smallest.as_str(),
            "message": denied.to_string(),
            "refusal": privileges.refusal,
        });
        return Answer::one("capabilities", row).fine_if(false).print();
    }
    println!("denied: {denied}");
}

fn explain(arguments: &Of, environment: &Environment) -> Result<Exit, Failure> {
    let preview = environment.preview(false)?;
    let privileges = of(arguments, &preview, environment)?;
    output::warnings(&privileges.drafts);
    if environment.json() {
        Answer::one("directives", privileges.to_json()).print();
    } else {
        print!("{}", output::visible(&privileges.to_string()));
    }
    Ok(Exit::Fine)
}

fn tighten(arguments: &Of, environment: &Environment) -> Result<Exit, Failure> {
    let privileges = of(arguments, &*environment.rye()?, environment)?;
    let tightened = privileges.tighten().map_err(|error| Failure::of(&error, Exit::Failed))?;
    if environment.json() {
        Answer::one("directives", privileges.tightened_to_json(&tightened)).print();
        return Ok(Exit::Fine);
    }
    tell_uses(&privileges, &tightened);
    print!("{}", output::visible(&tightened.to_string()));
    Ok(Exit::Fine)
}

/// Reports the result for each permission, and warnings about the block.
fn tell_uses(privileges: &Privileges, tightened: &Tightened) {
    for (pattern, kept) in &privileges.uses {
        match kept {
            Use::Used => eprintln!("kept      {pattern}"),
            Use::Narrower(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                eprintln!("narrowed  {pattern} to {}", parts.join(", "));
            }
            Use::Unknown if tightened.grant.patterns().contains(pattern) => {
                eprintln!("kept      {pattern}, which a model may need");
            }
            Use::Unknown => eprintln!("dropped   {pattern}, which another one covers"),
            Use::Unused => eprintln!("dropped   {pattern}"),
        }
    }
    for known in &tightened.needless {
        eprintln!("dropped   the acknowledgement of `{}`", known.risk());
    }
    let unjudged = privileges.unjudged.iter().map(|reason| {
        format!("{reason}, so that what it needs is known from threads alone; give some with `--transcript`")
    });
    let denied = privileges.missing_grants().into_iter();
    output::warnings(
        &denied.chain(unjudged).chain(inheritance_warning(privileges)).collect::<Vec<_>>(),
    );
}

/// Returns a warning if other directives inherit the permissions.
fn inheritance_warning(privileges: &Privileges) -> Option<String> {
    let declared_by = privileges.declared_by.as_ref().filter(|id| **id != privileges.id)?;
    Some(format!(
        "the permissions are declared by `{declared_by}`, and others that extend it may need more; declare these in `{}`",
        privileges.id
    ))
}

fn of(arguments: &Of, project: &Project, environment: &Environment) -> Result<Privileges, Failure> {
    let id = resolve_directive(&arguments.directive, project, environment)?;
    let threads = threads(&arguments.transcript, environment)?;
    let threads: Vec<_> = threads.iter().map(|it| (&it.record, &it.transcript)).collect();
    Ok(Privileges::of(project, &id, &threads)?)
}

fn threads(
    references: &[ThreadReference],
    environment: &Environment,
) -> Result<Vec<ThreadReading>, Failure> {
    if references.is_empty() {
        return Ok(Vec::new());
    }
    let rye = environment.rye()?;
    let folder = unlinked_threads_folder(environment)?;
    let read = |reference| Ok(rye.thread(&folder, &resolve(reference, environment)?)?);
    references.iter().map(read).collect()
}

impl From<PrivilegesError> for Failure {
    fn from(error: PrivilegesError) -> Self {
        match error {
            PrivilegesError::Prepare(error) => error.into(),
            error => Self::of(&error, Exit::Failed),
        }
    }
}
