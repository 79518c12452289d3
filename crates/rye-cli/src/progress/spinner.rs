//! An animated line on a terminal while a request has no answer.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The line. Dropping it removes it from the terminal.
#[derive(Debug)]
pub(super) struct Spinner {
    stop: Option<Sender<()>>,
    line: Option<JoinHandle<()>>,
}

/// The time before the line appears. A faster answer is shown without it.
const BEFORE: Duration = Duration::from_millis(300);

const BETWEEN: Duration = Duration::from_millis(120);

const FRAMES: [&str; 4] = ["|", "/", "-", "\\"];

impl Spinner {
    /// Shows frames until the spinner is dropped.
    pub(super) fn start() -> Self {
        let (stop, stopped) = channel::<()>();
        // If no thread can be made, there is no such line.
        let line = std::thread::Builder::new().spawn(move || {
            let mut wait = BEFORE;
            for frame in FRAMES.iter().cycle() {
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                write(&format!("\r  {frame} waiting for the model"));
                wait = BETWEEN;
            }
            if wait == BETWEEN {
                write("\r\x1b[2K");
            }
        });
        Self { stop: Some(stop), line: line.ok() }
    }
}

impl Drop for Spinner {
    fn drop(&mut self) {
        drop(self.stop.take());
        // The line is removed before anything else is written.
        if let Some(line) = self.line.take() {
            let _ended: std::thread::Result<()> = line.join();
        }
    }
}

/// Writes and flushes. Errors are ignored, because the terminal may be gone.
fn write(text: &str) {
    let mut error = std::io::stderr().lock();
    let _gone: std::io::Result<()> = error.write_all(text.as_bytes()).and_then(|()| error.flush());
}
