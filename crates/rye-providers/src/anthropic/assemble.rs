//! Messages assembled from the events of a stream (WIRES 1.1).

use rye_thread::{DeltaSink, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{reply, shape};
use super::error::{bare_error, read_error};
use crate::raw::{MOST_ENTRIES, RawObject, raw, too_many_entries};
use crate::usage::AnthropicCount;
use crate::wire::{Assemble, DecodeError, Progress, StreamError, order, text};

mod block;

use self::block::Block;

/// A message that is being assembled.
#[derive(Default)]
pub(super) struct Message {
    has_begun: bool,
    count: AnthropicCount,
    blocks: Vec<Block>,
    stop_reason: Option<String>,
    is_whole: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    index: usize,
    content_block: Option<RawObject>,
    delta: Option<RawObject>,
    message: Option<Start>,
    usage: Option<AnthropicCount>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<AnthropicCount>,
}

impl Assemble for Message {
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        let event: Event =
            serde_json::from_str(text(data)?).map_err(|error| unreadable(data, error))?;
        let pieces = [&event.content_block, &event.delta];
        let kept = pieces.into_iter().flatten().map(RawObject::size).sum();
        match event.kind.as_str() {
            "message_start" => self.start(event.message)?,
            "content_block_start" => self.start_block(event.index, event.content_block, deltas)?,
            "content_block_delta" => {
                let block = self.open_block(event.index)?;
                block.grow(&event.delta.unwrap_or_default(), deltas)?;
            }
            "content_block_stop" => self.open_block(event.index)?.close(),
            "message_delta" => self.learn(event.delta.as_ref(), event.usage.as_ref()),
            "message_stop" => {
                self.is_whole = true;
                return Ok((Progress::Done, kept));
            }
            "error" => return Err(event_error(data)),
            // Unknown events are ignored, because new ones may be added and are not part of the message.
            _ => {}
        }
        Ok((Progress::More, kept))
    }

    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let all_closed = self.blocks.iter().all(Block::is_closed);
        let stop_reason = self.stop_reason.filter(|_| self.is_whole && all_closed);
        let stop_reason = stop_reason.ok_or(DecodeError::Unfinished)?;
        let mut blocks = Vec::<Box<RawValue>>::new();
        let mut unreadable = Vec::new();
        for block in self.blocks {
            let (block, fault) = block.into_raw();
            unreadable.extend(fault);
            blocks.push(block);
        }
        let mut reply = reply(&raw(&blocks), &stop_reason, &self.count)?;
        for (id, reason) in unreadable {
            let call = reply.calls.iter_mut().find(|call| call.id == id);
            call.into_iter().for_each(|call| call.arguments = Err(reason.clone()));
        }
        Ok(reply)
    }
}

impl Message {
    fn start(&mut self, start: Option<Start>) -> Result<(), StreamError> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Err(order("a second message begins"));
        }
        let count = start.and_then(|start| start.usage).unwrap_or_default();
        self.count = count.of_the_beginning();
        Ok(())
    }

    fn start_block(
        &mut self,
        index: usize,
        block: Option<RawObject>,
        deltas: &dyn DeltaSink,
    ) -> Result<(), StreamError> {
        if !self.has_begun || index != self.blocks.len() {
            return Err(order("a block begins out of turn"));
        }
        if MOST_ENTRIES <= self.blocks.len() {
            return Err(shape(too_many_entries()).into());
        }
        let block = block.ok_or_else(|| order("a block begins without a block"))?;
        self.blocks.push(Block::new(block, deltas));
        Ok(())
    }

    fn open_block(&mut self, index: usize) -> Result<&mut Block, StreamError> {
        let block = self.blocks.get_mut(index).filter(|block| !block.is_closed());
        block.ok_or_else(|| order("a piece belongs to no open block"))
    }

    /// Reads the stop reason and the count of a `message_delta` event. A later count replaces an earlier one,
    /// because counts are cumulative.
    fn learn(&mut self, delta: Option<&RawObject>, count: Option<&AnthropicCount>) {
        self.stop_reason =
            delta.and_then(|delta| delta.text("stop_reason")).or(self.stop_reason.take());
        if let Some(count) = count {
            self.count = std::mem::take(&mut self.count).replaced_by(count);
        }
    }
}

/// Returns the error of an event that cannot be read. A compatible server may send its errors in another
/// form.
fn unreadable(data: &[u8], error: serde_json::Error) -> StreamError {
    match read_error(500, data).or_else(|| bare_error(500, data)) {
        Some(refusal) => StreamError::Refused(refusal),
        None => shape(error).into(),
    }
}

/// Returns the error of an `error` event, which may come after a successful status.
fn event_error(data: &[u8]) -> StreamError {
    match read_error(500, data) {
        Some(refusal) => StreamError::Refused(refusal),
        None => order("an error says nothing"),
    }
}
