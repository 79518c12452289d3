//! `rye replay`.

use clap::Args;
use rye::thread::{Divergence, Replayed, ThreadId, spawned_children};
use rye::{Rye, divergence_diff};
use serde_json::json;

use super::run::runtime;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};
use crate::thread_argument::ThreadArgument;

/// Hold a directive against a thread that it ran: same loop, recorded answers, no request and no effect
#[derive(Debug, Args)]
#[command(
    after_help = "The directive as it is now runs over the answers and receipts of the thread, so that a transcript is a test. \
                        The first thing that differs from what was recorded is shown as a diff, and the exit code is 1; it is 3 \
                        when the transcript was changed.\n\n\
                        Example:\n  rye replay index-019a0000-0000-7000-8000-000000000000"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    thread: ThreadArgument,
}

pub(crate) fn run(arguments: &Arguments, environment: &Environment) -> Result<Exit, Failure> {
    let thread = arguments.thread.resolve(environment)?;
    let rye = environment.rye()?;
    let replayed = runtime()?.block_on(rye.replay(&thread))?;
    if environment.json() {
        tell_programs(&thread, &replayed);
    } else {
        tell_people(&thread, &replayed);
        tell_of_family(&thread, &rye)?;
    }
    Ok(if replayed.divergence.is_none() { Exit::Fine } else { Exit::Failed })
}

fn tell_programs(thread: &ThreadId, replayed: &Replayed) {
    let divergence = replayed.divergence.as_ref().map(|divergence| {
        let Divergence { what, recorded, replayed, .. } = divergence;
        json!({ "what": what, "recorded": recorded, "replayed": replayed })
    });
    let row = json!({
        "thread": thread.as_str(),
        "turns": replayed.turns,
        "recorded_sha256": replayed.recorded,
        "replayed_sha256": replayed.replayed,
        "divergence": divergence,
    });
    Answer::one("threads", row).fine_if(replayed.divergence.is_none()).print();
}

/// Reports the consequences of the replay for the parent and the children.
fn tell_of_family(thread: &ThreadId, rye: &Rye) -> Result<(), Failure> {
    let Some(threads) = rye.threads() else { return Ok(()) };
    let reading =
        rye.thread(&threads, thread).map_err(|error| Failure::of(&error, Exit::Failed))?;
    if let Some(parent) = &reading.record.parent {
        eprintln!("it may do what thread {parent}, which started it, may do by now, and no more");
    }
    let children = spawned_children(&reading.transcript).unwrap_or_default();
    for spawn in children {
        let child = spawn.child;
        eprintln!("thread {child} answered from its receipt; `rye replay {child}` replays it");
    }
    Ok(())
}

fn tell_people(thread: &ThreadId, replayed: &Replayed) {
    match &replayed.divergence {
        None => {
            let turns = output::turns(replayed.turns);
            println!("thread {thread} replayed: {turns}, no difference");
            println!("digest {}", replayed.replayed);
        }
        Some(divergence) => {
            println!("thread {thread} diverges: {}", divergence.what);
            print!("{}", output::visible(&divergence_diff(divergence)));
        }
    }
}
