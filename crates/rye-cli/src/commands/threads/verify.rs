//! `rye threads verify`.

use rye::thread::ThreadId;
use rye::{ThreadReadError, ThreadReading};
use serde_json::{Value, json};

use super::{Known, no_thread};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Answer, line};
use crate::thread_argument::OptionalThread;

pub(super) fn verify(
    thread: &OptionalThread,
    known: &Known,
    environment: &Environment,
) -> Result<Exit, Failure> {
    let rye = environment.rye()?;
    let readable = known.summaries.iter().map(|summary| &summary.thread);
    let all = readable.chain(&known.unreadable);
    let asked = thread.resolve(environment)?;
    let asked = asked.as_ref();
    if let Some(thread) = asked.filter(|thread| known.lacks(thread)) {
        return Err(no_thread(thread));
    }
    let mut rows = Vec::new();
    let mut exit = Exit::Fine;
    for thread in all.filter(|_| asked.is_none()).chain(asked) {
        let verified = rye.thread(&known.threads, thread);
        if let Err(error) = &verified {
            let is_worse = error.is_tampering();
            exit = if is_worse || exit == Exit::Refused { Exit::Refused } else { Exit::Failed };
        }
        rows.push((thread, verified));
    }
    if environment.json() {
        let verified = rows.iter().filter(|(_, verified)| verified.is_ok()).count();
        let rows = rows.iter().map(|(thread, verified)| verdict(thread, verified));
        Answer::of("threads", rows).with("verified", verified).fine_if(exit == Exit::Fine).print();
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
            "unread_records": reading.transcript.unread().map(|(record, problem)| json!({
                "seq": record.seq,
                "event": record.name(),
                "problem": problem,
            })).collect::<Value>(),
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
        Ok(reading) => {
            let unread = reading.transcript.unread().map(|(record, problem)| {
                format!("; a resume refuses record {}: {}", record.seq, line(&problem))
            });
            format!(
                "ok       {thread}: {} records, {} under a checkpoint, signed by {}{}",
                reading.transcript.records.len(),
                reading.transcript.signed,
                reading.vouched_by,
                unread.collect::<String>()
            )
        }
        Err(error) => format!("REFUSED  {thread}: {}", Failure::of(error, Exit::Failed)),
    }
}
