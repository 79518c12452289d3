//! `rye diff [A [B]]`.

mod project;

use clap::Args;
use rye::{Difference, Explained, PlanRequest};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::side::{Side, side};

/// Compare directives at two times, or two directives: what they may do, what they are made of, and what a model reads
#[derive(Debug, Args)]
#[command(
    after_help = "Without a side, every directive of the project is compared with `HEAD`, or with --rev. A side is a directive's \
                  id, its file (also in another checkout, whose `.ai` folder is then the project), or REVISION:FILE of a git \
                  repository. Each side is verified as it is. A permission is gained when it covers something that no \
                  permission of the other side covers, however it is written. Inputs are not needed: placeholders stay as \
                  written.\n\n\
                  Exits with 0. With --exit-code: 0 for no difference, 1 for one that widens nothing, and 2 when a directive may do \
                  more: a permission is gained, a limit raised, a tool does more or is another program, calls are not asked about \
                  any more, or a bound is gone. What cannot be compared exits with 3 then, and options that are not known with 2 \
                  as ever.\n\n\
                  Examples:\n  rye diff\n  rye diff --rev main --exit-code\n  rye diff notes/index notes/base\n  \
                  rye diff ../main/.ai/directives/notes/index.md .ai/directives/notes/index.md\n  \
                  rye diff HEAD~1:.ai/directives/notes/index.md .ai/directives/notes/index.md\n  \
                  rye diff --rev HEAD~1 notes/index\n  \
                  rye diff --rev v1.0 --rev v1.1 notes/index --exit-code --json"
)]
pub(crate) struct Arguments {
    /// The one side, and the other; with --rev the one directive that is looked at; default: every directive of the project
    #[arg(num_args = 0..=2, value_name = "SIDE")]
    sides: Vec<String>,
    /// A git revision to look at the directive at; given once, it is compared with the files as they are, given twice, the
    /// two revisions are compared
    #[arg(long = "rev", value_name = "REVISION")]
    revisions: Vec<String>,
    /// Exit with 1 when there is a difference, and with 2 when it is one by which a directive may do more
    #[arg(long)]
    exit_code: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    if !arguments.exit_code {
        return compare(arguments, environment).map(|answer| answer.failed.unwrap_or(Exit::Fine));
    }
    let answer = compare(arguments, environment).map_err(Failure::not_answered)?;
    Ok(match (answer.widens, answer.failed, answer.differs) {
        (true, _, _) => Exit::Widens,
        (false, Some(_), _) => Exit::Refused,
        (false, None, true) => Exit::Differs,
        (false, None, false) => Exit::Fine,
    })
}

/// The result of a comparison.
#[derive(Debug, Default)]
struct Comparison {
    differs: bool,
    widens: bool,
    /// The exit code if something could not be compared.
    failed: Option<Exit>,
}

impl Comparison {
    fn add(&mut self, difference: &Difference) {
        self.differs |= !difference.is_empty();
        self.widens |= difference.widens();
    }
}

fn compare(arguments: &Arguments, environment: &Environment) -> Result<Comparison, Failure> {
    if arguments.sides.is_empty() {
        return project::compare(arguments, environment);
    }
    let (before, after) = sides(arguments)?;
    let before = side(&before, environment)?;
    let after = side(&after, environment)?;
    let difference = Difference::between(&explain(&before)?, &explain(&after)?);
    if environment.json() {
        let row = with_side_names((&before.name, &after.name), &difference);
        let answer = Answer::one("directives", row).with("differs", !difference.is_empty());
        let answer = answer.with("widens", difference.widens());
        answer.fine_if(!arguments.exit_code || difference.is_empty()).print();
    } else {
        print!("{}", output::visible(&difference.to_string()));
    }
    let mut answer = Comparison::default();
    answer.add(&difference);
    Ok(answer)
}

/// Returns the difference as JSON, starting with the names of the sides.
fn with_side_names((before, after): (&str, &str), difference: &Difference) -> Value {
    let mut value = json!({ "before": before, "after": after });
    if let (Some(value), Some(rest)) = (value.as_object_mut(), difference.to_json().as_object_mut())
    {
        value.append(rest);
    }
    value
}

/// Returns the two sides as typed. A directive at a revision is written `REVISION:ID`.
fn sides(arguments: &Arguments) -> Result<(String, String), Failure> {
    let at = |revision: &str, directive: &str| format!("{revision}:{directive}");
    match (arguments.revisions.as_slice(), arguments.sides.as_slice()) {
        ([], [before, after]) => Ok((before.clone(), after.clone())),
        ([before], [directive]) => Ok((at(before, directive), directive.clone())),
        ([before, after], [directive]) => Ok((at(before, directive), at(after, directive))),
        ([], _) => {
            Err(Failure::usage("name two sides, or one directive and a revision with --rev"))
        }
        ([_] | [_, _], _) => Err(Failure::usage("name one directive with --rev, not two sides")),
        _ => Err(Failure::usage("--rev may be given once or twice")),
    }
}

fn explain(side: &Side) -> Result<Explained, Failure> {
    let explained = Explained::of(&side.rye, &PlanRequest::new(side.id.clone()));
    let explained = explained.map_err(|error| side.failure(error))?;
    let drafts = explained.drafts.iter().filter(|draft| !explained.warnings.contains(draft));
    let told = explained.warnings.iter().chain(drafts);
    let warnings: Vec<String> = told.map(|warning| format!("{}: {warning}", side.name)).collect();
    output::warnings(&warnings);
    Ok(explained)
}
