//! Ending a program with everything that it started.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;

use super::job::StartError;
use super::run::io;
use crate::sandbox::GRACE;

/// The time in which the launcher looks at the project after a program has ended.
const LOOK: Duration = Duration::from_secs(300);

/// Ends a program with everything that it started, should nobody wait for it any more.
#[derive(Debug)]
pub(super) struct Guard {
    pid: Option<Pid>,
    has_launcher: bool,
    pub(super) is_done: bool,
}

impl Guard {
    pub(super) fn over(child: &Child, has_launcher: bool) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        Self { pid, has_launcher, is_done: false }
    }

    /// Asks it to end the first time, ends it the second, and from then on kills its group, the launcher too.
    ///
    /// The launcher passes the asking on, and ends by itself what has not ended in time.
    fn press(&self, times: u32) {
        match times {
            1 => self.send(Signal::TERM, Signal::TERM),
            2 => self.end(),
            _ => self.kill(),
        }
    }

    /// Kills its group, the launcher too.
    fn kill(&self) {
        let _gone = self.pid.map(|pid| kill_process_group(pid, Signal::KILL));
    }

    /// Has the launcher end in turn what does not end by itself now that its input has ended; it does so even when this program
    /// ends first. Without a launcher nobody would be left to see to it, and all is ended at once.
    #[cfg(feature = "mcp")]
    pub(super) fn part(&mut self) {
        if self.has_launcher {
            self.send(Signal::USR1, Signal::KILL);
            self.is_done = true;
        }
    }

    /// Ends it.
    fn end(&self) {
        self.send(Signal::HUP, Signal::KILL);
    }

    fn send(&self, to_launcher: Signal, to_group: Signal) {
        let Some(pid) = self.pid else { return };
        // One that ended in between is what is wanted.
        let _gone = match self.has_launcher {
            true => kill_process(pid, to_launcher),
            false => kill_process_group(pid, to_group),
        };
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.is_done {
            self.end();
        }
    }
}

/// Waits until the program ended and its output with it, or its time is used up.
///
/// If the file `ended` is there, the program has ended, and its launcher has time of its own for its look at the project.
pub(super) async fn conversation<T>(
    child: &mut Child,
    guard: &Guard,
    talk: impl Future<Output = T>,
    limit: Duration,
    ended: &Path,
) -> Result<(bool, ExitStatus), StartError> {
    let next = tokio::time::sleep(limit);
    tokio::pin!(talk, next);
    let (mut is_told, mut late, mut status) = (false, 0, None);
    let mut is_looking = false;
    loop {
        match status {
            Some(status) if is_told => return Ok((late > 0, status)),
            _ => {}
        }
        tokio::select! {
            waited = child.wait(), if status.is_none() => {
                status = Some(waited.map_err(io("wait for the program"))?);
                guard.after();
                // Whoever still holds the pipes has been ended; a moment for what is in them.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE);
            }
            _ = &mut talk, if !is_told => is_told = true,
            () = &mut next => {
                if let Some(status) = status {
                    return Ok((late > 0, status));
                }
                if !is_looking && ended.exists() {
                    is_looking = true;
                    next.as_mut().reset(tokio::time::Instant::now() + LOOK);
                    continue;
                }
                if is_looking {
                    guard.kill();
                } else {
                    late += 1;
                    guard.press(late);
                }
                // The launcher ends what has not ended in time, for which it takes as long.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE + GRACE);
            }
        }
    }
}

impl Guard {
    /// Ends what a program left behind in its group; a launcher has done so already.
    fn after(&self) {
        if !self.has_launcher {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::process::Command;

    use super::*;

    /// A launcher that goes on for longer than the limit. The program is late only if it had not ended by then.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
    async fn the_look_of_the_launcher_is_not_the_time_of_the_program() {
        for has_ended in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let ended = folder.path().join("ended");
            if has_ended {
                std::fs::write(&ended, "").unwrap();
            }
            let mut child = Command::new("sh")
                .args(["-c", "trap '' TERM; echo; read line; exit 7"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            // Only then the signal no longer ends it.
            child.stdout.take().unwrap().read_u8().await.unwrap();
            let guard = Guard::over(&child, true);
            let talk = async {
                // The limit is used up by then.
                tokio::time::sleep(Duration::from_millis(20)).await;
                stdin.write_all(b"on\n").await.unwrap();
            };
            let done = conversation(&mut child, &guard, talk, Duration::ZERO, &ended).await;
            let (is_late, status) = done.unwrap();
            assert_eq!(is_late, !has_ended);
            assert!(!has_ended || status.code() == Some(7), "{status}");
        }
    }
}
