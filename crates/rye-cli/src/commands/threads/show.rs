//! `rye threads show`.

use std::io::{self, IsTerminal as _};

use rye::thread::{
    AddedItem, PendingApproval, Spawn, ThreadId, ThreadSummary, added_items, pending_approval,
    spawned_children, thread_warnings,
};
use rye::types::Nanos;
use rye::{ThreadReading, decision_commands};
use rye_view::{Charset, export};
use serde_json::{Value, json};

use super::records::{event, line, standard_error};
use super::source::{Reach, with_source};
use super::{Known, Show, read};
use crate::approval::{in_short, text_to_sign};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{self, Answer};

pub(super) fn show(
    arguments: &Show,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let thread = &known.named_or_newest(&arguments.thread, environment)?;
    match arguments.timeline {
        true => draw(thread, known, environment),
        false => tell(thread, known, environment),
    }
}

/// Prints how a thread stands, what it returned, and its records.
pub(super) fn tell(
    thread: &ThreadId,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let reading = read(thread, &known.threads, environment)?;
    let children = children(known, &reading);
    // Of a thread that was not left as it should be, the record tells less than the transcript.
    let cost = match known.find(thread) {
        Some(summary) => known.cost_of(summary),
        None => reading.record.cost,
    };
    if environment.json() {
        let mut whole = whole(&reading);
        whole["cost_nanos"] = cost.get().into();
        whole["tokens_below"] = known.tokens_below(thread).into();
        whole["children"] = children.iter().map(child_json).collect();
        Answer::one("threads", whole).print();
    } else {
        print(&reading, known, cost, &children);
    }
    Ok(Exit::Fine)
}

/// Draws the timeline: with blocks on a terminal, and in ASCII elsewhere.
pub(super) fn draw(
    thread: &ThreadId,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    if environment.json() {
        return Err(Failure::usage(
            "`--timeline` draws for people; leave it out to have the records with `--json`",
        ));
    }
    let charset = if io::stdout().is_terminal() { Charset::Blocks } else { Charset::Ascii };
    let mut text = String::new();
    with_source(thread, Reach::Children, known, environment, &mut |source| {
        text = export::timeline(source, charset);
    })?;
    print!("{text}");
    Ok(Exit::Fine)
}

/// A child with its row in the registry and its state.
type Child<'a> = (Spawn, Option<&'a ThreadSummary>, &'static str);

/// Returns the children in the verified transcript. A child that was killed before it had a record has no
/// row.
fn children<'a>(known: &'a Known, reading: &ThreadReading) -> Vec<Child<'a>> {
    let spawned = spawned_children(&reading.transcript).unwrap_or_default();
    let children = spawned.into_iter().map(|spawn| {
        let summary = known.find(&spawn.child);
        let state = match summary {
            Some(summary) => known.standing(&spawn.child, summary.state),
            None => "never began",
        };
        (spawn, summary, state)
    });
    children.collect()
}

fn child_json((spawn, summary, _): &Child<'_>) -> Value {
    json!({
        "thread": spawn.child.as_str(),
        "directive": spawn.directive,
        "state": summary.map(|summary| summary.state.as_str()),
        "cost_nanos": summary.map(|summary| summary.cost.get()),
    })
}

