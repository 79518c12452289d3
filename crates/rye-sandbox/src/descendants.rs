//! The descendants of this process, direct and indirect.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The longest time for stopping processes that multiply.
const LONGEST: Duration = Duration::from_secs(5);

/// Kills all descendants until `is_childless` returns `true`. `is_childless` collects those that ended.
///
/// Orphans are included, because this process adopts them. A process cannot evade this by leaving its session
/// or group. While there is a child, a listing may have missed a process.
pub(super) fn kill_all(mut is_childless: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_childless() && begun.elapsed() < LONGEST {
        let mut stopped = BTreeSet::new();
        // A stopped process starts no others.
        loop {
            let new: Vec<i32> = living().into_iter().filter(|pid| !stopped.contains(pid)).collect();
            if new.is_empty() || begun.elapsed() >= LONGEST {
                break;
            }
            new.iter().for_each(|pid| send(*pid, Signal::SIGSTOP));
            stopped.extend(new);
        }
        stopped.iter().for_each(|pid| send(*pid, Signal::SIGKILL));
        if !stopped.is_empty() {
            #[expect(clippy::disallowed_methods, reason = "a supervisor runs no tasks")]
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn send(pid: i32, signal: Signal) {
    // The process may have ended already.
    let _gone = kill(Pid::from_raw(pid), signal);
}

/// Returns the descendants that have not ended.
pub(super) fn living() -> Vec<i32> {
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    let mut ended = BTreeSet::new();
    for (pid, stat) in processes() {
        children.entry(stat.parent).or_default().push(pid);
        if stat.has_ended() {
            ended.insert(pid);
        }
    }
    let mut found = Vec::new();
    let mut next = vec![own];
    while let Some(parent) = next.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        next.extend(&below);
        found.extend(below.into_iter().filter(|pid| !ended.contains(pid)));
    }
    found
}

/// The state of a process in the list of the system.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    state: char,
    parent: i32,
    threads: u64,
}

impl Stat {
    /// Returns `true` if no thread is left. The state is that of the first thread, which can end before the others.
    fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X') && self.threads <= 1
    }

    /// Reads the fields after the name. The name may contain any character, including parentheses.
    fn read(stat: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(stat);
        let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let threads = fields.nth(BETWEEN)?.parse().ok()?;
        Some(Self { state, parent, threads })
    }
}

/// The number of fields between the parent and the number of threads.
const BETWEEN: usize = 15;

/// Returns the id and the state of each process.
fn processes() -> impl Iterator<Item = (i32, Stat)> {
    let listed = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    listed.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        Some((pid, Stat::read(&std::fs::read(entry.path().join("stat")).ok()?)?))
    })
}

#[cfg(test)]
mod tests {
    use super::Stat;

    #[test]
    fn a_name_cannot_pass_for_the_fields_after_it() {
        const REST: &str = "7 7 0 -1 4194560 85 0 0 0 0 0 0 0 20 0 2 0 100 0";
        let read = |text: &str| Stat::read(format!("{text} {REST}").as_bytes());
        for (text, state) in [("7 (sh) S 3", 'S'), ("7 (a) Z 1 (b) R 3", 'R'), ("7 (\n) S 3", 'S')]
        {
            assert_eq!(read(text), Some(Stat { state, parent: 3, threads: 2 }), "{text}");
        }
        assert!(Stat::read([b"7 (\xff) S 3 ", REST.as_bytes()].concat().as_slice()).is_some());
        assert_eq!(Stat::read(b"7 (sh"), None);
        assert_eq!(Stat::read(b"7 (sh) S 3"), None);
    }

    #[test]
    fn a_process_has_ended_with_its_last_thread() {
        for (state, threads, expected) in
            [('Z', 1, true), ('X', 1, true), ('Z', 0, true), ('Z', 2, false), ('S', 1, false)]
        {
            let stat = Stat { state, parent: 1, threads };
            assert_eq!(stat.has_ended(), expected, "{stat:?}");
        }
    }
}
