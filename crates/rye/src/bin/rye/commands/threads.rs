//! `rye threads …`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use clap::{Args, Subcommand};
use rye::thread::transcript::Record;
use rye::thread::{Registry, ThreadId, ThreadState, ThreadSummary};
use rye::{ThreadReadError, ThreadReading, UnfinishedAnswer, refuse_linked_threads};
use serde_json::{Value, json};

use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use crate::progress::{Told, continued};

/// Look at the threads of the project
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the threads, the newest first
    #[command(after_help = "Example:\n  rye threads list --json")]
    List,
    /// Show one thread: how it stands, what it returned, and what happened in it
    #[command(
        after_help = "The record and the transcript are verified first; a thread that was changed is refused.\n\n\
                            Examples:\n  rye threads show\n  rye threads show index-019a0000-0000-7000-8000-000000000000 --json"
    )]
    Show(Show),
    /// Print what happens in one thread while it happens, until it ends or waits
    #[command(
        after_help = "Each record is verified before it is printed. The text of an answer that is still\ncoming is printed as it comes, although nothing \
                          vouches for it yet; with `--json` it is\n`{\"live\": TEXT}`.\n\n\
                            Examples:\n  rye threads tail\n  rye threads tail index-019a0000-0000-7000-8000-000000000000"
    )]
    Tail(Show),
    /// List the threads below those that started them
    #[command(after_help = "Example:\n  rye threads tree")]
    Tree,
    /// Verify the records and transcripts of all threads, or of one
    #[command(after_help = "Exits with 3 when one was changed, and says where.\n\n\
                            Examples:\n  rye threads verify\n  rye threads verify index-019a0000-0000-7000-8000-000000000000 --json")]
    Verify(Verify),
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The thread; default: all of them
    thread: Option<ThreadId>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The thread; default: the newest
    thread: Option<ThreadId>,
}

pub(crate) fn run(command: &Command, environment: &Environment) -> Result<Exit, Failure> {
    let threads = environment.project()?.join(".ai").join("threads");
    refuse_linked_threads(&threads).map_err(|error| Failure::of(&error, Exit::Refused))?;
    let registry = threads.join("registry.db");
    if !registry.exists() {
        if let Command::List | Command::Tree = command {
            return Ok(list(&[], environment));
        }
        return Err(Failure::failed("no thread has run in this project yet; `rye run` starts one"));
    }
    let registry = Registry::open(&registry).map_err(|error| Failure::of(&error, Exit::Failed))?;
    let summaries = registry.list().map_err(|error| Failure::of(&error, Exit::Failed))?;
    match command {
        Command::List => Ok(list(&summaries, environment)),
        Command::Show(arguments) => show(arguments, &threads, &summaries, environment),
        Command::Tail(arguments) => tail(arguments, &threads, &summaries, environment),
        Command::Tree => tree(&threads, &summaries, environment),
        Command::Verify(arguments) => verify(arguments, &threads, &summaries, environment),
    }
}

fn read(
    thread: &ThreadId,
    threads: &Path,
    environment: &Environment,
) -> Result<ThreadReading, Failure> {
    environment.rye()?.thread(threads, thread).map_err(|error| {
        Failure::of(&error, if error.is_tampering() { Exit::Refused } else { Exit::Failed })
    })
}

fn tail(
    arguments: &Show,
    threads: &Path,
    summaries: &[ThreadSummary],
    environment: &Environment,
) -> Result<Exit, Failure> {
    let thread = named_or_newest(arguments, summaries)?;
    let (mut told, mut live) = (0, Live::default());
    loop {
        let reading = read(thread, threads, environment)?;
        if told < reading.transcript.records.len() {
            live.end(environment);
        }
        for record in reading.transcript.records.iter().skip(told) {
            if environment.json() {
                println!("{}", event(record));
            } else {
                println!("{}", line(record));
            }
        }
        told = reading.transcript.records.len();
        // A thread that is under way has no last record yet.
        if reading.record.transcript.is_some() {
            return Ok(Exit::Fine);
        }
        live.tell(UnfinishedAnswer::read(&reading.folder), environment);
        std::thread::sleep(PAUSE);
    }
}

/// What was told of an answer that is on its way.
#[derive(Default)]
struct Live {
    number: u64,
    told: Told,
}

impl Live {
    fn tell(&mut self, answer: Option<UnfinishedAnswer>, environment: &Environment) {
        let Some(answer) = answer else { return };
        if answer.number != self.number {
            self.end(environment);
            self.number = answer.number;
        }
        let piece = answer.text.strip_prefix(&self.told.text).unwrap_or_default();
        if piece.is_empty() {
            return;
        }
        if environment.json() {
            println!("{}", json!({ "live": piece }));
            self.told.text.push_str(piece);
        } else {
            print!("{}", continued(&mut self.told, piece));
            output::written(std::io::stdout().flush());
        }
    }

