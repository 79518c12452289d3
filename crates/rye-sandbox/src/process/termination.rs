//! Termination of a program with everything that it started.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::process::Child;

use super::job::{StartError, io_error};
use crate::GRACE;
use crate::call_folder::Notes;

/// The longest time for the launcher's check of the project after a program.
const LOOK: Duration = Duration::from_secs(300);

/// Ends a program with everything that it started when the value is dropped before the program is done.
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

    /// Sends the next signal: first a request to end, then the end of the program, then `KILL` to its group
    /// with the launcher.
    ///
    /// The launcher forwards the request, and ends programs that do not end in time.
    fn press(&self, times: u32) {
        match times {
            1 => self.send(Signal::TERM, Signal::TERM),
            2 => self.end(),
            _ => self.kill(),
        }
    }

    /// Kills the group of the program, with the launcher.
    fn kill(&self) {
        let _gone = self.pid.map(|pid| kill_process_group(pid, Signal::KILL));
    }

    /// Lets the launcher end the program, if it does not end by itself after the end of its input. The
    /// launcher does so even if this process ends first. Without a launcher, the program is ended at once,
    /// because later there may be no process to do it.
    pub(super) fn part(&mut self) {
        if self.has_launcher {
            self.send(Signal::USR1, Signal::KILL);
            self.is_done = true;
        }
    }

    /// Ends the program.
    fn end(&self) {
        self.send(Signal::HUP, Signal::KILL);
    }

    fn send(&self, to_launcher: Signal, to_group: Signal) {
        let Some(pid) = self.pid else { return };
        // The process may have ended already.
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

/// Waits for the end of the program and of its output. If the time limit is reached, it ends the program.
///
/// If the note of its end exists, the program has ended, and its launcher has a time limit of its own for the
/// check of the project.
pub(super) async fn wait_for_end<T>(
    child: &mut Child,
    guard: &Guard,
    talk: impl Future<Output = T>,
    limit: Duration,
    notes: &Notes,
) -> Result<(bool, ExitStatus), StartError> {
    let next = tokio::time::sleep(limit);
    tokio::pin!(talk, next);
    let mut is_told = false;
    let mut late = 0;
    let mut status = None;
    let mut is_looking = false;
    loop {
        match status {
            Some(status) if is_told => return Ok((late > 0, status)),
            _ => {}
        }
        tokio::select! {
            waited = child.wait(), if status.is_none() => {
                status = Some(waited.map_err(io_error("wait for the program"))?);
                guard.after();
                // All processes that hold the pipes have been ended. The rest of the pipes is read for a
                // moment.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE);
            }
            _ = &mut talk, if !is_told => is_told = true,
            () = &mut next => {
                if let Some(status) = status {
                    return Ok((late > 0, status));
                }
                if !is_looking && notes.exists(Notes::ENDED) {
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
                // The launcher needs the same time again to end programs that do not end by themselves.
                next.as_mut().reset(tokio::time::Instant::now() + GRACE + GRACE);
            }
        }
    }
}

impl Guard {
    /// Ends the processes that a program left in its group. A launcher has done so already.
    fn after(&self) {
        if !self.has_launcher {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Stdio;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::process::Command;

    use super::*;
    use crate::call_folder::{CallFolder, FolderOfCalls};

    /// A launcher that runs for longer than the limit. The program is late only if it had not ended by then.
    #[tokio::test]
    #[expect(clippy::disallowed_methods, reason = "a test of processes starts one")]
    async fn the_look_of_the_launcher_is_not_the_time_of_the_program() {
        for has_ended in [true, false] {
            let outer = tempfile::tempdir().unwrap();
            let calls = FolderOfCalls::open(outer.path(), Path::new("/nowhere")).unwrap();
            let folder = CallFolder::new_in(&calls).unwrap();
            if has_ended {
                folder.notes().write(Notes::ENDED, b"", 0o600).unwrap();
            }
            let mut child = Command::new("sh")
                .args(["-c", "trap '' TERM; echo; read line; exit 7"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            let mut stdin = child.stdin.take().unwrap();
            // From then on, the signal no longer ends it.
            child.stdout.take().unwrap().read_u8().await.unwrap();
            let guard = Guard::over(&child, true);
            let talk = async {
                // By then, the limit is reached.
                tokio::time::sleep(Duration::from_millis(20)).await;
                stdin.write_all(b"on\n").await.unwrap();
            };
            let done = wait_for_end(&mut child, &guard, talk, Duration::ZERO, folder.notes()).await;
            let (is_late, status) = done.unwrap();
            assert_eq!(is_late, !has_ended);
            assert!(!has_ended || status.code() == Some(7), "{status}");
        }
    }
}