fn print(reading: &ThreadReading, known: &Known, cost: Nanos, children: &[Child<'_>]) {
    let record = &reading.record;
    let state = known.standing(&record.thread, record.state);
    let model =
        [record.provider.as_deref(), record.model.as_deref()].map(Option::unwrap_or_default);
    println!("thread     {}", record.thread);
    if let Some(parent) = &record.parent {
        println!("parent     {parent}");
    }
    println!("directive  {}", record.directive);
    println!("state      {state}");
    for (name, thread) in [("continues", &record.continues), ("next", &record.continued_by)] {
        if let Some(thread) = thread {
            println!("{name:<10} {thread}");
        }
    }
    // A thread that failed before the choice of a model has none.
    if record.provider.is_some() {
        println!("model      {}", model.join(" "));
    }
    println!("turns      {} of {}", record.turns, record.limits.turns);
    let below = match known.tokens_below(&record.thread) {
        0 => String::new(),
        below => format!(", and {below} of the threads below it"),
    };
    println!("tokens     {} of {}{below}", record.usage.total(), record.limits.tokens);
    println!("cost       {cost}");
    if is_unverified(reading) {
        println!("unverified it used items that nobody signed");
    }
    println!("signed by  {}", reading.vouched_by);
    if known.tree_of_engine.is_none() {
        println!("folder     {}", reading.folder.display());
    }
    print_results(reading);
    for (spawn, summary, state) in children {
        let cost = summary.map_or(String::new(), |summary| format!("  {}", summary.cost));
        println!("child      {}  {state}{cost}", spawn.child);
    }
    print_question(reading, known);
    print_records(reading);
}

/// Prints the results of the thread: its outputs, changed files, failure and warnings.
fn print_results(reading: &ThreadReading) {
    let record = &reading.record;
    for (name, value) in record.outputs.iter().flatten() {
        let value = output::hanging(&output::text(value), 11);
        print!("output     {}: {value}\n", output::line(name));
    }
    for file in reading.self_starting() {
        println!("changed    {}, which starts by itself when its folder is opened", file);
    }
    if let Some(failure) = &record.failure {
        let failure = output::visible(&failure.to_string());
        print!("failure    {}\n", output::hanging(&failure, 11));
    }
    items_added(reading).iter().for_each(|item| println!("added      {}", added_line(item)));
    for warning in thread_warnings(&reading.transcript) {
        println!("warning    {warning}");
    }
}

/// Prints the call that waits for approval, and the commands that decide.
fn print_question(reading: &ThreadReading, known: &Known) {
    let Some(pending) = pending_approval(&reading.transcript) else { return };
    println!("waits for  approval of `{}`", output::line(&pending.request.item_id));
    println!("because    {}", pending.request.why());
    println!("arguments  {}", in_short(&pending.request));
    text_of(&pending, known).iter().for_each(|text| print!("{text}"));
    println!("decide     {}", commands(&pending, known));
}

/// Returns the text that the call wants signed, as a whole if no other command shows it.
#[cfg_attr(
    not(feature = "engine"),
    expect(unused_variables, reason = "only threads of an engine differ")
)]
fn text_of(pending: &PendingApproval, known: &Known) -> Option<String> {
    #[cfg(feature = "engine")]
    if known.tree_of_engine.is_some() {
        return crate::approval::whole_text_to_sign(&pending.request);
    }
    text_to_sign(&pending.request)
}

/// Returns the commands that decide about the call that waits.
#[cfg_attr(
    not(feature = "engine"),
    expect(unused_variables, reason = "only threads of an engine differ")
)]
fn commands(pending: &PendingApproval, known: &Known) -> String {
    #[cfg(feature = "engine")]
    if let Some(tree) = &known.tree_of_engine {
        return crate::engine::commands(pending, tree);
    }
    format!("{}; `--resume` goes on at once", decision_commands(pending))
}

/// Prints a line for each record, and the number of signed records.
fn print_records(reading: &ThreadReading) {
    print!("\n");
    println!(
        "{} records, {} under a checkpoint",
        reading.transcript.records.len(),
        reading.transcript.signed
    );
    if let Some(torn) = &reading.transcript.torn {
        println!(
            "the last {} bytes are half a record, which a program that was killed leaves; they are left out",
            torn.len()
        );
    }
    for record in &reading.transcript.records {
        println!("{}", line(record));
        for said in standard_error(record).iter().flat_map(|text| text.lines()) {
            println!("      stderr  {}", output::line(said));
        }
    }
}

/// Returns `true` if the thread used unsigned items, which `--allow-unsigned` permits.
fn is_unverified(reading: &ThreadReading) -> bool {
    reading.record.used_unsigned()
}

/// Returns the items that calls added to the conversation. If they cannot be read, the list is empty, and a
/// resume of the thread fails.
fn items_added(reading: &ThreadReading) -> Vec<AddedItem> {
    added_items(&reading.transcript).unwrap_or_default()
}

fn added_line(item: &AddedItem) -> String {
    let text = |name: &str| item.facts.get(name).and_then(Value::as_str).unwrap_or_default();
    let signer = match &item.key_id {
        Some(key) if item.grants.is_empty() => format!("signed by `{key}`"),
        Some(key) => format!("signed by `{key}`, whose grants bound the thread from then on"),
        None if text("space") == "builtin" => "shipped".to_owned(),
        None => "UNVERIFIED".to_owned(),
    };
    format!("{} `{}`, {signer}", text("kind"), text("id"))
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
    let files = reading.self_starting();
    if !files.is_empty() {
        whole["self_starting"] = files.into();
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
        "added": items_added(reading).iter().map(AddedItem::to_json).collect::<Value>(),
        "failure": record.failure.as_ref().map(|failure| json!({ "kind": failure.kind.as_str(), "message": failure.message })),
        "used_unsigned": is_unverified(reading),
        "warnings": thread_warnings(&reading.transcript),
        "facts": record.facts,
        "vouched_by": reading.vouched_by.as_str(),
        "signed_records": reading.transcript.signed,
        "torn_bytes": reading.transcript.torn.as_ref().map_or(0, std::ops::Range::len),
        "records": reading.transcript.records.iter().map(event).collect::<Value>(),
    })
}
