//! Server-sent events of a running thread.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame};
use rye_transcript::ThreadId;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use super::Shared;
use crate::model::Part;
use crate::page;

/// The body of a response that lasts as long as the thread runs.
#[derive(Debug)]
pub(super) struct Events {
    receiver: Receiver<Bytes>,
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.receiver.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// The shortest time between two looks at a thread.
const PAUSE: Duration = Duration::from_millis(250);

/// The records for which one more millisecond passes between two looks, and the most that count.
const RECORDS_PER_MILLI: u64 = 20;
const MOST_RECORDS: u64 = 100_000;

/// The time after which a comment is sent, so that a closed connection is noticed.
const SILENCE: Duration = Duration::from_secs(10);

/// The thread and the part of it that the browser shows.
#[derive(Debug, Clone)]
pub(super) struct Followed {
    pub(super) thread: ThreadId,
    pub(super) part: Part,
    /// `true` for the browser that may decide.
    pub(super) may_decide: bool,
}

/// The state of a thread that was last sent to the browser.
struct SentState {
    records: u64,
    pulse: Option<String>,
}

/// The result of one look at a thread.
struct Look {
    told: SentState,
    /// The text of an event, if anything changed.
    event: Option<String>,
    is_over: bool,
}

/// Follows a thread from its record `since` on, until it ends or the browser closes the connection.
pub(super) fn follow(shared: Arc<Shared>, followed: Followed, since: u64) -> Events {
    let (sender, receiver) = channel(4);
    tokio::spawn(send_all(shared, followed, since, sender));
    Events { receiver }
}

async fn send_all(shared: Arc<Shared>, followed: Followed, since: u64, sender: Sender<Bytes>) {
    let mut told = SentState { records: since, pulse: None };
    let mut quiet = Duration::ZERO;
    loop {
        let held = Arc::clone(&shared);
        let followed = followed.clone();
        // Reading and verifying waits for the disk.
        let looked = tokio::task::spawn_blocking(move || look(&held, &followed, told)).await;
        let Ok(look) = looked else { return };
        let text = match look.event {
            Some(event) => Some(event),
            None if SILENCE <= quiet => Some(":\n\n".to_owned()),
            None => None,
        };
        quiet = if text.is_some() { Duration::ZERO } else { quiet + PAUSE };
        if let Some(text) = text
            && sender.send(Bytes::from(text)).await.is_err()
        {
            return;
        }
        if look.is_over || sender.is_closed() {
            return;
        }
        told = look.told;
        // A long thread takes longer to verify, and is looked at less often.
        let more = Duration::from_millis(told.records.min(MOST_RECORDS) / RECORDS_PER_MILLI);
        tokio::time::sleep(PAUSE + more).await;
    }
}

/// Reads the thread, if it changed since its state was last sent.
fn look(shared: &Shared, followed: &Followed, told: SentState) -> Look {
    let Followed { thread, part, may_decide } = followed;
    let pulse = shared.threads.pulse(thread);
    if pulse.is_some() && pulse == told.pulse {
        return Look { told, event: None, is_over: false };
    }
    let mut update = None;
    let shown = shared.threads.thread(thread, &mut |source| {
        let token = shared.decision_token(source, *may_decide);
        update = Some(page::update(source, part, token, told.records));
    });
    let Some(update) = update.filter(|_| shown.is_ok()) else {
        // A changed thread is not shown any further. The page says why when it is opened again.
        return Look { told, event: None, is_over: true };
    };
    let records = update["records"].as_u64().unwrap_or(told.records);
    let event = format!("id: {records}\nevent: update\ndata: {update}\n\n");
    Look {
        told: SentState { records, pulse },
        event: Some(event),
        is_over: update["ended"] == true,
    }
}
