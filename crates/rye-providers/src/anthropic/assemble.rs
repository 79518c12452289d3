//! Messages assembled from the events of a stream (WIRES 1.1).

use std::collections::BTreeMap;

use rye_thread::{DeltaSink, Reply};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::{reply, shape};
use super::error::{bare_error, read_error};
use crate::raw::{MOST_ENTRIES, RawObject, kind, raw, too_many_entries};
use crate::usage::{AnthropicCount, Reported};
use crate::wire::{Assemble, DecodeError, Progress, StreamError, in_places, order, text};

mod block;

use self::block::Block;

/// A message that is being assembled.
#[derive(Default)]
pub(super) struct Message {
    count: Option<Reported<AnthropicCount>>,
    /// The blocks in the order in which they began, with the indexes of their events.
    blocks: Vec<(Option<u64>, Block)>,
    /// The places of the open blocks among all, by the index that their events have.
    open: BTreeMap<Option<u64>, usize>,
    stop_reason: Option<String>,
    is_whole: bool,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "type")]
    kind: String,
    index: Option<u64>,
    content_block: Option<RawObject>,
    delta: Option<RawObject>,
    message: Option<Start>,
    usage: Option<Reported<AnthropicCount>>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Reported<AnthropicCount>>,
}

impl Assemble for Message {
    fn event(
        &mut self,
        data: &[u8],
        deltas: &dyn DeltaSink,
    ) -> Result<(Progress, usize), StreamError> {
        if data.trim_ascii() == b"[DONE]" {
            // The closing event of Chat Completions, which some servers send here too.
            self.is_whole = true;
            return Ok((Progress::More, 0));
        }
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
            "content_block_stop" => {
                self.open.remove(&event.index);
            }
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

    fn close(&mut self) {
        self.is_whole = true;
    }

    fn finish(self: Box<Self>) -> Result<Reply, DecodeError> {
        let is_complete = self.is_whole && self.open.is_empty();
        let stop_reason = self.stop_reason.filter(|_| is_complete);
        let stop_reason = stop_reason.ok_or(DecodeError::Unfinished)?;
        let mut blocks = Vec::<Box<RawValue>>::new();
        let mut faults = Vec::new();
        let blocks_in_order = in_places(self.blocks, |(index, _)| *index);
        for (index, (_, block)) in blocks_in_order.into_iter().enumerate() {
            let (block, fault) = block.into_raw().ok_or(DecodeError::Damaged { index })?;
            if kind(&block).as_deref() == Some("tool_use") {
                faults.push(fault);
            }
            blocks.push(block);
        }
        let mut reply = reply(&raw(&blocks), Some(&stop_reason), self.count.as_ref())?;
        for (call, fault) in reply.calls.iter_mut().zip(faults) {
            if let Some(reason) = fault {
                call.arguments = Err(reason);
            }
        }
        Ok(reply)
    }
}

impl Message {
    fn start(&mut self, start: Option<Start>) -> Result<(), StreamError> {
        if !self.blocks.is_empty() {
            return Err(order("a second message begins"));
        }
        let count = start.and_then(|start| start.usage);
        self.count = count.map(Reported::of_the_beginning);
        Ok(())
    }

    fn start_block(
        &mut self,
        index: Option<u64>,
        block: Option<RawObject>,
        deltas: &dyn DeltaSink,
    ) -> Result<(), StreamError> {
        if MOST_ENTRIES <= self.blocks.len() {
            return Err(shape(too_many_entries()).into());
        }
        let block = block.ok_or_else(|| order("a block begins without a block"))?;
        if self.open.insert(index, self.blocks.len()).is_some() {
            return Err(order("a block begins before the one of its index has ended"));
        }
        self.blocks.push((index, Block::new(block, deltas)));
        Ok(())
    }

    fn open_block(&mut self, index: Option<u64>) -> Result<&mut Block, StreamError> {
        let block = self.open.get(&index).and_then(|place| self.blocks.get_mut(*place));
        block.map(|(_, block)| block).ok_or_else(|| order("a piece belongs to no open block"))
    }

    /// Reads the stop reason and the count of a `message_delta` event. A later count replaces an earlier one,
    /// because counts are cumulative.
    fn learn(&mut self, delta: Option<&RawObject>, count: Option<&Reported<AnthropicCount>>) {
        let reason = delta.and_then(|delta| delta.text("stop_reason"));
        let reason = reason.filter(|reason| !reason.is_empty());
        self.stop_reason = reason.or(self.stop_reason.take());
        if let Some(count) = count {
            let both = self.count.as_ref().map(|old| old.replaced_by(count));
            self.count = both.or_else(|| Some(count.clone()));
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