    /// Ends the open line; what comes next is another answer.
    fn end(&mut self, environment: &Environment) {
        if std::mem::take(&mut self.told).is_open && !environment.json() {
            print!("\n");
        }
    }
}

/// How long to wait before looking again.
const PAUSE: Duration = Duration::from_millis(200);

fn tree(
    threads: &Path,
    summaries: &[ThreadSummary],
    environment: &Environment,
) -> Result<Exit, Failure> {
    if environment.json() {
        return Ok(list(summaries, environment));
    }
    // Only the signed record says which thread goes on.
    let mut goes_on = BTreeMap::new();
    for summary in summaries.iter().filter(|it| it.state == ThreadState::Continued) {
        let reading = read(&summary.thread, threads, environment)?;
        goes_on.extend(reading.record.continued_by.map(|next| (summary.thread.clone(), next)));
    }
    let is_known = |id: &ThreadId| summaries.iter().any(|summary| summary.thread == *id);
    for root in summaries.iter().filter(|it| !it.parent.as_ref().is_some_and(is_known)) {
        branch(root, summaries, &goes_on, 0);
    }
    Ok(Exit::Fine)
}

fn branch(
    thread: &ThreadSummary,
    summaries: &[ThreadSummary],
    goes_on: &BTreeMap<ThreadId, ThreadId>,
    depth: usize,
) {
    let lead = "  ".repeat(depth);
    let next = goes_on.get(&thread.thread).map_or(String::new(), |next| format!("  as {next}"));
    println!("{lead}{}  {}  {}{next}", thread.thread, thread.state, thread.cost);
    // A row of the registry is nobody's word: one that names itself as its parent must not lead in circles.
    if depth < MOST_LEVELS {
        let children = summaries.iter().filter(|it| it.parent.as_ref() == Some(&thread.thread));
        children.for_each(|child| branch(child, summaries, goes_on, depth + 1));
    }
}

const MOST_LEVELS: usize = 16;

fn verify(
    arguments: &Verify,
    threads: &Path,
    summaries: &[ThreadSummary],
    environment: &Environment,
) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let all = summaries.iter().map(|summary| &summary.thread);
    let asked = arguments.thread.as_ref();
    let (mut rows, mut exit) = (Vec::new(), Exit::Fine);
    for thread in all.filter(|_| asked.is_none()).chain(asked) {
        let verified = rye.thread(threads, thread);
        if let Err(error) = &verified {
            let is_worse = error.is_tampering();
            exit = if is_worse || exit == Exit::Refused { Exit::Refused } else { Exit::Failed };
        }
        rows.push((thread, verified));
    }
    if environment.json() {
        output::json(&rows.iter().map(|(thread, verified)| verdict(thread, verified)).collect());
    } else {
        rows.iter().for_each(|(thread, verified)| println!("{}", sentence(thread, verified)));
    }
    Ok(exit)
}

type Verified = Result<ThreadReading, ThreadReadError>;

fn verdict(thread: &ThreadId, verified: &Verified) -> Value {
    match verified {
        Ok(reading) => json!({
            "thread": thread.as_str(),
            "verified": true,
            "vouched_by": reading.vouched_by.as_str(),
            "records": reading.transcript.records.len(),
            "signed_records": reading.transcript.signed,
            "torn_bytes": reading.transcript.torn.as_ref().map_or(0, std::ops::Range::len),
        }),
        Err(error) => json!({
            "thread": thread.as_str(),
            "verified": false,
            "problem": Failure::of(error, Exit::Failed).to_string(),
        }),
    }
}

fn sentence(thread: &ThreadId, verified: &Verified) -> String {
    match verified {
        Ok(reading) => format!(
            "ok       {thread}: {} records, {} under a checkpoint, signed by {}",
            reading.transcript.records.len(),
            reading.transcript.signed,
            reading.vouched_by.as_str()
        ),
        Err(error) => format!("REFUSED  {thread}: {}", Failure::of(error, Exit::Failed)),
    }
}

fn named_or_newest<'a>(
    arguments: &'a Show,
    summaries: &'a [ThreadSummary],
) -> Result<&'a ThreadId, Failure> {
    let newest = summaries.first().map(|summary| &summary.thread);
    arguments.thread.as_ref().or(newest).ok_or_else(|| {
        Failure::failed("no thread has run in this project yet; `rye run` starts one")
    })
}

fn list(summaries: &[ThreadSummary], environment: &Environment) -> Exit {
    if environment.json() {
        output::json(&summaries.iter().map(summary).collect());
        return Exit::Fine;
    }
    for thread in summaries {
        let (state, cost) = (thread.state.as_str(), thread.cost.to_string());
        println!("{}  {state:<9}  {cost:>12}  {}", thread.created, thread.thread);
    }
    Exit::Fine
}

