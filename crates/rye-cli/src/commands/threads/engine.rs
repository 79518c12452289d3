//! `rye threads list`, `show` and `tail` of the threads on an engine.

use serde_json::Value;

use super::{Command, Known, List, show, tail};
use crate::engine::{Engine, Mirror};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

/// Carries out a command that takes `--engine`.
pub(super) fn run(
    command: &Command,
    engine: &Engine,
    environment: &Environment,
) -> Result<Exit, Failure> {
    match command {
        Command::Show(arguments) => {
            let named = engine.resolve(arguments.thread.reference(), environment)?;
            let mirror = Mirror::of(engine, named.thread, environment)?;
            if !mirror.has_begun() {
                return Err(Failure::failed(mirror.tell_without_record()));
            }
            let known = Known::of_engine(mirror.threads(), mirror.arguments(), environment)?;
            match arguments.timeline {
                true => show::draw(&mirror.thread, &known, environment),
                false => show::tell(&mirror.thread, &known, environment),
            }
        }
        Command::Tail(arguments) => {
            let named = engine.resolve(arguments.thread.reference(), environment)?;
            follow(Mirror::of(engine, named.thread, environment)?, environment)
        }
        Command::List(arguments) => list(arguments, engine, environment),
        _ => Err(Failure::usage("this command takes no `--engine`")),
    }
}

fn follow(mut mirror: Mirror<'_>, environment: &Environment) -> Result<Exit, Failure> {
    let (thread, threads) = (mirror.thread.clone(), mirror.threads());
    if !mirror.has_begun() {
        eprintln!("{}", mirror.tell_without_record());
    }
    while !mirror.has_begun() {
        if !mirror.is_driven() {
            return Err(Failure::failed(mirror.tell_without_record()));
        }
        #[expect(clippy::disallowed_methods, reason = "this command runs no tasks")]
        std::thread::sleep(tail::PAUSE);
        refresh(&mut mirror)?;
    }
    let advice = format!(
        "thread {thread} waits for a decision; `rye approve {}` shows the call",
        mirror.arguments()
    );
    let mut is_driven = || {
        refresh(&mut mirror)?;
        Ok(mirror.is_driven())
    };
    tail::follow(&thread, &threads, &mut is_driven, &advice, environment)
}

/// Copies what is new. An engine that does not answer now does so later.
fn refresh(mirror: &mut Mirror<'_>) -> Result<(), Failure> {
    match mirror.refresh() {
        Err(error) if error.may_pass() => {
            eprintln!("{}; it is asked again", Failure::from(error));
            Ok(())
        }
        refreshed => refreshed.map_err(Failure::from),
    }
}

fn list(arguments: &List, engine: &Engine, environment: &Environment) -> Result<Exit, Failure> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let mut rows = engine.list(environment)?;
    rows.retain(|row| arguments.selects(&text(row, "directive"), &text(row, "state")));
    if environment.json() {
        Answer::of("threads", rows).print();
        return Ok(Exit::Fine);
    }
    for row in rows {
        let cost = rye::types::Nanos::new(row["cost_nanos"].as_u64().unwrap_or_default());
        let [created, state, thread] = ["created", "state", "thread"].map(|name| text(&row, name));
        let line = format!("{created}  {state:<9}  {cost:>12}  {thread}");
        println!("{}", output::line(&line));
    }
    Ok(Exit::Fine)
}
