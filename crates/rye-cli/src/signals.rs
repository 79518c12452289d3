//! The signals that stop the program's work (SPEC 12.1).

use std::sync::atomic::{AtomicU8, Ordering};

use rye::thread::Cancel;

use crate::exit::Exit;

/// The number of the signal that stopped the work, or 0.
static CAUGHT: AtomicU8 = AtomicU8::new(0);

/// Returns the exit code of work that a signal stopped, or `None` if none did.
pub(crate) fn exit() -> Option<Exit> {
    let number = CAUGHT.load(Ordering::Relaxed);
    (number != 0).then_some(Exit::Signal(number))
}

/// Stops the thread at the first signal, so that it can be resumed. The second signal ends the program.
pub(crate) async fn interrupt(cancel: Cancel) {
    CAUGHT.store(stop().await, Ordering::Relaxed);
    cancel.interrupt();
    let again = stop().await;
    #[expect(clippy::exit, reason = "the operator insists")]
    std::process::exit(Exit::Signal(again).code().into());
}

/// Waits for a signal that stops a server.
pub(crate) async fn wait() {
    stop().await;
}

/// Waits for Ctrl-C, a termination signal or the end of the terminal, and returns the signal's number. It waits for ever if none can be
/// received.
#[cfg(unix)]
async fn stop() -> u8 {
    use tokio::signal::unix::SignalKind;
    let [hangup, interrupt, terminate] =
        [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
    tokio::select! {
        number = receive(hangup) => number,
        number = receive(interrupt) => number,
        number = receive(terminate) => number,
    }
}

/// The same where Ctrl-C is all that there is.
#[cfg(not(unix))]
async fn stop() -> u8 {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
    2
}

#[cfg(unix)]
async fn receive(kind: tokio::signal::unix::SignalKind) -> u8 {
    let number = kind.as_raw_value();
    if !is_ignored(number)
        && let Ok(mut signals) = tokio::signal::unix::signal(kind)
    {
        signals.recv().await;
        return u8::try_from(number).unwrap_or(u8::MAX);
    }
    std::future::pending().await
}

/// Returns `true` if the program was started with the signal ignored, as by `nohup`.
#[cfg(target_os = "linux")]
fn is_ignored(number: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    number > 0 && mask >> (number - 1) & 1 == 1
}

/// Only the signal of a closed terminal is commonly ignored, and there it keeps its default action.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_ignored(number: i32) -> bool {
    number == tokio::signal::unix::SignalKind::hangup().as_raw_value()
}