fn summary(summary: &ThreadSummary) -> Value {
    json!({
        "thread": summary.thread.as_str(),
        "parent": summary.parent.as_ref().map(ThreadId::as_str),
        "directive": summary.directive,
        "state": summary.state.as_str(),
        "created": summary.created.to_string(),
        "updated": summary.updated.to_string(),
        "cost_nanos": summary.cost.get(),
    })
}

fn show(
    arguments: &Show,
    threads: &Path,
    summaries: &[ThreadSummary],
    environment: &Environment,
) -> Result<Exit, Failure> {
    let reading = read(named_or_newest(arguments, summaries)?, threads, environment)?;
    if environment.json() {
        output::json(&whole(&reading));
    } else {
        print(&reading);
    }
    Ok(Exit::Fine)
}

fn print(reading: &ThreadReading) {
    let record = &reading.record;
    let model =
        [record.provider.as_deref(), record.model.as_deref()].map(Option::unwrap_or_default);
    println!("thread     {}", record.thread);
    if let Some(parent) = &record.parent {
        println!("parent     {parent}");
    }
    println!("directive  {}", record.directive);
    println!("state      {}", record.state);
    for (name, thread) in [("continues", &record.continues), ("next", &record.continued_by)] {
        if let Some(thread) = thread {
            println!("{name:<10} {thread}");
        }
    }
    println!("model      {}", model.join(" "));
    println!("turns      {} of {}", record.turns, record.limits.turns);
    println!("tokens     {} of {}", record.usage.total(), record.limits.tokens);
    println!("cost       {}", record.cost);
    println!("signed by  {}", reading.vouched_by.as_str());
    println!("folder     {}", reading.folder.display());
    for (name, value) in record.outputs.iter().flatten() {
        println!("output     {name}: {}", output::text(value));
    }
    if let Some(failure) = &record.failure {
        println!("failure    {failure}");
    }
    println!(
        "\n{} records, {} under a checkpoint",
        reading.transcript.records.len(),
        reading.transcript.signed
    );
    if let Some(torn) = &reading.transcript.torn {
        println!(
            "the last {} bytes are half a record, which a program that was killed leaves; they are left out",
            torn.len()
        );
    }
    reading.transcript.records.iter().for_each(|record| println!("{}", line(record)));
}

fn line(record: &Record) -> String {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    let about = match record.event.as_str() {
        "approval_requested" => payload["item_id"].as_str().map(str::to_owned),
        "approval_decided" => payload["decision"].as_str().map(str::to_owned),
        "spawn_child" => payload["thread"].as_str().map(str::to_owned),
        "thread_resumed" => payload["epoch"].as_u64().map(|epoch| format!("opening {epoch}")),
        "tool_call_start" => {
            payload["target"]["item_id"].as_str().or(payload["name"].as_str()).map(str::to_owned)
        }
        "tool_call_result" if !payload["refusal"].is_null() => Some("refused".to_owned()),
        "tool_call_result" => {
            payload["is_error"].as_bool().map(|error| if error { "error" } else { "ok" }.to_owned())
        }
        "context_injected" => payload["item_id"].as_str().map(str::to_owned),
        "hook_triggered" => payload["hook"].as_str().map(str::to_owned),
        "thread_continued" => payload["next"].as_str().map(str::to_owned),
        _ => None,
    };
    format!("{:>4}  {}  {:<18} {}", record.seq, record.at, record.event, about.unwrap_or_default())
        .trim_end()
        .to_owned()
}

fn whole(reading: &ThreadReading) -> Value {
    let mut whole = own(reading);
    let record = &reading.record;
    for (name, thread) in [("continues", &record.continues), ("continued_by", &record.continued_by)]
    {
        if let Some(thread) = thread {
            whole[name] = thread.as_str().into();
        }
    }
    whole
}

fn own(reading: &ThreadReading) -> Value {
    let record = &reading.record;
    json!({
        "thread": record.thread.as_str(),
        "parent": record.parent.as_ref().map(ThreadId::as_str),
        "directive": record.directive,
        "state": record.state.as_str(),
        "provider": record.provider,
        "model": record.model,
        "turns": record.turns,
        "tokens": record.usage.total(),
        "cost_nanos": record.cost.get(),
        "outputs": record.outputs,
        "failure": record.failure.as_ref().map(|failure| json!({ "kind": failure.kind.as_str(), "message": failure.message })),
        "facts": record.facts,
        "vouched_by": reading.vouched_by.as_str(),
        "signed_records": reading.transcript.signed,
        "torn_bytes": reading.transcript.torn.as_ref().map_or(0, std::ops::Range::len),
        "records": reading.transcript.records.iter().map(event).collect::<Value>(),
    })
}

fn event(record: &Record) -> Value {
    let payload: Value = serde_json::from_str(record.payload.get()).unwrap_or_default();
    json!({ "seq": record.seq, "at": record.at.to_string(), "event": record.event, "payload": payload })
}

#[cfg(test)]
mod tests;
