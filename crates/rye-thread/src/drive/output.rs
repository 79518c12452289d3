//! The output of running tools, on its way from their tasks to the observer.

use tokio::sync::mpsc::{self, Receiver, Sender};

use super::{Observer, OutputPiece};
use crate::{OutputSink, OutputStream};

/// The number of pieces that may wait for the observer before further ones are lost to it.
const WAITING: usize = 256;

/// One piece, and the call that it is of.
pub(super) struct Piece {
    call_id: String,
    stream: OutputStream,
    text: String,
}

impl Piece {
    pub(super) fn tell(&self, observer: &dyn Observer) {
        let call_id = self.call_id.as_str();
        let stream = self.stream;
        let text = self.text.as_str();
        observer.output(OutputPiece { call_id, stream, text });
    }
}

pub(super) fn channel() -> (Sender<Piece>, Receiver<Piece>) {
    mpsc::channel(WAITING)
}

/// The sender that one call uses to report its output.
pub(super) struct OutputSender {
    call_id: String,
    pieces: Sender<Piece>,
}

impl OutputSender {
    pub(super) fn new(call_id: &str, pieces: Sender<Piece>) -> Self {
        Self { call_id: call_id.to_owned(), pieces }
    }
}

impl OutputSink for OutputSender {
    fn output(&self, stream: OutputStream, text: &str) {
        let call_id = self.call_id.clone();
        let text = text.to_owned();
        // A full channel drops the piece, so that a slow observer does not delay the tool.
        let _missed = self.pieces.try_send(Piece { call_id, stream, text });
    }
}
