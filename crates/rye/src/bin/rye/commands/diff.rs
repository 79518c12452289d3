//! `rye diff A B`.

use clap::Args;
use rye::{Difference, Explained, PlanRequest};
use serde_json::json;

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::side::{Side, side};

/// Compare two directives, or one at two times: what it may do, what it is made of, and what a model reads
#[derive(Debug, Args)]
#[command(
    after_help = "A side is a directive's id, its file (also in another checkout, whose `.ai` folder is then the project), or \
                  REVISION:FILE of a git repository. Each side is verified as it is. A permission is gained when it covers \
                  something that no permission of the other side covers, however it is written. Inputs are not needed: \
                  placeholders stay as written.\n\n\
                  Exits with 0, or with --exit-code with 1 when there is a difference.\n\n\
                  Examples:\n  rye diff notes/index notes/base\n  \
                  rye diff ../main/.ai/directives/notes/index.md .ai/directives/notes/index.md\n  \
                  rye diff HEAD~1:.ai/directives/notes/index.md .ai/directives/notes/index.md\n  \
                  rye diff --rev HEAD~1 notes/index\n  \
                  rye diff --rev v1.0 --rev v1.1 notes/index --exit-code --json"
)]
pub(crate) struct Arguments {
    /// The one side, and the other; with --rev the one directive that is looked at
    #[arg(required = true, num_args = 1..=2, value_name = "SIDE")]
    sides: Vec<String>,
    /// A git revision to look at the directive at; given once, it is compared with the files as they are, given twice, the
    /// two revisions are compared
    #[arg(long = "rev", value_name = "REVISION")]
    revisions: Vec<String>,
    /// Exit with 1 when there is a difference
    #[arg(long)]
    exit_code: bool,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let (before, after) = sides(arguments)?;
    let (before, after) = (side(&before, environment)?, side(&after, environment)?);
    let difference = Difference::between(&explained(&before)?, &explained(&after)?);
    if environment.json() {
        let mut value = json!({ "before": before.name, "after": after.name });
        if let (Some(value), Some(rest)) =
            (value.as_object_mut(), difference.to_json().as_object_mut())
        {
            value.append(rest);
        }
        output::json(&value);
    } else {
        print!("{}", output::for_people(&difference.to_string()));
    }
    let differs = arguments.exit_code && !difference.is_empty();
    Ok(if differs { Exit::Failed } else { Exit::Fine })
}

/// The two sides as they were typed; a directive at a revision is written `REVISION:ID`.
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

fn explained(side: &Side) -> Result<Explained, Failure> {
    let explained = side.rye.explain(&PlanRequest::new(side.id.clone()))?;
    let warnings: Vec<String> =
        explained.warnings.iter().map(|warning| format!("{}: {warning}", side.name)).collect();
    output::warnings(&warnings);
    Ok(explained)
}
